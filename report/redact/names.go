package redact

import (
	"fmt"
	"strings"
)

// public names exist in every cluster and tell nothing about one.
var public = map[string]bool{"default": true, "kube-system": true, "kube-public": true, "kube-node-lease": true, "unknown": true}

// name replaces the value of a field that holds a name of a kind.
func (r *redactor) name(k kind, s string) string {
	if s == "" || public[s] {
		return s
	}
	if !r.meeting {
		if p, ok := r.names[s]; ok {
			return p
		}
		return r.text(s)
	}
	// A field that holds an address (a host network pod's node may be named by its
	// IP) is met as one.
	if a, ok := parseIP(s); ok {
		r.addrs.meet(a)
		return s
	}
	r.meet(k, s)
	if k == kindPod {
		for _, w := range workloads(s) {
			r.meet(kindWorkload, w)
		}
	}
	return s
}

func (r *redactor) meet(k kind, s string) {
	if public[s] {
		return
	}
	if old, ok := r.met[s]; !ok || k < old {
		r.met[s] = k
	}
}

// workloads are the names of the owners that a pod name starts with: what is
// left without a StatefulSet's ordinal or a ReplicaSet's random part, and
// without a Deployment's hash. They stand in logs by themselves.
func workloads(pod string) []string {
	var out []string
	cut := strings.LastIndexByte(pod, '-')
	if cut <= 0 || !random(pod[cut+1:]) {
		return nil
	}
	out = append(out, pod[:cut])
	if next := strings.LastIndexByte(pod[:cut], '-'); next > 0 && random(pod[next+1:cut]) {
		out = append(out, pod[:next])
	}
	return out
}

// random reports whether a part of a name is an ordinal or generated: it has a
// digit, or is five or ten letters without a vowel, as Kubernetes makes them.
func random(s string) bool {
	if s == "" || len(s) > 10 {
		return false
	}
	return strings.ContainsAny(s, "0123456789") || len(s) >= 4 && !strings.ContainsAny(s, "aeiou")
}

// pseudonym is the n-th stand-in of a kind.
func pseudonym(k kind, n int, original string) string {
	switch k {
	case kindUUID:
		return fmt.Sprintf("00000000-0000-4000-8000-%012d", n)
	case kindHost:
		return fmt.Sprintf("host-%d.invalid", n)
	case kindInput:
		return fmt.Sprintf("input-%d%s", n, extension(original))
	default:
		return fmt.Sprintf("%s-%d", k, n)
	}
}

// extension keeps what says how to read a file.
func extension(name string) string {
	lower := strings.ToLower(name)
	for _, e := range []string{".tar.gz", ".tar.xz", ".tar.zst", ".tar.bz2", ".tgz", ".txz", ".tar", ".zip", ".gz", ".xz", ".zst", ".bz2", ".pcapng", ".pcap", ".log", ".json", ".yaml", ".yml", ".txt", ".journal"} {
		if strings.HasSuffix(lower, e) {
			return e
		}
	}
	return ""
}

// path replaces the path of an input or of a stream: the input's own name, and
// names and addresses in the names of members.
func (r *redactor) path(p string) string {
	outer, members, nested := strings.Cut(p, "!/")
	if outer == "-" {
		return p
	}
	head, rest, below := strings.Cut(outer, "/")
	head = r.name(kindInput, head)
	if below {
		head += "/" + r.text(rest)
	}
	if nested {
		head += "!/" + r.text(members)
	}
	return head
}
