package identity

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// history draws records about a few pods: sandboxes, statements of every kind of
// source with and without a time, ends. Each has a place of its own.
func history(t *rapid.T) []*event.Event {
	var out []*event.Event
	kinds := []string{"cri", "cni-result", "ipam", "kubelet-ip", "kubelet-hosts", "status-patch", "audit", "annotation", "endpointslice", "event"}
	for i := range rapid.IntRange(1, 24).Draw(t, "records") {
		pod := podRef(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "pod"))
		at := second(float64(rapid.IntRange(1, 400).Draw(t, "at"))).Add(time.Duration(i) * time.Millisecond) // else copies of one record
		id := rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "sandbox")
		if id != "" {
			id = pod.Name + id
		}
		var ips []netip.Addr
		for range rapid.IntRange(1, 2).Draw(t, "ips") {
			ips = append(ips, rapid.SampledFrom(addrs("10.0.0.1", "10.0.0.2", "10.0.0.3", "fd00::1", "fd00::2")).Draw(t, "ip"))
		}
		var p event.Payload
		switch rapid.IntRange(0, 9).Draw(t, "what") {
		case 0, 1:
			p = &event.SandboxChange{Pod: pod, SandboxID: pod.Name + rapid.SampledFrom([]string{"1", "2"}).Draw(t, "id"), Op: event.SandboxCreated}
		case 2:
			p = &event.SandboxChange{Pod: pod, SandboxID: pod.Name + "1", Op: event.SandboxStopped}
		case 3:
			p, at = &event.PodSeen{Pod: pod, Phase: "Running", IPs: ips}, 0
		case 4:
			p = &event.PodIP{Pod: pod, SandboxID: id, Fact: event.IPReleased, Via: "ipam", IPs: ips}
		default:
			via := rapid.SampledFrom(kinds).Draw(t, "via")
			p = &event.PodIP{Pod: pod, SandboxID: id, Fact: event.IPObserved, Via: via, IPs: ips}
			if via == "endpointslice" || via == "annotation" {
				at = 0
			}
		}
		e := &event.Event{Node: "n1", Ref: event.Ref{Stream: 1, Line: int64(i + 1)}, Payload: p}
		if at != 0 {
			e.Time = event.Known(at, 1)
		}
		out = append(out, e)
	}
	return out
}

func indexOf(events []*event.Event) *Index {
	b := NewBuilder()
	for _, e := range events {
		b.Add(e, e.Time.At)
	}
	return b.Build(second(collected))
}

// Whatever sources say, intervals are sorted, each with a source and none of them
// backwards; an owner is only who holds the address then; and every claim of a
// disagreement is cited.
func TestIntervalsHoldTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := indexOf(history(t))
		for _, p := range x.Pods {
			assert.True(t, slices.IsSortedFunc(p.Intervals, compareIntervals))
			for i := range p.Intervals {
				iv := &p.Intervals[i]
				assert.NotEmpty(t, iv.Sources)
				if iv.To != 0 {
					assert.LessOrEqual(t, iv.From, iv.To)
				}
				for _, h := range x.Holders(iv.IP, iv.From) {
					assert.Equal(t, iv.IP, h.Interval.IP)
					assert.True(t, h.Interval.Contains(iv.From))
					assert.NotEqual(t, Stale, h.Interval.State)
				}
			}
		}
		for _, d := range x.Disagreements() {
			assert.GreaterOrEqual(t, len(d.Claims), 2)
			assert.NotEmpty(t, d.Why)
			for _, c := range d.Claims {
				assert.NotEmpty(t, c.Sources)
			}
			if d.To != 0 {
				assert.LessOrEqual(t, d.From, d.To)
			}
		}
	})
}

// The order in which records are read changes nothing.
func TestOrderOfEvidenceIsIrrelevant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := history(t)
		x, y := indexOf(events), indexOf(rapid.Permutation(events).Draw(t, "order"))
		assert.Equal(t, told(x), told(y))
	})
}

// told writes down what an index says about addresses.
func told(x *Index) []string {
	var out []string
	for _, p := range x.Pods {
		for _, iv := range p.Intervals {
			out = append(out, fmt.Sprint(p.UID, iv))
		}
	}
	for _, d := range x.Disagreements() {
		out = append(out, fmt.Sprint(d.Owners, d.Expected, d.From, d.To, d.Believed, d.Why))
	}
	return out
}

// One more source never takes an address away from a pod: what was said stays,
// as held, disputed or stale.
func TestMoreEvidenceRemovesNoAddress(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := history(t)
		n := rapid.IntRange(0, len(events)).Draw(t, "known")
		some, all := indexOf(events[:n]), indexOf(events)
		for _, p := range some.Pods {
			for _, iv := range p.Intervals {
				q := all.ByUID(p.UID)
				assert.True(t, slices.ContainsFunc(q.Intervals, func(o Interval) bool { return o.IP == iv.IP }), "%s had %s", p.Name, iv.IP)
			}
		}
	})
}

