package identity

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// scene builds an index from records; times are seconds after an hour.
type scene struct {
	b    *Builder
	line int64
}

func newScene() *scene { return &scene{b: NewBuilder()} }

func second(s float64) event.Nanos {
	if s < 0 {
		return 0 // the record bears no time
	}
	return event.Nanos(time.Hour).Add(time.Duration(s * float64(time.Second)))
}

func (s *scene) add(at float64, p event.Payload) *scene {
	s.line++
	e := &event.Event{Node: "n1", Ref: event.Ref{Stream: 1, Line: s.line}, Payload: p}
	if at >= 0 {
		e.Time = event.Known(second(at), 1)
	}
	s.b.Add(e, e.Time.At)
	return s
}

func podRef(name string) event.PodRef {
	return event.PodRef{Namespace: "ns", Name: name, UID: "uid-" + name}
}

func addrs(ips ...string) []netip.Addr {
	var out []netip.Addr
	for _, ip := range ips {
		out = append(out, netip.MustParseAddr(ip))
	}
	return out
}

func (s *scene) sandbox(at float64, pod, id string) *scene {
	return s.add(at, &event.SandboxChange{Pod: podRef(pod), SandboxID: id, Op: event.SandboxCreated})
}

func (s *scene) ip(at float64, pod, via, sandbox string, ips ...string) *scene {
	return s.add(at, &event.PodIP{Pod: podRef(pod), SandboxID: sandbox, Fact: event.IPObserved, Via: via, IPs: addrs(ips...)})
}

// object is the pod as it was collected.
func (s *scene) object(pod string, ips ...string) *scene {
	return s.add(-1, &event.PodSeen{Pod: podRef(pod), Node: "n1", Phase: "Running", Created: second(0), IPs: addrs(ips...),
		Containers: []event.ContainerSpec{{Name: "c", Probes: []event.ProbeSpec{{Type: event.Readiness, Handler: "http", Port: 80}}}}})
}

const collected = 3000

func (s *scene) build() *Index { return s.b.Build(second(collected)) }

