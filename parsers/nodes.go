package parsers

import (
	"maps"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/source"
)

// placeNodes gives streams that do not say which node they are from the node
// that their path names: one that a collector is known to put there, or one that
// any other stream of the case speaks of. Streams of API objects stay without:
// their times are the API server's. It returns the host names of logs that are
// another spelling of a node's name.
func placeNodes(streams []*stream) map[string]string {
	known := make(map[string]struct{})
	objects := make(map[string]struct{})
	for _, s := range streams {
		for n := range s.nodes {
			known[n] = struct{}{}
		}
		for n := range s.objects {
			objects[n] = struct{}{}
		}
		if n := s.info.Node; n != "" {
			known[n] = struct{}{}
		}
	}
	hosts := hostNames(known, objects)
	for h := range hosts {
		delete(known, h)
	}
	names := nodeNames(known)
	for h, n := range hosts {
		names[h] = n
	}
	for _, s := range streams {
		if n, ok := hosts[s.info.Node]; ok {
			s.info.Node = n
		}
		if s.info.Node != "" || s.api || s.place.Role == source.RoleContext {
			continue
		}
		if s.info.Node = nodeInPath(s.info.Path, names); s.info.Node == "" {
			s.info.Node = s.place.Node
		}
		if n, ok := hosts[s.info.Node]; ok {
			s.info.Node = n
		}
	}
	return hosts
}

// hostNames maps the names that logs give a host to the node's name in the API,
// where they differ: the kubelet may register the fully qualified name, or the
// short one, and always in lower case. A host that could be several nodes stays
// as it is.
func hostNames(known, objects map[string]struct{}) map[string]string {
	hosts := make(map[string]string)
	for h := range known {
		if _, ok := objects[h]; ok {
			continue
		}
		var found []string
		for o := range objects {
			if sameHost(strings.ToLower(h), o) {
				found = append(found, o)
			}
		}
		if len(objects) == 0 {
			// Without objects the longer of two spellings stands for both.
			for k := range known {
				if strings.HasPrefix(k, h+".") {
					found = append(found, k)
				}
			}
		}
		if len(found) == 1 {
			hosts[h] = found[0]
		}
	}
	return hosts
}

// sameHost reports whether two names are one, or one is the first labels of the
// other.
func sameHost(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+".") || strings.HasPrefix(b, a+".")
}

// nodeNames maps the spellings a path may use to the nodes' names: the name
// itself and its first label, where that belongs to one node only.
func nodeNames(known map[string]struct{}) map[string]string {
	names := make(map[string]string, 2*len(known))
	for _, n := range slices.Sorted(maps.Keys(known)) {
		short, _, _ := strings.Cut(n, ".")
		if len(short) < 3 || strings.Trim(short, "0123456789") == "" {
			continue
		}
		if _, taken := names[short]; taken {
			names[short] = ""
			continue
		}
		names[short] = n
	}
	for n := range known {
		names[n] = n
	}
	return names
}

// nodeInPath finds a node's name in a path, set off by anything but letters and
// digits. The innermost segment that holds one decides, and in it the longest.
func nodeInPath(path string, names map[string]string) string {
	segs := strings.Split(strings.ReplaceAll(path, "!/", "/"), "/")
	for i := len(segs) - 1; i >= 0; i-- {
		seg := segs[i]
		if len(seg) > 256 {
			continue
		}
		best, length := "", 0
		for from := range len(seg) {
			if !alnum(seg[from]) || from > 0 && alnum(seg[from-1]) {
				continue
			}
			for to := len(seg); to-from > length; to-- {
				if !alnum(seg[to-1]) || to < len(seg) && alnum(seg[to]) {
					continue
				}
				if n := names[seg[from:to]]; n != "" {
					best, length = n, to-from
				}
			}
		}
		if best != "" {
			return best
		}
	}
	return ""
}

func alnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
