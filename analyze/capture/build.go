package capture

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Builder collects the packets of all captures.
type Builder struct {
	x      *identity.Index
	set    Set
	byID   map[event.StreamID]*Capture
	points map[string]string
	shift  func(*event.StreamInfo) time.Duration
	want   func(netip.AddrPort) bool
	conns  map[uint64]*Conn // by hash of the identity, the latest first
	// Skipped counts flows that were left out because nothing asks for them.
	Skipped int64
	thin    *thinner // nil to keep everything
}

// NewBuilder returns a builder for the captures among infos. want tells which
// server addresses matter; shift is what must be added to a capture's times to
// get node time; points are overrides by path or base name.
func NewBuilder(x *identity.Index, infos []*event.StreamInfo, points map[string]string,
	shift func(*event.StreamInfo) time.Duration, want func(netip.AddrPort) bool) *Builder {
	b := &Builder{x: x, byID: make(map[event.StreamID]*Capture), points: points, shift: shift, want: want, conns: make(map[uint64]*Conn)}
	for _, s := range infos {
		if s.Capture == nil {
			continue
		}
		d := shift(s)
		c := &Capture{Info: s, Node: s.Node, Offset: d, First: s.Capture.First.Add(d), Last: s.Capture.Last.Add(d)}
		for _, g := range s.Capture.Gaps {
			c.Gaps = append(c.Gaps, event.Gap{From: g.From.Add(d), To: g.To.Add(d)})
		}
		b.byID[s.ID] = c
		b.set.Captures = append(b.set.Captures, c)
	}
	b.inferPoints()
	return b
}

// Add takes one event of a capture stream.
func (b *Builder) Add(e *event.Event) {
	c := b.byID[e.Ref.Stream]
	if c == nil {
		return
	}
	d := b.shift(c.Info)
	switch p := e.Payload.(type) {
	case *event.Flow:
		if !b.want(p.Server) {
			b.Skipped++
			return
		}
		if b.thin != nil {
			b.offer(c, p.Shift(d), e.Ref)
			return
		}
		b.flow(c, p.Shift(d), e.Ref)
	case *event.ARP, *event.Egress:
		if b.thin == nil {
			b.neighbour(c, e)
		}
	}
}

func (b *Builder) neighbour(c *Capture, e *event.Event) {
	at := e.Time.At.Add(b.shift(c.Info))
	switch p := e.Payload.(type) {
	case *event.ARP:
		b.set.ARP = append(b.set.ARP, ARPSeen{At: at, Capture: c, ARP: p, Ref: e.Ref})
	case *event.Egress:
		b.set.Egress = append(b.set.Egress, EgressSeen{At: at, Capture: c, Egress: p, Ref: e.Ref})
	}
}

func (b *Builder) flow(c *Capture, f *event.Flow, ref event.Ref) {
	k := hashAddr(hashAddr(uint64(f.Client.Port())<<16|uint64(f.Server.Port()), f.Client.Addr()), f.Server.Addr())
	if !f.Relative {
		k = mix(k, uint64(f.ISN))
	}
	var conn *Conn
	for o := b.conns[k]; o != nil; o = o.earlier {
		if !sameSocket(o.Sightings[0].Flow, f) {
			continue
		}
		// The same socket in another capture; a port used again later has another
		// number, or (relative text) another time.
		near := o.Sightings[0].Flow.First.At.Sub(f.First.At).Abs() < 2*time.Minute
		if near && !slices.ContainsFunc(o.Sightings, func(s Sighting) bool { return s.Capture == c }) {
			conn = o // the first of several
		}
	}
	if conn == nil {
		conn = &Conn{Client: f.Client, Server: f.Server, earlier: b.conns[k]}
		b.conns[k] = conn
		b.set.Conns = append(b.set.Conns, conn)
	}
	conn.Sightings = append(conn.Sightings, Sighting{Capture: c, Flow: f, Ref: ref})
}

// sameSocket reports whether two flows have one identity, wherever each was seen.
func sameSocket(x, y *event.Flow) bool {
	return x.Client == y.Client && x.Server == y.Server && x.Relative == y.Relative && (x.Relative || x.ISN == y.ISN)
}

