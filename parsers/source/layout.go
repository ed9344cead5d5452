package source

import "strings"

// Place is what a member's path says about it, as far as a known collector wrote
// it there. All fields may be empty.
type Place struct {
	// Layout names the collector: "must-gather", "sos", "kind" ...
	Layout string
	// Node, Namespace, Pod, UID and Container are parts of the path.
	Node, Namespace, Pod, UID, Container string
	// Role says what the collector puts there.
	Role Role
	// Ignore is why the member is not worth reading, "" when it is.
	Ignore string
}

// Role is what kind of thing stands at a place.
type Role string

// Roles of members.
const (
	RoleHostLog      Role = "host-log"      // journal or log of a node's services
	RoleContainerLog Role = "container-log" // log of one container
	// RoleContainerCopy is a second copy of a container log that the same collector
	// also stores under RoleContainerLog: it is dropped where both are there.
	RoleContainerCopy Role = "container-log-copy"
	RoleObjects       Role = "objects" // Kubernetes objects
	RoleAudit         Role = "audit"   // API server audit log
	RoleNetwork       Role = "network" // addresses, routes, neighbours, firewall
	RoleContext       Role = "context" // facts about the bundle itself
	RoleIgnored       Role = "ignored" // see Place.Ignore
)

// rule is a row of the table: a path pattern and what it means.
//
// A pattern is matched against the end of the path, segment by segment. In a
// segment, * stands for any characters, ? for one, and {node}, {ns}, {pod},
// {uid}, {container} for any characters, which are kept. A pattern that ends in
// "/**" matches everything below a folder at any depth.
type rule struct {
	pattern string
	role    Role
	ignore  string
}

// layout is a collector's rules.
type layout struct {
	name  string
	rules []rule
}

// compiled is a rule ready for matching.
type compiled struct {
	rule
	layout string
	segs   []string
	below  bool
}

var table = func() []compiled {
	var all []compiled
	for _, l := range layouts {
		for _, r := range l.rules {
			p, below := strings.CutSuffix(r.pattern, "/**")
			all = append(all, compiled{rule: r, layout: l.name, segs: strings.Split(p, "/"), below: below})
		}
	}
	return all
}()

// Locate looks a logical path up in the table of collectors' layouts. The first
// rule that matches decides.
func Locate(path string) Place {
	segs := memberSegments(path)
	for i := range table {
		c := &table[i]
		var got Place
		if !c.match(segs, &got) {
			continue
		}
		got.Layout, got.Role, got.Ignore = c.layout, c.role, c.ignore
		if got.Ignore != "" {
			got.Role = RoleIgnored
		}
		return got
	}
	return Place{}
}

func (c *compiled) match(segs []string, got *Place) bool {
	if c.below {
		for at := 0; at+len(c.segs) < len(segs); at++ {
			if c.matchAt(segs[at:], got) {
				return true
			}
		}
		return false
	}
	at := len(segs) - len(c.segs)
	return at >= 0 && c.matchAt(segs[at:], got)
}

func (c *compiled) matchAt(segs []string, got *Place) bool {
	*got = Place{}
	// The last segment tells most often.
	for i := len(c.segs) - 1; i >= 0; i-- {
		if !matchSegment(c.segs[i], segs[i], got) {
			return false
		}
	}
	return true
}

// matchSegment matches one path segment; a wildcard takes as little as it can,
// the last one whatever is left.
func matchSegment(pattern, s string, got *Place) bool {
	for pattern != "" {
		switch pattern[0] {
		case '*':
			return matchRest(pattern[1:], s, nil, got)
		case '{':
			end := strings.IndexByte(pattern, '}')
			return matchRest(pattern[end+1:], s, got.field(pattern[1:end]), got)
		case '?':
			if s == "" {
				return false
			}
		default:
			if s == "" || s[0] != pattern[0] {
				return false
			}
		}
		pattern, s = pattern[1:], s[1:]
	}
	return s == ""
}

func matchRest(pattern, s string, keep *string, got *Place) bool {
	for n := 0; n <= len(s); n++ {
		if matchSegment(pattern, s[n:], got) {
			if keep != nil {
				if n == 0 {
					return false
				}
				*keep = s[:n]
			}
			return true
		}
	}
	return false
}

func (p *Place) field(name string) *string {
	switch name {
	case "node":
		return &p.Node
	case "ns":
		return &p.Namespace
	case "pod":
		return &p.Pod
	case "uid":
		return &p.UID
	case "container":
		return &p.Container
	}
	panic("source: no field " + name)
}

// memberSegments cuts a logical path into segments: containers count as folders,
// and a compressed file counts once, under the name without its suffix.
func memberSegments(path string) []string {
	parts := strings.Split(path, "!/")
	var segs []string
	for i, p := range parts {
		s := strings.Split(p, "/")
		if i > 0 && len(segs) > 0 && i == len(parts)-1 && len(s) == 1 && stripSuffix(segs[len(segs)-1]) == s[0] {
			segs[len(segs)-1] = s[0]
			continue
		}
		segs = append(segs, s...)
	}
	return segs
}