// Sources that place two addresses on one pod at one time contradict each other,
// unless the address changed or a copy lagged.
func TestSourcesDisagree(t *testing.T) {
	for _, c := range []struct {
		name     string
		scene    *scene
		observe  string // an address the probes went to at 200 s
		n        int
		expected bool
		believed string // "" for none
		kinds    []string
		why      string
	}{
		{name: "all agree", scene: newScene().sandbox(1, "p", "s1").ip(0.9, "p", "cni-result", "s1", "10.0.0.1").ip(2, "p", "audit", "", "10.0.0.1").object("p", "10.0.0.1")},
		{name: "the API says other than the CNI result", n: 1, believed: "10.0.0.1", kinds: []string{"cni-result", "audit", "status"}, why: "reads the sandbox itself",
			scene: newScene().sandbox(1, "p", "s1").ip(0.9, "p", "cni-result", "s1", "10.0.0.1").ip(2, "p", "audit", "", "10.0.0.9").object("p", "10.0.0.9")},
		{name: "the kubelet reads other than the CNI result", n: 1, believed: "10.0.0.1", kinds: []string{"cni-result", "kubelet-ip"}, why: "ranks higher",
			scene: newScene().sandbox(1, "p", "s1").ip(0.9, "p", "cni-result", "s1", "10.0.0.1").ip(1.1, "p", "kubelet-ip", "", "10.0.0.2")},
		{name: "endpoints say other than the status", n: 1, believed: "10.0.0.1", kinds: []string{"status", "endpointslice"}, why: "ranks higher",
			scene: newScene().sandbox(1, "p", "s1").object("p", "10.0.0.1").ip(-1, "p", "endpointslice", "", "10.0.0.2")},
		{name: "claims of one rank", n: 1, believed: "", kinds: []string{"status", "annotation"}, why: "none is believed",
			scene: newScene().sandbox(1, "p", "s1").object("p", "10.0.0.1").ip(-1, "p", "annotation", "", "10.0.0.2")},
		{name: "two families are no contradiction", scene: newScene().sandbox(1, "p", "s1").ip(1, "p", "cni-result", "s1", "10.0.0.1", "fd00::1").object("p", "fd00::1", "10.0.0.1")},
		{name: "old addresses behind the first of their family", scene: newScene().sandbox(1, "p", "s1").ip(1, "p", "cni-result", "s1", "10.0.0.1").object("p", "10.0.0.1", "10.0.0.7")},
		{name: "a further network", scene: newScene().sandbox(1, "p", "s1").ip(1, "p", "cni-result", "s1", "10.0.0.1").
			add(1, &event.PodIP{Pod: podRef("p"), Interface: "net1", Fact: event.IPAllocated, Via: "event", IPs: addrs("192.168.5.1")})},
		{name: "the address changed inside the sandbox", scene: newScene().sandbox(1, "p", "s1").ip(1, "p", "kubelet-ip", "", "10.0.0.1").ip(2, "p", "audit", "", "10.0.0.1").
			ip(500, "p", "kubelet-ip", "", "10.0.0.2").ip(501, "p", "audit", "", "10.0.0.2").object("p", "10.0.0.2")},
		{name: "the API learned of the new sandbox a moment late", n: 1, expected: true, believed: "10.0.0.2", kinds: []string{"audit", "kubelet-ip"}, why: "for 2s after the new sandbox began: copies lag",
			scene: newScene().sandbox(1, "p", "s1").ip(2, "p", "audit", "", "10.0.0.1").sandbox(100, "p", "s2").ip(100, "p", "kubelet-ip", "", "10.0.0.2").ip(102, "p", "audit", "", "10.0.0.2").object("p", "10.0.0.2")},
		{name: "a write of the old address after the new sandbox", n: 1, expected: true, believed: "10.0.0.2", kinds: []string{"audit", "kubelet-ip"}, why: "10.0.0.1 is the address of an earlier sandbox; audit still had it 1s after",
			scene: newScene().sandbox(1, "p", "s1").ip(2, "p", "audit", "", "10.0.0.1").sandbox(100, "p", "s2").ip(100, "p", "kubelet-ip", "", "10.0.0.2").ip(101, "p", "audit", "", "10.0.0.1").ip(102, "p", "audit", "", "10.0.0.2").object("p", "10.0.0.2")},
		{name: "the API learned far too late", n: 1, believed: "10.0.0.2", kinds: []string{"audit", "kubelet-ip"}, why: "longer than copies lag",
			scene: newScene().sandbox(1, "p", "s1").ip(2, "p", "audit", "", "10.0.0.1").sandbox(100, "p", "s2").ip(100, "p", "kubelet-ip", "", "10.0.0.2").ip(400, "p", "audit", "", "10.0.0.2").object("p", "10.0.0.2")},
		{name: "the object still has the address of the sandbox before", n: 1, believed: "10.0.0.2", kinds: []string{"kubelet-ip", "status"}, why: "longer than copies lag",
			scene: newScene().sandbox(1, "p", "s1").ip(2, "p", "kubelet-ip", "", "10.0.0.1").sandbox(100, "p", "s2").ip(100, "p", "kubelet-ip", "", "10.0.0.2").object("p", "10.0.0.1")},
		{name: "the CNI result comes before the sandbox's record", scene: newScene().sandbox(1, "p", "s1").ip(1, "p", "kubelet-ip", "", "10.0.0.1").ip(99.5, "p", "kubelet-ip", "", "10.0.0.2").sandbox(100, "p", "s2").object("p", "10.0.0.2")},
		{name: "probes went elsewhere", n: 1, believed: "10.0.0.1", observe: "10.0.0.8", kinds: []string{"kubelet-ip", "probe-output"}, why: "which no source gives it",
			scene: newScene().sandbox(1, "p", "s1").ip(1, "p", "kubelet-ip", "", "10.0.0.1").object("p", "10.0.0.1")},
		{name: "probes of a spec that no input holds", observe: "10.0.0.8", scene: newScene().sandbox(1, "p", "s1").ip(1, "p", "kubelet-ip", "", "10.0.0.1")},
		{name: "probes to the old address for a moment", n: 1, expected: true, believed: "10.0.0.2", observe: "10.0.0.1", kinds: []string{"kubelet-ip", "probe-output"}, why: "copies lag",
			scene: newScene().sandbox(1, "p", "s1").ip(1, "p", "kubelet-ip", "", "10.0.0.1").sandbox(199, "p", "s2").ip(199, "p", "kubelet-ip", "", "10.0.0.2").object("p", "10.0.0.2")},
		{name: "addresses of the node", scene: newScene().add(-1, &event.NodeSeen{Name: "n1", Addresses: addrs("10.0.0.1", "10.0.0.9")}).
			sandbox(1, "p", "s1").ip(1, "p", "kubelet-ip", "s1", "10.0.0.1").object("p", "10.0.0.9")},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := c.scene.build()
			if c.observe != "" {
				x.Observe(x.ByUID("uid-p"), netip.MustParseAddr(c.observe), second(200), "probe-output", event.Ref{Stream: 2, Line: 7})
			}
			ds := x.Disagreements()
			require.Len(t, ds, c.n)
			if c.n == 0 {
				return
			}
			d := ds[0]
			assert.Equal(t, c.expected, d.Expected)
			assert.False(t, d.Owners)
			require.Len(t, d.Claims, 2)
			assert.NotEqual(t, d.Claims[0].IP(), d.Claims[1].IP())
			assert.Equal(t, c.believed != "", d.Believed)
			if d.Believed {
				assert.Equal(t, c.believed, d.Claims[0].IP().String())
			}
			assert.Contains(t, d.Why, c.why)
			for _, kind := range c.kinds {
				assert.Contains(t, kindsOf(d), kind)
			}
			for _, k := range d.Claims {
				for _, s := range k.Sources {
					assert.False(t, s.Ref.IsZero(), "every source is cited")
				}
			}
			assert.NotZero(t, d.From)
		})
	}
}