// Completed pods and pods on the host network never hold an address, whatever
// else is said, and a node's address belongs to no pod.
func TestNeverOwners(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := history(t)
		host := rapid.Bool().Draw(t, "host network")
		seen := &event.PodSeen{Pod: podRef("a"), Phase: "Succeeded", IPs: addrs("10.0.0.1"), HostNetwork: false}
		if host {
			seen.Phase, seen.HostNetwork = "Running", true
		}
		events = append(events, &event.Event{Node: "n1", Ref: event.Ref{Stream: 2, Line: 1}, Payload: seen},
			&event.Event{Ref: event.Ref{Stream: 2, Line: 2}, Payload: &event.NodeSeen{Name: "n1", Addresses: addrs("10.0.0.3")}})
		x := indexOf(events)
		for _, ip := range addrs("10.0.0.1", "10.0.0.2", "10.0.0.3", "fd00::1", "fd00::2") {
			for _, h := range x.Holders(ip, second(2*collected)) {
				if h.Pod.Name == "a" {
					t.Fatalf("pod a holds %s", ip)
				}
			}
			if ip.String() == "10.0.0.3" {
				assert.Empty(t, x.Holders(ip, second(100)))
			}
		}
	})
}

// Sandboxes of a pod follow each other in the order they were made, whatever the
// order of the records, and no two live at once.
func TestSandboxesInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := indexOf(history(t))
		for _, p := range x.Pods {
			for i := 1; i < len(p.Sandboxes); i++ {
				before, s := p.Sandboxes[i-1], p.Sandboxes[i]
				assert.LessOrEqual(t, before.From, s.From)
				assert.NotZero(t, before.To)
				assert.LessOrEqual(t, before.To, s.From)
			}
		}
	})
}

// A deleted pod of which no object is left stays the owner of its time.
func TestDeletedPodsAreOwners(t *testing.T) {
	x := newScene().add(1, &event.PodSync{Op: event.SyncAdd, Pod: podRef("gone")}).sandbox(2, "gone", "s1").ip(2, "gone", "kubelet-ip", "s1", "10.0.0.1").
		add(60, &event.PodSync{Op: event.SyncDelete, Pod: podRef("gone")}).add(90, &event.PodSync{Op: event.SyncRemove, Pod: podRef("gone")}).
		sandbox(120, "next", "s2").ip(120, "next", "kubelet-ip", "s2", "10.0.0.1").build()
	owner := func(at float64) string {
		hs := x.Holders(netip.MustParseAddr("::ffff:10.0.0.1"), second(at))
		if len(hs) != 1 {
			return fmt.Sprint(len(hs))
		}
		return hs[0].Pod.Name
	}
	assert.Equal(t, "gone", owner(30))
	assert.Equal(t, "gone", owner(80), "a terminating pod still has its address")
	assert.Equal(t, "0", owner(100))
	assert.Equal(t, "next", owner(150))
	assert.Empty(t, x.Disagreements())
}

// A pod of both families says which one is first, and by whose word: the status
// decides over the order of the runtime's result.
func TestPrimaryHasItsReason(t *testing.T) {
	x := newScene().add(-1, &event.NodeSeen{Name: "n1", Addresses: addrs("fd00:9::1", "192.168.0.1")}).
		sandbox(1, "p", "s1").ip(1, "p", "cni-result", "s1", "10.0.0.1", "fd00::1").ip(3, "p", "audit", "", "fd00::1", "10.0.0.1").object("p", "fd00::1", "10.0.0.1").
		sandbox(1, "single", "s2").ip(1, "single", "cni-result", "s2", "10.0.0.2").build()
	for _, iv := range x.ByUID("uid-p").Intervals {
		if iv.IP.Is6() {
			assert.True(t, iv.Primary)
			assert.Equal(t, "listed first by status; the node's first address is IPv6", iv.PrimaryWhy)
		} else {
			assert.Equal(t, "listed first by cni-result at "+second(1).Time().Format("15:04:05.000")+"; the node's first address is IPv6", iv.PrimaryWhy)
		}
	}
	assert.Empty(t, x.ByUID("uid-single").Intervals[0].PrimaryWhy)
}

// More statements than are kept still leave the first and the last of each kind.
func TestManyStatementsKeepFirstAndLast(t *testing.T) {
	s := newScene().sandbox(1, "p", "s1")
	for i := range 100 {
		s.ip(float64(2+i), "p", "audit", "", "10.0.0.1")
	}
	iv := s.build().ByUID("uid-p").Intervals[0]
	assert.Len(t, iv.Sources, maxSources)
	assert.Equal(t, second(2), iv.Sources[0].At)
	assert.Equal(t, second(101), iv.Sources[maxSources-1].At)
	assert.Less(t, time.Duration(0), iv.Sources[maxSources-1].At.Sub(iv.Sources[0].At))
}