// Build sorts everything and finds for each connection its best sightings and
// its pod.
func (b *Builder) Build() *Set {
	b.endThinning()
	b.conns = nil // the set outlives it
	s := &b.set
	s.index = b.x
	for _, c := range s.Conns {
		slices.SortFunc(c.Sightings, func(x, y Sighting) int {
			return cmp.Or(cmp.Compare(rank(x.Capture.Point), rank(y.Capture.Point)), cmp.Compare(x.Capture.Info.ID, y.Capture.Info.ID))
		})
		for i := range c.Sightings {
			g := &c.Sightings[i]
			if g.Capture.Inside() {
				if c.Inside == nil {
					c.Inside = g
				}
			} else if c.Node == nil {
				c.Node = g
			}
		}
		c.ID = connID(c)
	}
	s.arrange()
	return s
}

// arrange puts everything in time order and names the holder of each server's
// address then.
func (s *Set) arrange() {
	s.byServer = make(map[netip.AddrPort][]*Conn)
	slices.SortFunc(s.Conns, func(x, y *Conn) int {
		return cmp.Or(cmp.Compare(x.Start(), y.Start()), x.Server.Compare(y.Server), x.Client.Compare(y.Client), strings.Compare(x.ID, y.ID))
	})
	for _, c := range s.Conns {
		c.Pod = nil
		if hs := s.index.Holders(c.Server.Addr(), c.Start()); len(hs) == 1 {
			c.Pod = hs[0].Pod
		}
		s.byServer[c.Server] = append(s.byServer[c.Server], c)
	}
	slices.SortStableFunc(s.ARP, func(x, y ARPSeen) int { return cmp.Or(cmp.Compare(x.At, y.At), x.Ref.Compare(y.Ref)) })
	slices.SortStableFunc(s.Egress, func(x, y EgressSeen) int { return cmp.Or(cmp.Compare(x.At, y.At), x.Ref.Compare(y.Ref)) })
	s.byAddress()
}

// Apply adds an offset to all times of some captures: their clock was not that
// of the node.
func (s *Set) Apply(offsets map[*Capture]time.Duration) {
	if len(offsets) == 0 {
		return
	}
	for c, d := range offsets {
		c.Offset += d
		c.First, c.Last = c.First.Add(d), c.Last.Add(d)
		for i := range c.Gaps {
			c.Gaps[i].From, c.Gaps[i].To = c.Gaps[i].From.Add(d), c.Gaps[i].To.Add(d)
		}
	}
	for _, c := range s.Conns {
		for i := range c.Sightings {
			g := &c.Sightings[i]
			g.Flow = g.Flow.Shift(offsets[g.Capture])
		}
	}
	for i := range s.ARP {
		s.ARP[i].At = s.ARP[i].At.Add(offsets[s.ARP[i].Capture])
	}
	for i := range s.Egress {
		s.Egress[i].At = s.Egress[i].At.Add(offsets[s.Egress[i].Capture])
	}
	s.arrange()
}

func connID(c *Conn) string {
	f := c.Seen().Flow
	h := sha256.Sum256(fmt.Appendf(nil, "%s|%s|%d|%d", c.Client, c.Server, f.ISN, f.First.At))
	return hex.EncodeToString(h[:8])
}

// rank orders points from the node's side inward.
func rank(p Point) int {
	return slices.Index([]Point{NodeBridge, NodeAny, Unknown, Uplink, PodVeth, PodNetns}, p)
}

// Inside reports whether the capture shows only what reached the pod's own
// interface.
func (c *Capture) Inside() bool { return c.Point == PodNetns || c.Point == PodVeth }

// Start is the time of the connection's first frame on the node side.
func (c *Conn) Start() event.Nanos {
	f := c.Seen().Flow
	if f.SYN.Seen() {
		return f.SYN.At
	}
	return f.First.At
}

// ParsePoint reads "node-bridge", "node-any", "pod-veth", "pod-netns[:NS/POD]",
// "uplink".
func ParsePoint(s string) (p Point, pod string, err error) {
	name, pod, _ := strings.Cut(s, ":")
	switch p = Point(name); p {
	case NodeBridge, NodeAny, PodVeth, PodNetns, Uplink:
		return p, pod, nil
	}
	return Unknown, "", fmt.Errorf("capture point %q: want node-bridge, node-any, pod-veth, pod-netns[:NS/POD] or uplink", s)
}

