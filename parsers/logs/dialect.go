package logs

import "strings"

// dialect is one way in which a program words its messages: klog, logrus, the
// kernel. Formats frame records, dialects understand them, so that a line means
// the same in every framing.
type dialect struct {
	name string
	// starts lists the bytes a message of this dialect can begin with; "" means
	// any byte, for dialects known by their identifier.
	starts string
	// order decides who is asked first, lower before higher; ties by name.
	order int
	// read emits what the record says and reports whether it was of this dialect.
	// It must reject a foreign record cheaply and without allocating.
	read func(s *session, h *hostState, r *record) bool
}

var (
	dialects    []dialect
	dialectsFor [256][]dialect
)

// registerDialect adds a dialect at package initialisation.
func registerDialect(d dialect) struct{} {
	dialects = append(dialects, d)
	for c := range 256 {
		if d.starts != "" && strings.IndexByte(d.starts, byte(c)) < 0 {
			continue
		}
		list := dialectsFor[c]
		at := len(list)
		for at > 0 && (d.order < list[at-1].order || d.order == list[at-1].order && d.name < list[at-1].name) {
			at--
		}
		list = append(list, dialect{})
		copy(list[at+1:], list[at:])
		list[at] = d
		dialectsFor[c] = list
	}
	return struct{}{}
}
