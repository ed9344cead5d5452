package logs

import "bytes"

// httpStarts are the beginnings of an HTTP/1 request or response.
var httpStarts = [][]byte{
	[]byte("GET "), []byte("HEAD "), []byte("POST "), []byte("PUT "), []byte("DELETE "), []byte("OPTIONS "), []byte("PATCH "),
	[]byte("HTTP/1.0 "), []byte("HTTP/1.1 "),
}

func startsHTTP(b []byte) bool {
	for _, s := range httpStarts {
		if bytes.HasPrefix(b, s) {
			return true
		}
	}
	return false
}

// printedPayload puts together the HTTP head that is printed with a segment:
// its lines below the packet (-v, -A), or its first line beside it. Payload of
// other protocols cannot be told from how it is printed.
func printedPayload(suffix, more []byte, length int) []byte {
	head := findHTTP(more)
	if head == nil {
		if line, ok := after(suffix, "HTTP: "); ok && startsHTTP(line) {
			head = append(bytes.Clone(line), '\r', '\n')
		}
	}
	return head[:min(len(head), length)]
}

// findHTTP finds an HTTP head in the lines below a packet. With -v each line is
// indented by a tab; with -A the head follows the unprintable bytes of the
// headers, somewhere in a line.
func findHTTP(more []byte) []byte {
	var head []byte
	for len(more) > 0 {
		line, rest, _ := cutByte(more, '\n')
		more = rest
		tab := len(line) > 0 && line[0] == '\t'
		switch {
		case head != nil:
			head = append(append(head, bytes.TrimPrefix(line, []byte("\t"))...), '\r', '\n')
		case tab && startsHTTP(line[1:]):
			head = append(bytes.Clone(line[1:]), '\r', '\n')
		case !tab:
			for _, s := range httpStarts {
				if i := bytes.Index(line, s); i >= 0 && (i == 0 || line[i-1] == '.') {
					head = append(bytes.Clone(line[i:]), '\r', '\n')
					break
				}
			}
		}
	}
	return head
}
