package probe

import "github.com/probe-forensics/probe-forensics/analyze/identity"

// Addresses notes what captures at the pods themselves prove about addresses: the
// stack behind a pod's own interface answered from one. Each is cited by the
// first frame of its connection.
func (s *Set) Addresses(x *identity.Index) {
	for _, w := range s.Workers {
		for _, a := range w.Attempts {
			if a.Conn == nil || a.Conn.Inside == nil || a.Conn.Inside.Capture.Pod != w.Pod {
				continue
			}
			g := a.Conn.Inside
			answer := g.Flow.SYNACK
			if !answer.Seen() {
				answer = g.Flow.ServerRST
			}
			if answer.Seen() {
				x.Observe(w.Pod, a.Conn.Server.Addr(), answer.At, "packets", g.Ref)
			}
		}
	}
}
