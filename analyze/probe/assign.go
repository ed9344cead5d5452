package probe

import (
	"cmp"
	"slices"
)

// edge says that the a-th attempt and the c-th connection may be the same, and
// at what cost.
type edge struct {
	a, c int
	cost int64
}

// Bounds of the exact assignment. The connections that may belong to one attempt
// lie within its tolerance, so that components are pairs nearly always; thousands
// chained together come from loose outcomes at a short period, where the nearest
// is the right one anyway.
const (
	maxExactAttempts = 256
	maxExactEdges    = 4096
)

// assign gives each of n attempts at most one of m connections, each connection
// to at most one attempt: as many attempts as possible, and among these matchings
// one of the least sum of costs. It returns the edge of each attempt, -1 for none.
//
// The graph falls into components that share nothing; each is solved by itself
// with cheapest augmenting paths. A component beyond the bounds is matched
// nearest first instead, which need be neither the largest nor the cheapest; how
// many were is the second result.
func assign(n, m int, edges []edge) (match []int, greedy int) {
	match = make([]int, n)
	for i := range match {
		match[i] = -1
	}
	owner := make([]int, m)
	for i := range owner {
		owner[i] = -1
	}
	for _, part := range components(n, m, edges) {
		switch {
		case len(part) == 1:
			match[edges[part[0]].a], owner[edges[part[0]].c] = part[0], part[0]
		case len(part) > maxExactEdges || countAttempts(edges, part) > maxExactAttempts:
			nearestFirst(edges, part, match, owner)
			greedy++
		default:
			cheapest(edges, part, match, owner)
		}
	}
	return match, greedy
}

// components groups the edges, by index, that hang together; in the order of
// their first edges.
func components(n, m int, edges []edge) [][]int {
	root := make([]int, n+m)
	for i := range root {
		root[i] = i
	}
	find := func(i int) int {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	for _, e := range edges {
		root[find(e.a)] = find(n + e.c)
	}
	at := make(map[int]int)
	var out [][]int
	for i, e := range edges {
		r := find(e.a)
		k, ok := at[r]
		if !ok {
			k = len(out)
			at[r] = k
			out = append(out, nil)
		}
		out[k] = append(out[k], i)
	}
	return out
}

func countAttempts(edges []edge, part []int) int {
	seen := make(map[int]bool)
	for _, i := range part {
		seen[edges[i].a] = true
	}
	return len(seen)
}

// nearestFirst takes the cheapest edge whose ends are both free, again and again.
func nearestFirst(edges []edge, part, match, owner []int) {
	part = slices.Clone(part)
	slices.SortFunc(part, func(i, j int) int {
		x, y := edges[i], edges[j]
		return cmp.Or(cmp.Compare(x.cost, y.cost), cmp.Compare(x.a, y.a), cmp.Compare(x.c, y.c))
	})
	for _, i := range part {
		if e := edges[i]; match[e.a] < 0 && owner[e.c] < 0 {
			match[e.a], owner[e.c] = i, i
		}
	}
}

// cheapest matches a component by successive cheapest augmenting paths: after k
// of them the matching is the cheapest one of k pairs. A path goes from a free
// attempt by an edge to a connection, and from one that is taken back by its own
// edge, whose cost is given back.
func cheapest(edges []edge, part, match, owner []int) {
	of := make(map[int][]int) // attempt → its edges
	var attempts []int
	for _, i := range part {
		a := edges[i].a
		if of[a] == nil {
			attempts = append(attempts, a)
		}
		of[a] = append(of[a], i)
	}
	slices.Sort(attempts)
	for _, a := range attempts {
		slices.SortFunc(of[a], func(i, j int) int { return cmp.Compare(edges[i].c, edges[j].c) })
	}
	for {
		cost := make(map[int]int64) // attempt → the least cost to reach it
		via := make(map[int]int)    // connection → the edge by which it is reached
		reach := make(map[int]int64)
		var queue []int
		queued := make(map[int]bool)
		for _, a := range attempts {
			if match[a] < 0 {
				cost[a] = 0
				queue = append(queue, a)
				queued[a] = true
			}
		}
		for len(queue) > 0 {
			a := queue[0]
			queue, queued[a] = queue[1:], false
			for _, i := range of[a] {
				c := edges[i].c
				d := cost[a] + edges[i].cost
				if old, ok := reach[c]; ok && old <= d || owner[c] == i {
					continue
				}
				reach[c], via[c] = d, i
				if o := owner[c]; o >= 0 {
					b := edges[o].a
					cost[b] = d - edges[o].cost
					if !queued[b] {
						queue = append(queue, b)
						queued[b] = true
					}
				}
			}
		}
		end := -1
		for _, i := range part {
			c := edges[i].c
			if d, ok := reach[c]; ok && owner[c] < 0 && (end < 0 || d < reach[end] || d == reach[end] && c < end) {
				end = c
			}
		}
		if end < 0 {
			return
		}
		for c := end; ; {
			i := via[c]
			a := edges[i].a
			old := match[a]
			match[a], owner[c] = i, i
			if old < 0 {
				break
			}
			c = edges[old].c
		}
	}
}
