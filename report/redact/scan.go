package redact

import (
	"net/netip"
	"strings"
)

// text replaces every name and address in a text.
func (r *redactor) text(s string) string {
	var b strings.Builder
	copied := 0
	for i := 0; i < len(s); {
		if !wordByte(s[i]) && s[i] != ':' {
			i++
			continue
		}
		if i > 0 && wordByte(s[i-1]) {
			i++ // inside a word that was looked at
			continue
		}
		n, repl := r.token(s, i)
		if n == 0 {
			i = endOfWord(s, i)
			continue
		}
		b.WriteString(s[copied:i])
		b.WriteString(repl)
		i += n
		copied = i
	}
	if copied == 0 {
		return s
	}
	b.WriteString(s[copied:])
	return b.String()
}

// token looks at the word that starts at i: how long the replaced part is (0 for
// none) and what replaces it.
func (r *redactor) token(s string, i int) (int, string) {
	for _, look := range []func(string, int) (int, string){r.image, r.uuid, r.mac, r.ip6, r.ip4, r.dashed, r.known, r.host} {
		if n, repl := look(s, i); n > 0 {
			return n, repl
		}
	}
	return 0, ""
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func nameByte(c byte) bool { return wordByte(c) || c == '-' || c == '.' || c == '_' }

// endOfWord is where the next token may start: after the letters and digits
// here, so that parts of a longer name are looked at as well.
func endOfWord(s string, i int) int {
	i++
	for i < len(s) && wordByte(s[i]) {
		i++
	}
	return i
}

// run is the length of the longest start of s whose bytes are all accepted.
func run(s string, accept func(byte) bool) int {
	n := 0
	for n < len(s) && accept(s[n]) {
		n++
	}
	return n
}

func hexByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func digitByte(c byte) bool { return c >= '0' && c <= '9' }

func (r *redactor) uuid(s string, i int) (int, string) {
	const form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
	if len(s)-i < len(form) || i+len(form) < len(s) && wordByte(s[i+len(form)]) {
		return 0, ""
	}
	for j := range form {
		if c := s[i+j]; form[j] == '-' && c != '-' || form[j] == 'x' && !hexByte(c) {
			return 0, ""
		}
	}
	return len(form), r.uid(s[i : i+len(form)])
}

// uid replaces a UUID; static pods have other UIDs, which are replaced alike.
func (r *redactor) uid(s string) string {
	if s == "" {
		return ""
	}
	key := strings.ToLower(s)
	if r.meeting {
		r.meet(kindUUID, key)
		return s
	}
	if p, ok := r.names[key]; ok {
		return p
	}
	return s
}

func (r *redactor) mac(s string, i int) (int, string) {
	const size = 17
	if len(s)-i < size || i+size < len(s) && (wordByte(s[i+size]) || s[i+size] == ':') {
		return 0, ""
	}
	if sep := s[i+2]; sep == ':' || sep == '-' {
		var m [6]byte
		for k := range 6 {
			hi, lo := unhex(s[i+3*k]), unhex(s[i+3*k+1])
			if hi < 0 || lo < 0 || k < 5 && s[i+3*k+2] != sep {
				return 0, ""
			}
			m[k] = byte(hi<<4 | lo)
		}
		out := r.macs.replace(m, r.meeting).String()
		if out == "" {
			out = "00:00:00:00:00:00"
		}
		if sep == '-' {
			out = strings.ReplaceAll(out, ":", "-")
		}
		return size, out
	}
	return 0, ""
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// ip6 finds an IPv6 address, also with a port behind a dot as tcpdump prints it.
func (r *redactor) ip6(s string, i int) (int, string) {
	const longest = 64 // characters of an address with a port, amply
	n := min(run(s[i:], func(c byte) bool { return hexByte(c) || c == ':' || c == '.' }), longest)
	if strings.Count(s[i:i+n], ":") < 2 || i+n < len(s) && wordByte(s[i+n]) {
		return 0, ""
	}
	for ; n > 2; n-- {
		word := s[i : i+n]
		if i+n < len(s) && hexByte(s[i+n]) && hexByte(s[i+n-1]) {
			continue // never in the middle of a group
		}
		if a, err := netip.ParseAddr(word); err == nil && a.Is6() {
			return n, r.addr(a).String()
		}
	}
	return 0, ""
}

// ip4 finds an IPv4 address, also with a port behind a dot.
func (r *redactor) ip4(s string, i int) (int, string) {
	if !digitByte(s[i]) {
		return 0, ""
	}
	n, a, ok := quad(s[i:], '.')
	if !ok || i+n < len(s) && (wordByte(s[i+n]) && !digitByte(s[i+n]) || digitByte(s[i+n])) {
		return 0, ""
	}
	return n, r.addr(a).String()
}

// quad reads four numbers up to 255 with a separator between them.
func quad(s string, sep byte) (int, netip.Addr, bool) {
	var b [4]byte
	at := 0
	for k := range 4 {
		n := run(s[at:], digitByte)
		if n == 0 || n > 3 {
			return 0, netip.Addr{}, false
		}
		v := 0
		for _, c := range s[at : at+n] {
			v = v*10 + int(c-'0')
		}
		if v > 255 {
			return 0, netip.Addr{}, false
		}
		b[k] = byte(v)
		at += n
		if k < 3 {
			if at >= len(s) || s[at] != sep {
				return 0, netip.Addr{}, false
			}
			at++
		}
	}
	return at, netip.AddrFrom4(b), true
}

// dashed finds an address written with dashes: "ip-10-0-1-5", or without the
// prefix where the address is known.
func (r *redactor) dashed(s string, i int) (int, string) {
	prefix := ""
	if strings.HasPrefix(s[i:], "ip-") {
		prefix = "ip-"
	}
	n, a, ok := quad(s[i+len(prefix):], '-')
	if !ok || prefix == "" && !r.addrs.known(a) {
		return 0, ""
	}
	n += len(prefix)
	if i+n < len(s) && wordByte(s[i+n]) {
		return 0, ""
	}
	if r.meeting && prefix != "" {
		r.addrs.meet(a)
	}
	return n, prefix + strings.ReplaceAll(r.addr(a).String(), ".", "-")
}

// known finds the longest known name that starts here. It ends where a word
// ends, so that a name is found inside a longer one, too.
func (r *redactor) known(s string, i int) (int, string) {
	if r.meeting {
		return 0, ""
	}
	limit := i + min(run(s[i:], nameByte), 253)
	for end := limit; end > i; end-- {
		if end < len(s) && wordByte(s[end]) && wordByte(s[end-1]) {
			continue
		}
		if p, ok := r.names[s[i:end]]; ok {
			return end - i, p
		}
	}
	return 0, ""
}

// host finds the full name of a host or service: three labels at least, the
// last one letters.
func (r *redactor) host(s string, i int) (int, string) {
	n := run(s[i:], func(c byte) bool { return nameByte(c) && c != '_' })
	word := strings.TrimRight(s[i:i+n], ".-")
	labels := strings.Split(word, ".")
	if len(labels) < 3 || i+len(word) < len(s) && s[i+len(word)] == '_' {
		return 0, ""
	}
	last := labels[len(labels)-1]
	if len(last) < 2 || strings.ContainsAny(last, "0123456789-") || fileSuffix[strings.ToLower(last)] || strings.Contains(word, "..") {
		return 0, ""
	}
	for _, l := range labels {
		if l == "" || l[0] >= 'A' && l[0] <= 'Z' {
			return 0, "" // a field or a type of a program, not a host
		}
	}
	if r.meeting {
		r.meet(kindHost, word)
		return len(word), word
	}
	if p, ok := r.names[word]; ok {
		return len(word), p
	}
	return 0, ""
}

var fileSuffix = map[string]bool{"log": true, "gz": true, "xz": true, "zst": true, "tar": true, "tgz": true, "yaml": true, "yml": true, "json": true, "pcap": true, "pcapng": true,
	"txt": true, "go": true, "sock": true, "conf": true, "service": true, "slice": true, "scope": true, "journal": true, "csv": true, "md": true, "html": true, "insecure": true}