// inferPoints says for each capture where it was taken and why.
func (b *Builder) inferPoints() {
	for _, c := range b.set.Captures {
		for _, key := range []string{c.Info.Path, base(c.Info.Path)} {
			if v, ok := b.points[key]; ok {
				if p, pod, err := ParsePoint(v); err == nil {
					c.Point, c.Why = p, "set by the user"
					if ns, name, found := strings.Cut(pod, "/"); found {
						if ps := b.x.ByName(ns, name); len(ps) > 0 {
							c.Pod = ps[len(ps)-1]
						}
					}
				}
			}
		}
		if c.Point == "" {
			b.infer(c)
		}
		if c.Inside() && c.Pod == nil {
			c.Pod = b.ownerOf(c)
		}
	}
}

func base(path string) string {
	if i := strings.LastIndexAny(path, "/"); i >= 0 {
		return path[i+1:]
	}
	return path
}

// infer decides from the link type, from who talks in the file, and last from
// its name. A file inside a pod (or on its veth) has one host behind every frame:
// each connection has one of that host's addresses at one end.
func (b *Builder) infer(c *Capture) {
	ci := c.Info.Capture
	for _, l := range ci.LinkTypes {
		if strings.HasPrefix(l, "LINUX_SLL") {
			c.Point, c.Why = NodeAny, "link type "+l+" is what capturing on all interfaces writes"
			return
		}
	}
	name := strings.ToLower(base(c.Info.Path))
	if len(ci.Interfaces) == 1 && ci.Interfaces[0] != "" {
		// The file itself says which interface it was taken on.
		name = strings.ToLower(ci.Interfaces[0])
	}
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) })
	}
	servers := make(map[netip.Addr]bool)
	for _, t := range ci.Targets {
		if len(b.x.PodsWith(t.Addr.Addr())) > 0 || t.SYNACK > 0 {
			servers[t.Addr.Addr()] = true
		}
	}
	pods := make(map[*identity.Pod]bool)
	for ip := range servers {
		for _, p := range b.x.PodsWith(ip) {
			if !p.HostNetwork {
				pods[p] = true
			}
		}
	}
	ips := talkingPods(b.x, ci.Talkers)
	switch {
	case len(servers) > 2 && len(pods) > 1, len(ips) > 1:
		c.Point = NodeBridge
		c.Why = strconv.Itoa(max(len(ips), len(pods))) + " pods send or answer in it: a shared point of the node"
	case says("any"):
		c.Point, c.Why = NodeAny, "file name says any; the frames fit"
	case says("netns", "inside"), says("pod", "eth0") && len(pods) == 1, says("pod") && says("eth0"):
		c.Point, c.Why = PodNetns, "one pod is behind every connection, and the file name says pod or eth0"
	case says("veth", "cali", "lxc", "eni"):
		c.Point, c.Why = PodVeth, "one pod is behind every connection, and the file name says veth"
	case says("bridge", "cbr", "cni", "docker", "br-", "br0", "ovn", "node"):
		c.Point, c.Why = NodeBridge, "the file name says so; the frames do not contradict it"
	case says("uplink", "ens", "bond", "eth"):
		c.Point, c.Why = Uplink, "the file name says so"
	case ci.Text || len(servers) > 0:
		c.Point, c.Why = Unknown, "nothing tells a shared point from a pod's own interface; treated as a node-side view"
	default:
		c.Point, c.Why = Unknown, "no connection to a known pod"
	}
}

// talkingPods returns pods that were seen as the source of frames.
func talkingPods(x *identity.Index, ts []event.Talker) map[*identity.Pod]bool {
	out := make(map[*identity.Pod]bool)
	for _, t := range ts {
		for _, h := range x.Holders(t.IP, t.First) {
			out[h.Pod] = true
		}
	}
	return out
}

func (b *Builder) ownerOf(c *Capture) *identity.Pod {
	var best *identity.Pod
	var n int64
	for _, t := range c.Info.Capture.Targets {
		for _, p := range b.x.PodsWith(t.Addr.Addr()) {
			if !p.HostNetwork && t.SYN+t.SYNACK > n {
				best, n = p, t.SYN+t.SYNACK
			}
		}
	}
	if best == nil {
		for p := range talkingPods(b.x, c.Info.Capture.Talkers) {
			if best == nil || strings.Compare(p.UID, best.UID) < 0 {
				best = p
			}
		}
	}
	return best
}
