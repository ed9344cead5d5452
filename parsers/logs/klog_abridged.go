package logs

import "bytes"

var _ = registerDialect(dialect{name: "klog-abridged", starts: "abcdefghijklmnopqrstuvwxyz", order: 5, read: readAbridged})

// readAbridged reads klog lines whose header somebody shortened before pasting
// them, "Feb 28 16:33:53 ... kubelet.go:2456] "SyncLoop (PLEG): …": the time is
// that of the prefix.
func readAbridged(s *session, h *hostState, r *record) bool {
	if r.ident != nil || r.stamp.IsZero() {
		return false
	}
	head := r.msg[:min(len(r.msg), 64)]
	i := bytes.Index(head, []byte("] "))
	if i < 0 || !bytes.Contains(head[:i], []byte(".go:")) || bytes.IndexByte(head[:i], ' ') >= 0 {
		return false
	}
	k := &s.klog
	k.pid = r.pid
	k.splitText(r.msg[i+1:])
	k.stamp = r.stamp
	s.readKlogMessage(h, r, k)
	return true
}
