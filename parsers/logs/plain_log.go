package logs

import "bytes"

var plainForm = prefixForm{name: "plain-log", split: splitPlain, loose: true}

var _ = registerPrefixed(plainForm,
	"lines without a prefix: a kubelet's or agent's own log file (klog, logrus, JSON), journalctl -o cat, kubectl logs",
	detectPlain)

// splitPlain takes every line as it is.
func splitPlain(line []byte, r *record) bool {
	if len(line) == 0 || isBoundary(line) {
		return false
	}
	r.msg = line
	return true
}

// detectPlain counts lines that some program's own log header begins.
func detectPlain(head []byte, path string) int {
	own, all := 0, 0
	for n := 0; len(head) > 0 && n < 400; n++ {
		line, rest, _ := cutByte(head, '\n')
		head = rest
		line = peel(bytes.TrimSuffix(line, []byte("\r")))
		if len(line) == 0 {
			continue
		}
		all++
		if hasOwnHeader(line) {
			own++
		}
	}
	switch {
	case own == 0:
		return 0
	case own*2 >= all:
		return 80
	case own*10 >= all:
		return 45
	}
	return 20
}

// hasOwnHeader reports whether a line begins with the log header of klog,
// logrus, or a JSON logger.
func hasOwnHeader(line []byte) bool {
	var k klogLine
	var l logrusLine
	if parseKlog(line, &k) {
		return true
	}
	if _, ok := l.parse(line); ok {
		return true
	}
	return line[0] == '{' && bytes.Contains(line, []byte(`"msg":`)) && bytes.Contains(line, []byte(`"ts":`))
}
