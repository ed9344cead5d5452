package logs

import (
	"cmp"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// containerPath is what the path of a container's log says about it.
type containerPath struct {
	pod       event.PodRef
	container string
	previous  bool // log of the run before the last
}

// containerOfPath recognises the places where collectors and nodes keep the logs
// of containers; nil for any other path.
//
//	…/namespaces/NS/pods/POD/C/C/logs/{current,previous}[.insecure].log   must-gather, oc adm inspect
//	…/namespaces/NS/pods/POD/C/C/logs/rotated/N.log.DATE[.gz]
//	…/namespaces/NS/pods/POD/C.log                                        kubectl must-gather for AKS
//	…/pods/NS_POD_UID/C/N.log[.DATE][.gz]                                 /var/log/pods, kind
//	…/containers/POD_NS_C-ID.log                                          /var/log/containers
//	…/pods/logs/NS/POD/C[-previous].log                                   troubleshoot support bundles
func containerOfPath(path string) *containerPath {
	if i := strings.LastIndex(path, "!/"); i >= 0 && strings.Count(path[i+2:], "/") == 0 && strings.HasSuffix(path[:i], ".gz") {
		path = path[:i] // a single compressed file: the name outside says more
	}
	seg := strings.Split(path, "/")
	n := len(seg)
	file := strings.TrimSuffix(seg[n-1], ".gz")
	at := func(fromEnd int) string {
		if n-1-fromEnd < 0 {
			return ""
		}
		return seg[n-1-fromEnd]
	}
	inspect := func(logs int) *containerPath {
		if at(logs) != "logs" || at(logs+2) == "" || at(logs+4) != "pods" || at(logs+6) != "namespaces" {
			return nil
		}
		return &containerPath{pod: event.PodRef{Namespace: at(logs + 5), Name: at(logs + 3)}, container: at(logs + 1),
			previous: strings.HasPrefix(file, "previous") || logs == 2}
	}
	if c := inspect(1); c != nil {
		return c
	}
	if at(1) == "rotated" {
		return inspect(2)
	}
	name, isLog := strings.CutSuffix(file, ".log")
	switch {
	case at(1) == "containers" && isLog:
		pod, rest, ok1 := strings.Cut(name, "_")
		ns, ctr, ok2 := strings.Cut(rest, "_")
		if i := strings.LastIndexByte(ctr, '-'); ok1 && ok2 && i > 0 {
			return &containerPath{pod: event.PodRef{Namespace: ns, Name: pod}, container: ctr[:i]}
		}
	case at(3) == "pods" && strings.Count(at(2), "_") == 2 && strings.Contains(file, ".log"):
		p := strings.Split(at(2), "_")
		return &containerPath{pod: event.PodRef{Namespace: p[0], Name: p[1], UID: p[2]}, container: at(1)}
	case at(4) == "pods" && at(3) == "logs" && isLog:
		ctr, previous := strings.CutSuffix(name, "-previous")
		return &containerPath{pod: event.PodRef{Namespace: at(2), Name: at(1)}, container: ctr, previous: previous}
	case at(2) == "pods" && at(4) == "namespaces" && isLog:
		return &containerPath{pod: event.PodRef{Namespace: at(3), Name: at(1)}, container: name}
	}
	return nil
}

// path renders the identity as must-gather would lay the log down, for formats
// that are told by where they lie.
func (c *containerPath) path() string {
	name := "current.log"
	if c.previous {
		name = "previous.log"
	}
	return "namespaces/" + cmp.Or(c.pod.Namespace, "default") + "/pods/" + c.pod.Name + "/" + cmp.Or(c.container, "-") + "/" + cmp.Or(c.container, "-") + "/logs/" + name
}
