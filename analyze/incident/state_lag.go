package incident

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

const (
	// writeGap is within which time after a change of readiness its write is due.
	writeGap = time.Minute
	// minLag is the least lateness that is told: the kubelet writes status in batches
	// of up to ten seconds, usually within one or two.
	minLag = 5 * time.Second
	// settled is how long something must have been so before the inputs were
	// collected for another object that says otherwise to be late: objects are not
	// collected in one moment.
	settled = time.Minute
)

// lagStates finds what the API or clients learned late: a pod's status, and its
// endpoints.
func lagStates(x *identity.Index) []*Incident {
	var out []*Incident
	for _, p := range x.Pods {
		if i := statusLag(x, p); i != nil {
			out = append(out, i)
		}
		if i := endpointLag(x, p); i != nil {
			out = append(out, i)
		}
	}
	return out
}

// statusLag reports writes of the pod's status that kept failing after its
// readiness had changed.
func statusLag(x *identity.Index, p *identity.Pod) *Incident {
	n := x.Node(p.Node)
	if n == nil {
		return nil
	}
	var st State
	for _, s := range n.States {
		if s.Code != event.NodeStatusFailed || s.At == 0 || !names(s.Pod, p) || harmless(s.Message) {
			continue
		}
		i := slices.IndexFunc(p.Ready, func(r identity.ReadyChange) bool { return r.At <= s.At && s.At.Sub(r.At) <= writeGap })
		if i < 0 {
			continue
		}
		if st.Code == "" {
			st.extend(StateStatusLag, p.Ready[i].At, p.Ready[i].Ref)
		}
		st.extend(StateStatusLag, s.At, s.Ref)
	}
	if st.Code == "" || st.To.Sub(st.At) < minLag {
		return nil
	}
	st.Text = fmt.Sprintf("the kubelet could not write the pod's status for %s after its readiness had changed", st.To.Sub(st.At).Round(100*time.Millisecond))
	return stateIncident(p, model.TriggerState, st)
}

// names reports whether a log record names the pod, by UID or else by name.
func names(ref event.PodRef, p *identity.Pod) bool {
	if ref.UID != "" {
		return ref.UID == p.UID
	}
	return ref.Name != "" && ref.Namespace == p.Namespace && ref.Name == p.Name
}

// harmless recognises failed writes that no one waits for: the pod is gone, or
// another writer was first and the kubelet tries again at once.
func harmless(message string) bool {
	return strings.Contains(message, "not found") || strings.Contains(message, "the object has been modified")
}

// endpointLag reports endpoints that contradict what was settled about the pod
// well before the inputs were collected.
func endpointLag(x *identity.Index, p *identity.Pod) *Incident {
	old := func(t event.Nanos) bool { return t != 0 && x.CollectedAt.Sub(t) > settled }
	if p.HostNetwork || x.CollectedAt == 0 {
		return nil
	}
	for i := range x.Objects {
		o := &x.Objects[i]
		if o.ObjectKind != "EndpointSlice" && o.ObjectKind != "Endpoints" || !slices.ContainsFunc(o.Pods, func(r event.PodRef) bool { return names(r, p) && r.UID != "" }) {
			continue
		}
		name := o.ObjectKind + " " + o.Namespace + "/" + o.Name
		st := State{Code: StateEndpointLag, To: x.CollectedAt, Refs: []event.Ref{o.Ref}}
		switch since, ready := readySince(p); {
		case old(p.RemovedAt):
			st.At, st.Text = p.RemovedAt, name+" still lists the pod, which is gone"
			st.Refs = append(st.Refs, p.RemovedRef)
		case otherIP(o, p) && old(lastIP(p)):
			st.At, st.Text = lastIP(p), name+" lists the pod without the IP of its status"
			st.Refs = append(st.Refs, p.Snapshot)
		case ready && old(since) && p.DeletedAt == 0 && notReady(o, p):
			st.At, st.Text = since, name+" lists the pod as not ready, while its status is Ready"
			st.Refs = append(st.Refs, p.Snapshot)
		default:
			continue
		}
		return stateIncident(p, model.TriggerState, st)
	}
	return nil
}

// readySince is when the pod's Ready condition became true.
func readySince(p *identity.Pod) (event.Nanos, bool) {
	for _, k := range p.Conditions {
		if k.Type == "Ready" && k.Status == "True" {
			return k.Since, true
		}
	}
	return 0, false
}

// notReady reports whether the endpoints list the pod, and as not ready.
func notReady(o *identity.Object, p *identity.Pod) bool {
	return slices.ContainsFunc(o.Facts, func(f event.Fact) bool { return f.Key == event.FactNotReady && f.Value == p.Name })
}

// otherIP reports whether the endpoints hold no address of the pod's status,
// although the status has one of their family.
func otherIP(o *identity.Object, p *identity.Pod) bool {
	known := false
	for _, ip := range p.StatusIPs {
		if slices.Contains(o.IPs, ip.Unmap()) {
			return false
		}
		known = known || slices.ContainsFunc(o.IPs, func(e netip.Addr) bool { return e.Is4() == ip.Unmap().Is4() })
	}
	return known
}

// lastIP is when the pod got the IP of its status, zero when nothing tells.
func lastIP(p *identity.Pod) event.Nanos {
	var at event.Nanos
	for i := range p.Intervals {
		if iv := &p.Intervals[i]; len(p.StatusIPs) > 0 && iv.IP == p.StatusIPs[0].Unmap() && iv.To == 0 {
			at = max(at, iv.From)
		}
	}
	return at
}
