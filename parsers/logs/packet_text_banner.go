package logs

import (
	"bytes"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/flow"
)

// isPacketBanner reports whether a line is one that tcpdump or tshark prints
// about a capture.
func isPacketBanner(b []byte) bool {
	return bytes.HasPrefix(b, []byte("reading from file ")) || bytes.HasPrefix(b, []byte("tcpdump: ")) ||
		bytes.HasPrefix(b, []byte("listening on ")) && bytes.Contains(b, []byte("link-type ")) ||
		isWiresharkHeader(b)
}

// banner takes a line about the capture and keeps what it tells.
func (r *packetText) banner(b []byte) bool {
	c := r.info.Capture
	b = bytes.TrimPrefix(b, []byte("^C"))
	if n, rest, ok := leadingUint(b); ok {
		rest = skipBlanks(rest)
		for _, what := range []string{"captured", "received by filter", "dropped by kernel", "dropped by interface"} {
			for _, noun := range []string{"packets ", "packet "} {
				if string(rest) == noun+what {
					if what == "dropped by kernel" {
						c.Dropped = max(c.Dropped, 0) + n
					}
					return true
				}
			}
		}
		return false
	}
	switch {
	case len(b) == 0, isWiresharkHeader(b), bytes.HasPrefix(b, []byte("Warning: ")), bytes.HasPrefix(b, []byte("dropped privs to ")),
		bytes.HasPrefix(b, []byte("Running as user ")), bytes.HasPrefix(b, []byte("Capturing on ")):
		return true
	case !isPacketBanner(b):
		return false
	}
	b = bytes.TrimPrefix(b, []byte("tcpdump: "))
	if n, ok := numberAfter(b, "snapshot length "); ok {
		c.Snaplen = n
	} else if n, ok := numberAfter(b, "capture size "); ok {
		c.Snaplen = n
	}
	if i := bytes.Index(b, []byte("link-type ")); i >= 0 {
		name := clip(word(b[i+len("link-type "):]), 40)
		if !slices.Contains(c.LinkTypes, name) && len(c.LinkTypes) < 64 {
			c.LinkTypes = append(c.LinkTypes, name)
		}
	}
	if on, ok := after(b, "listening on "); ok {
		noteInterface(r.tracker, clip(word(on), 40))
	}
	return true
}

// noteInterface notes the interface that was captured on; "any" is none.
func noteInterface(t *flow.Tracker, name string) {
	if name != "any" {
		t.Interface(name)
	}
}

// flagsWithValue are the options of tcpdump that take a word.
const flagsWithValue = "BcCEFGijmMrsTVwWyzZ"

// readTcpdumpCommand keeps interface, snaplen and filter of the command whose
// output is read.
func readTcpdumpCommand(c *event.CaptureInfo, t *flow.Tracker, command string) {
	w := strings.Fields(command)
	i := slices.IndexFunc(w, func(s string) bool { return s == "tcpdump" || strings.HasSuffix(s, "/tcpdump") })
	if i < 0 {
		return
	}
	var filter []string
	for i++; i < len(w); i++ {
		o := w[i]
		if len(o) < 2 || o[0] != '-' {
			if strings.HasPrefix(o, "|") || strings.HasPrefix(o, ">") || strings.HasPrefix(o, "2>") {
				break
			}
			filter = append(filter, o)
			continue
		}
		long, value, given := strings.Cut(o, "=")
		k := strings.IndexAny(o, flagsWithValue)
		switch {
		case strings.HasPrefix(o, "--"):
			takes := slices.Contains([]string{"--interface", "--snapshot-length", "--time-stamp-type", "--time-stamp-precision", "--buffer-size"}, long)
			if takes && !given && i+1 < len(w) {
				i++
				value = w[i]
			}
			o, k = map[string]string{"--interface": "-i", "--snapshot-length": "-s"}[long], 1
		case k < 0:
			continue
		case k+1 < len(o):
			value = o[k+1:]
		case i+1 < len(w):
			i++
			value = w[i]
		}
		if len(o) <= k {
			continue
		}
		switch o[k] {
		case 'i':
			noteInterface(t, clip([]byte(value), 40))
		case 's':
			n, _ := allDigits([]byte(value))
			c.Snaplen = n
		}
	}
	c.Filter = clip([]byte(strings.Trim(strings.Join(filter, " "), `'"`)), 512)
}

// joinCaptures adds what an earlier output of the same stream held to a later
// one: a pasted terminal may show several.
func joinCaptures(earlier, c *event.CaptureInfo) *event.CaptureInfo {
	if earlier == nil || !earlier.Text {
		return c
	}
	union := func(a, b []string) []string {
		for _, s := range b {
			if !slices.Contains(a, s) {
				a = append(a, s)
			}
		}
		return a
	}
	c.LinkTypes = union(earlier.LinkTypes, c.LinkTypes)
	c.Interfaces = union(earlier.Interfaces, c.Interfaces)
	c.Lacks = union(earlier.Lacks, c.Lacks)
	if earlier.Dropped >= 0 {
		c.Dropped = max(c.Dropped, 0) + earlier.Dropped
	}
	if earlier.First != 0 && (c.First == 0 || earlier.First < c.First) {
		c.First = earlier.First
	}
	c.Last = max(c.Last, earlier.Last)
	c.Undecoded += earlier.Undecoded
	c.Duplicates += earlier.Duplicates
	c.ARPFrames += earlier.ARPFrames
	c.ICMPFrames += earlier.ICMPFrames
	c.NonTCP += earlier.NonTCP
	c.Gaps = append(earlier.Gaps, c.Gaps...)
	c.Names = append(earlier.Names, c.Names...)
	c.Talkers = append(earlier.Talkers, c.Talkers...)
	for _, t := range earlier.Targets {
		i := slices.IndexFunc(c.Targets, func(o event.TargetCount) bool { return o.Addr == t.Addr })
		if i < 0 {
			c.Targets = append(c.Targets, t)
			continue
		}
		o := &c.Targets[i]
		o.SYN, o.SYNACK, o.RSTFrom, o.RSTTo = o.SYN+t.SYN, o.SYNACK+t.SYNACK, o.RSTFrom+t.RSTFrom, o.RSTTo+t.RSTTo
	}
	slices.SortFunc(c.Targets, func(a, b event.TargetCount) int { return a.Addr.Compare(b.Addr) })
	return c
}
