package logs

import (
	"errors"
	"iter"
	"net/netip"
	"strconv"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Bounds of one object. An object over a bound becomes a problem and reading
// goes on with the next one, so neither a huge scalar nor an alias bomb costs
// more than this.
const (
	maxObjectBytes = 8 << 20 // text of one object
	maxObjectNodes = 1 << 18 // values in one object, aliases expanded
	maxObjectDepth = 96      // nesting
	// maxFullYAML bounds the text handed to the full YAML parser: it takes 18 times
	// that in memory, and seconds for hostile nesting. maxFullStream bounds all such
	// texts of one stream: Kubernetes prints none.
	maxFullYAML   = 512 << 10
	maxFullStream = 4 << 20
)

var (
	errTooManyNodes = errors.New("more than " + strconv.Itoa(maxObjectNodes) + " values")
	errTooDeep      = errors.New("nested deeper than " + strconv.Itoa(maxObjectDepth))
)

type nodeKind uint8

const (
	nodeNull nodeKind = iota
	nodeScalar
	nodeMap
	nodeList
)

// treeNode is one value of an object. Text and key point into the object's
// source or into the tree's store, so they live until the tree is reset.
type treeNode struct {
	key, text   []byte
	first, next int32
	line        int32 // in the object, where a reader of text needs it
	kind        nodeKind
	quoted      bool
}

// objectTree holds one object read from YAML or JSON: both end in this form,
// and the readers of kinds know nothing of either syntax. It is reused from
// object to object. Index 0 is the absent node.
type objectTree struct {
	nodes []treeNode
	store []byte // unescaped and folded text
	full  int    // bytes given to the full YAML parser so far
}

func (t *objectTree) reset() {
	t.nodes = append(t.nodes[:0], treeNode{})
	t.store = t.store[:0]
}

func (t *objectTree) add(n treeNode) (int32, error) {
	if len(t.nodes) >= maxObjectNodes {
		return 0, errTooManyNodes
	}
	t.nodes = append(t.nodes, n)
	return int32(len(t.nodes) - 1), nil
}

// link appends child to parent, whose last child so far is last, and returns
// the new last child.
func (t *objectTree) link(parent, last, child int32) int32 {
	switch {
	case child == 0:
		return last
	case last == 0:
		t.nodes[parent].first = child
	default:
		t.nodes[last].next = child
	}
	return child
}

// unreadKey names subtrees that no reader looks at; they are skipped unparsed.
// The managed fields alone are a third of what the API server prints.
func unreadKey(k []byte) bool {
	return string(k) == "managedFields" || string(k) == "kubectl.kubernetes.io/last-applied-configuration"
}

// field is a value inside an objectTree; the zero field is absent. All readers
// accept absent fields and answer with zero values, because every field of a
// Kubernetes object may be missing.
type field struct {
	t *objectTree
	i int32
}

func (f field) ok() bool { return f.i != 0 }

func (f field) node() *treeNode { return &f.t.nodes[f.i] }

// is reports whether the field is there and of the kind.
func (f field) is(kind nodeKind) bool { return f.i != 0 && f.t.nodes[f.i].kind == kind }

// get walks down a path of keys.
func (f field) get(path ...string) field {
	for _, k := range path {
		if f.i == 0 {
			return field{}
		}
		n := f.node()
		if n.kind != nodeMap {
			return field{}
		}
		c := n.first
		for c != 0 && string(f.t.nodes[c].key) != k {
			c = f.t.nodes[c].next
		}
		f.i = c
	}
	return f
}

// has reports whether the path leads to something other than null.
func (f field) has(path ...string) bool {
	g := f.get(path...)
	return g.ok() && g.node().kind != nodeNull
}

// each yields the elements of a list or the values of a mapping.
func (f field) each(path ...string) iter.Seq[field] {
	g := f.get(path...)
	return func(yield func(field) bool) {
		if !g.ok() {
			return
		}
		for c := g.node().first; c != 0; c = g.t.nodes[c].next {
			if !yield(field{g.t, c}) {
				return
			}
		}
	}
}

func (f field) key() string { return string(f.node().key) }

// raw returns the text of a scalar without copying it; it must not be kept.
func (f field) raw(path ...string) []byte {
	g := f.get(path...)
	if !g.ok() || g.node().kind != nodeScalar {
		return nil
	}
	return g.node().text
}

// str returns a copy of a scalar's text, "" for anything else.
func (f field) str(path ...string) string { return string(f.raw(path...)) }

// cut is str limited to n bytes.
func (f field) cut(n int, path ...string) string { return clip(f.raw(path...), n) }

func (f field) isTrue(path ...string) bool { return string(f.raw(path...)) == "true" }

// num returns an integer, or def where there is none.
func (f field) num(def int, path ...string) int {
	n, err := strconv.Atoi(string(f.raw(path...)))
	if err != nil {
		return def
	}
	return n
}

// seconds returns a whole number of seconds, def where there is none.
func (f field) seconds(def int, path ...string) time.Duration {
	return time.Duration(f.num(def, path...)) * time.Second
}

// at returns the instant of an RFC 3339 text, zero if there is none.
func (f field) at(path ...string) event.Nanos { return f.stamp(path...).At }

// stamp returns the instant of an RFC 3339 text with the precision it was
// written in.
func (f field) stamp(path ...string) event.Stamp {
	s, rest, ok := isoStamp(f.raw(path...))
	if !ok || len(rest) > 0 || s.Missing != 0 {
		return event.Stamp{}
	}
	return s
}

// addr returns an address, with or without a prefix length.
func (f field) addr(path ...string) (netip.Addr, bool) { return ipAddr(f.raw(path...)) }
