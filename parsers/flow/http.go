package flow

import (
	"bytes"
	"strconv"
)

// methods are the HTTP/1 request methods recognised, with the blank that
// follows.
var methods = [...]string{"GET ", "HEAD ", "POST ", "PUT ", "DELETE ", "OPTIONS ", "PATCH ", "CONNECT ", "TRACE "}

func isRequest(b []byte) bool {
	for _, m := range methods {
		if len(b) >= len(m) && string(b[:len(m)]) == m {
			return true
		}
	}
	return false
}

func isStatus(b []byte) bool { return len(b) >= 12 && string(b[:7]) == "HTTP/1." && b[8] == ' ' }

var endOfHead = []byte("\r\n\r\n")

// readHead collects the head of a request or response.
func (a *app) readHead(t *Tracker, s *stream, side int, b []byte) {
	whole := b
	if len(s.head) > 0 {
		s.head = append(s.head, b[:min(len(b), maxHead-len(s.head))]...)
		whole = s.head
	}
	if bytes.Contains(whole, endOfHead) || len(whole) >= maxHead {
		a.parseHead(t, side, whole)
		s.as, s.head = readNothing, nil
		return
	}
	if len(s.head) == 0 {
		s.head = append(make([]byte, 0, 2*len(b)), b...)
	}
}

// parseHead reads the first line and the headers that rules ask for.
func (a *app) parseHead(t *Tracker, side int, b []byte) {
	line, rest, _ := bytes.Cut(b, []byte("\r\n"))
	if side == clientSide {
		method, more, _ := bytes.Cut(line, []byte(" "))
		path, _, _ := bytes.Cut(more, []byte(" "))
		a.method = t.names.get(method[:min(len(method), 16)])
		a.path = t.names.get(path[:min(len(path), maxURL)])
	} else if len(line) >= 12 {
		if n, err := strconv.Atoi(string(line[9:12])); err == nil && n >= 100 {
			a.status = n
		}
	}
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		if len(line) == 0 {
			return
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			continue
		}
		value = bytes.TrimSpace(value)
		value = value[:min(len(value), maxHeaderLen)]
		switch {
		case side == clientSide && bytes.EqualFold(name, []byte("user-agent")):
			a.ua = t.names.get(value)
		case side == serverSide && bytes.EqualFold(name, []byte("server")):
			a.server = t.names.get(value)
		case side == serverSide && bytes.EqualFold(name, []byte("location")):
			a.location = t.names.get(value)
		}
	}
}
