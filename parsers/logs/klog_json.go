package logs

import (
	"bytes"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = registerDialect(dialect{name: "json", starts: "{", read: readJSONLine})

// readJSONLine reads what Kubernetes components write with
// --logging-format=json, and what zap loggers (aws-node) write:
//
//	{"ts":1735786800000.123,"caller":"prober/prober.go:107","msg":"Probe failed","v":1,"probeType":"Readiness","pod":{"name":"p","namespace":"ns"},…}
//	{"level":"info","ts":"2023-09-22T14:00:00.726Z","caller":"rpc/rpc.pb.go:713","msg":"…"}
func readJSONLine(s *session, h *hostState, r *record) bool {
	var msg, ts []byte
	f := newFlatJSON(r.msg)
	for {
		key, raw, ok := f.next()
		if !ok {
			break
		}
		switch string(key) {
		case "msg":
			msg = raw
		case "ts", "time":
			ts = raw
		}
		if msg != nil && ts != nil {
			break
		}
	}
	if len(msg) < 2 || msg[0] != '"' || len(ts) == 0 {
		return false
	}
	stamp := jsonStamp(ts)
	if stamp.IsZero() {
		return false
	}
	if r.stamp.IsZero() {
		s.see(stamp)
	}
	text := msg[1 : len(msg)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		s.jsonText = appendJSONString(s.jsonText[:0], text)
		text = s.jsonText
	}
	if bytes.HasPrefix(text, []byte("Flow Info")) {
		awsFlow(s, h, r, stamp, text, s.jsonPairs(r.msg))
		return true
	}
	if awsLine(s, h, r, stamp, text) || len(text) == 0 {
		return true
	}
	k := klogLine{text: text, stamp: stamp, pid: r.pid}
	if _, known := k.lookup(); known {
		k.pairs = s.jsonPairs(r.msg)
	} else {
		k.text, k.rest = nil, text
	}
	s.readKlogMessage(h, r, &k)
	return true
}

// jsonStamp reads "ts": milliseconds since the epoch (klog), seconds (zap's
// default), or an RFC 3339 string; the zero stamp for anything else.
func jsonStamp(raw []byte) event.Stamp {
	if raw[0] == '"' {
		st, _, _ := isoStamp(bytes.Trim(raw, `"`))
		return st
	}
	whole, rest, ok := leadingUint(raw)
	if !ok || whole > 1<<53 {
		return event.Stamp{}
	}
	unit := int64(time.Second)
	if whole > 1e11 {
		unit = int64(time.Millisecond)
	}
	if whole > (1<<63-1)/unit-1 {
		return event.Stamp{}
	}
	at := whole * unit
	if len(rest) > 0 && rest[0] == '.' {
		for i := 1; i < len(rest) && isDigit(rest[i]) && unit >= 10; i++ {
			unit /= 10
			at += int64(rest[i]-'0') * unit
		}
	}
	return event.Known(event.Nanos(at), time.Microsecond)
}

// jsonPairs turns the members of an object into the keys of a structured line,
// in the spelling of klog's text: objects are printed as namespace/name.
func (s *session) jsonPairs(object []byte) []pair {
	ps := s.pairs[:0]
	arena := s.arena[:0]
	f := newFlatJSON(object)
	for len(ps) < maxPairs {
		key, raw, ok := f.next()
		if !ok {
			break
		}
		p := pair{key: key, kind: plain, val: raw}
		at := len(arena)
		switch raw[0] {
		case '"':
			arena = appendJSONString(arena, raw[1:len(raw)-1])
			p.val = arena[at:len(arena):len(arena)]
		case '{':
			name, named := between(raw, `"name":"`, `"`)
			ns, _ := between(raw, `"namespace":"`, `"`)
			if named {
				arena = append(append(append(arena, ns...), '/'), name...)
				p.val = bytes.TrimPrefix(arena[at:len(arena):len(arena)], []byte("/"))
			}
		}
		ps = append(ps, p)
	}
	s.pairs, s.arena = ps, arena
	return ps
}
