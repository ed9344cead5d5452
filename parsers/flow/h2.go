package flow

import (
	"bytes"
	"encoding/binary"
	"strconv"
)

// HTTP/2 frame types.
const (
	frameData     = 0
	frameHeaders  = 1
	frameSettings = 4
	frameHeader   = 9
)

var preface = []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

func isPreface(b []byte) bool { return bytes.HasPrefix(b, preface) }

// isSettings recognises the frame a server must send first.
func isSettings(b []byte) bool {
	if len(b) < frameHeader || b[3] != frameSettings || b[4]&^1 != 0 || binary.BigEndian.Uint32(b[5:]) != 0 {
		return false
	}
	n := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
	return n%6 == 0 && n <= 600
}

// Header texts that are searched for in HEADERS frames, plain and as the Huffman
// code of RFC 7541 makes them (the code has no state, so equal texts have equal
// bytes).
var (
	grpcPlain    = []byte("application/grpc")
	grpcCoded    = []byte{0x1d, 0x75, 0xd0, 0x62, 0x0d, 0x26, 0x3d, 0x4c, 0x4d, 0x65, 0x64}
	healthPlain  = []byte("/grpc.health.v1.Health/Check")
	healthCoded  = []byte{0x62, 0x6b, 0x2b, 0x22, 0xf3, 0x94, 0x74, 0x26, 0x75, 0xfb, 0x85, 0x7c, 0x65, 0x1d, 0x09, 0x9d, 0x8b, 0xd3, 0x94, 0x9d, 0x7f}
	gstatusPlain = []byte("grpc-status")
	gstatusCoded = []byte{0x9a, 0xca, 0xc8, 0xb2, 0x12, 0x34, 0xda, 0x8f}
)

// readFrames walks HTTP/2 frames for the facts of a gRPC health check.
func (a *app) readFrames(t *Tracker, s *stream, side int, b []byte) {
	if s.segments == 0 && side == clientSide {
		b = b[len(preface):]
	}
	for {
		if s.skip >= len(b) {
			s.skip -= len(b)
			return
		}
		b = b[s.skip:]
		s.skip = 0
		if len(b) < frameHeader {
			s.as = readNothing // a frame header across segments: nobody writes so
			return
		}
		n := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
		body := b[frameHeader:min(len(b), frameHeader+n)]
		switch b[3] {
		case frameHeaders:
			a.headers(t, side, body)
		case frameData:
			if side == serverSide && len(body) == n {
				a.health(body)
			}
		}
		s.skip = frameHeader + n
	}
}

// headers looks for what marks a gRPC call, its health check and its status.
func (a *app) headers(t *Tracker, side int, b []byte) {
	if bytes.Contains(b, grpcCoded) || bytes.Contains(b, grpcPlain) {
		a.name = "grpc"
	}
	if side == clientSide {
		if bytes.Contains(b, healthCoded) || bytes.Contains(b, healthPlain) {
			a.name, a.path = "grpc", string(healthPlain)
		}
		return
	}
	i := bytes.Index(b, gstatusCoded)
	if i >= 0 {
		i += len(gstatusCoded)
	} else if i = bytes.Index(b, gstatusPlain); i >= 0 {
		i += len(gstatusPlain)
	} else {
		return
	}
	if code, ok := number(b[i:]); ok && code != 0 && a.grpc == "" {
		if code < len(grpcCodes) {
			a.grpc = grpcCodes[code]
		} else {
			a.grpc = "CODE_" + strconv.Itoa(code)
		}
	}
}

// grpcCodes are the status codes of gRPC.
var grpcCodes = [...]string{
	"OK", "CANCELLED", "UNKNOWN_ERROR", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
	"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
	"INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
}

// number reads an HPACK string of decimal digits.
func number(b []byte) (int, bool) {
	if len(b) < 2 || int(b[0]&0x7f) > len(b)-1 || b[0]&0x7f > 4 {
		return 0, false
	}
	s := b[1 : 1+int(b[0]&0x7f)]
	if b[0]&0x80 != 0 {
		s = digits(s)
	}
	n, err := strconv.Atoi(string(s))
	return n, err == nil && n >= 0
}

// digits undoes the Huffman code for digits: 0 to 2 have five bits, 3 to 9 six,
// the rest of the last byte is ones.
func digits(b []byte) []byte {
	var out []byte
	var acc uint64
	have := 0
	for _, c := range b {
		acc, have = acc<<8|uint64(c), have+8
	}
	for have >= 5 {
		five := acc >> (have - 5) & 31
		if five <= 2 {
			out, have = append(out, byte('0'+five)), have-5
			continue
		}
		if have < 6 {
			break
		}
		six := acc >> (have - 6) & 63
		if six < 0x19 || six > 0x1f {
			break
		}
		out, have = append(out, byte('3'+six-0x19)), have-6
	}
	return out
}

// healthNames are the values of grpc.health.v1.HealthCheckResponse.status.
var healthNames = [...]string{"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"}

// health reads the message of a health check's response: five bytes of prefix
// and field 1 as a varint, which is left out for 0.
func (a *app) health(b []byte) {
	if a.name != "grpc" || a.path != string(healthPlain) || len(b) < 5 || b[0] != 0 {
		return
	}
	switch n := binary.BigEndian.Uint32(b[1:]); {
	case n == 0:
		a.grpc = healthNames[0]
	case n == 2 && len(b) >= 7 && b[5] == 8 && int(b[6]) < len(healthNames):
		a.grpc = healthNames[b[6]]
	}
}