func kindsOf(d Disagreement) []string {
	var out []string
	for _, c := range d.Claims {
		for _, s := range c.Sources {
			out = append(out, s.Kind)
		}
	}
	return out
}

// Two live pods that claim one address contradict each other; a pod that ended,
// shares its node's address or is told of by consumers only does not.
func TestOwnersDisagree(t *testing.T) {
	base := func() *scene {
		return newScene().sandbox(1, "a", "s1").ip(1, "a", "kubelet-ip", "s1", "10.0.0.1").object("a", "10.0.0.1")
	}
	for _, c := range []struct {
		name     string
		scene    *scene
		n        int
		believed string
	}{
		{name: "both by their status", n: 1, scene: newScene().object("a", "10.0.0.1").object("b", "10.0.0.1")},
		{name: "one by the runtime, one by its status", n: 1, believed: "a", scene: base().object("b", "10.0.0.1")},
		{name: "a completed pod", scene: base().add(-1, &event.PodSeen{Pod: podRef("b"), Phase: "Succeeded", IPs: addrs("10.0.0.1")})},
		{name: "a pod on the host network", scene: base().add(-1, &event.PodSeen{Pod: podRef("b"), Phase: "Running", HostNetwork: true, IPs: addrs("10.0.0.1")})},
		{name: "a deleted pod before", scene: base().add(0.2, &event.PodSync{Op: event.SyncAdd, Pod: podRef("b")}).ip(0.3, "b", "kubelet-ip", "", "10.0.0.1").
			add(0.8, &event.PodSync{Op: event.SyncRemove, Pod: podRef("b")})},
		{name: "a deleted pod whose removal no record tells", scene: base().ip(0.3, "b", "kubelet-ip", "", "10.0.0.1").add(0.6, &event.PodSync{Op: event.SyncDelete, Pod: podRef("b")})},
		{name: "an earlier pod of which nothing is heard since", scene: newScene().ip(1, "b", "kubelet-ip", "", "10.0.0.1").sandbox(50, "a", "s1").ip(50, "a", "kubelet-ip", "s1", "10.0.0.1").object("a", "10.0.0.1")},
		{name: "endpoints alone", scene: base().ip(-1, "b", "endpointslice", "", "10.0.0.1")},
		{name: "nodes of one range each", scene: newScene().
			add(-1, &event.NodeSeen{Name: "n1", PodCIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}}).
			add(-1, &event.NodeSeen{Name: "n2", PodCIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}}).object("a", "10.0.0.1").
			add(-1, &event.PodSeen{Pod: podRef("b"), Node: "n2", Phase: "Running", Created: second(0), IPs: addrs("10.0.0.1")})},
	} {
		t.Run(c.name, func(t *testing.T) {
			ds := c.scene.build().Disagreements()
			require.Len(t, ds, c.n)
			if c.n == 0 {
				return
			}
			assert.True(t, ds[0].Owners)
			assert.False(t, ds[0].Expected)
			require.Len(t, ds[0].Claims, 2)
			assert.Equal(t, c.believed != "", ds[0].Believed)
			if c.believed != "" {
				assert.Equal(t, c.believed, ds[0].Claims[0].Pod.Name)
			}
		})
	}
}
