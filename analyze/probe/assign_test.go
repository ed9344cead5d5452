package probe

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// drawn is a random graph of few attempts and connections: ties are frequent.
func drawn(t *rapid.T) (n, m int, edges []edge) {
	n, m = rapid.IntRange(0, 5).Draw(t, "attempts"), rapid.IntRange(0, 5).Draw(t, "connections")
	for a := range n {
		for c := range m {
			if rapid.Bool().Draw(t, "edge") {
				edges = append(edges, edge{a, c, rapid.Int64Range(0, 20).Draw(t, "cost")})
			}
		}
	}
	return n, m, edges
}

// sum is how many are matched and what that costs; it fails where two attempts
// share a connection or an edge belongs to another attempt.
func sum(t *rapid.T, edges []edge, match []int) (pairs int, cost int64) {
	taken := map[int]bool{}
	for a, i := range match {
		if i < 0 {
			continue
		}
		if edges[i].a != a || taken[edges[i].c] {
			t.Fatalf("attempt %d has edge %+v, connection taken: %v", a, edges[i], taken[edges[i].c])
		}
		taken[edges[i].c] = true
		pairs++
		cost += edges[i].cost
	}
	return pairs, cost
}

// best tries every matching.
func best(n int, edges []edge) (pairs int, cost int64) {
	var try func(a int, taken uint, p int, c int64)
	try = func(a int, taken uint, p int, c int64) {
		if a == n {
			if p > pairs || p == pairs && c < cost {
				pairs, cost = p, c
			}
			return
		}
		try(a+1, taken, p, c)
		for _, e := range edges {
			if e.a == a && taken&(1<<e.c) == 0 {
				try(a+1, taken|1<<e.c, p+1, c+e.cost)
			}
		}
	}
	cost = 1 << 40
	try(0, 0, 0, 0)
	return pairs, cost
}

func TestAssignIsTheBestOfAllMatchings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m, edges := drawn(t)
		match, greedy := assign(n, m, edges)
		pairs, cost := sum(t, edges, match)
		wantPairs, wantCost := best(n, edges)
		if greedy != 0 || pairs != wantPairs || pairs > 0 && cost != wantCost {
			t.Fatalf("%d pairs for %d, the best are %d for %d", pairs, cost, wantPairs, wantCost)
		}
	})
}

func TestAssignIsNeverWorseThanNearestFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m, edges := drawn(t)
		match, _ := assign(n, m, edges)
		pairs, cost := sum(t, edges, match)
		near, owner, all := make([]int, n), make([]int, m), make([]int, len(edges))
		for i := range near {
			near[i] = -1
		}
		for i := range owner {
			owner[i] = -1
		}
		for i := range all {
			all[i] = i
		}
		nearestFirst(edges, all, near, owner)
		p, c := sum(t, edges, near)
		if pairs < p || pairs == p && cost > c {
			t.Fatalf("%d pairs for %d, nearest first has %d for %d", pairs, cost, p, c)
		}
	})
}

func TestAssignDoesNotDependOnTheOrderOfEdges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m, edges := drawn(t)
		mixed := rapid.Permutation(edges).Draw(t, "mixed")
		x, _ := assign(n, m, edges)
		y, _ := assign(n, m, mixed)
		for a := range x {
			if (x[a] < 0) != (y[a] < 0) || x[a] >= 0 && edges[x[a]] != mixed[y[a]] {
				t.Fatalf("attempt %d: edge %d of %v, edge %d of %v", a, x[a], edges, y[a], mixed)
			}
		}
	})
}

// A worker whose own connection is also the nearest of another's would be robbed
// of it nearest first.
func TestAssignSharesOutWhatNearestFirstWouldWaste(t *testing.T) {
	edges := []edge{{0, 0, 2}, {0, 1, 3}, {1, 0, 1}, {2, 1, 9}, {2, 2, 1}}
	match, _ := assign(3, 3, edges)
	assert.Equal(t, []int{1, 2, 4}, match)
}

// Beyond the bounds the fallback still gives one connection to one attempt.
func TestAssignBounds(t *testing.T) {
	const n = maxExactAttempts + 50
	var edges []edge
	for a := range n {
		for c := max(0, a-1); c <= min(n-1, a+1); c++ {
			edges = append(edges, edge{a, c, int64(1 + 10*(c-a)*(c-a))})
		}
	}
	match, greedy := assign(n, n, edges)
	assert.Equal(t, 1, greedy)
	for a, i := range match {
		assert.Equal(t, edge{a, a, 1}, edges[i])
	}
}
