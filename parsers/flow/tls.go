package flow

import (
	"encoding/binary"
	"strconv"
)

// TLS record types.
const (
	recordCipherSpec = 20
	recordAlert      = 21
	recordHandshake  = 22
)

// isTLS recognises a handshake or alert record of SSL 3 to TLS 1.3.
func isTLS(b []byte) bool {
	return len(b) >= 5 && (b[0] == recordHandshake || b[0] == recordAlert) && b[1] == 3 && b[2] <= 4
}

// alertNames are the descriptions of RFC 8446 and of those before it.
var alertNames = map[uint8]string{
	0: "close_notify", 10: "unexpected_message", 20: "bad_record_mac", 21: "decryption_failed", 22: "record_overflow",
	30: "decompression_failure", 40: "handshake_failure", 41: "no_certificate", 42: "bad_certificate",
	43: "unsupported_certificate", 44: "certificate_revoked", 45: "certificate_expired", 46: "certificate_unknown",
	47: "illegal_parameter", 48: "unknown_ca", 49: "access_denied", 50: "decode_error", 51: "decrypt_error",
	60: "export_restriction", 70: "protocol_version", 71: "insufficient_security", 80: "internal_error",
	86: "inappropriate_fallback", 90: "user_canceled", 100: "no_renegotiation", 109: "missing_extension",
	110: "unsupported_extension", 112: "unrecognized_name", 113: "bad_certificate_status_response",
	115: "unknown_psk_identity", 116: "certificate_required", 120: "no_application_protocol",
}

// readRecords walks TLS records until the direction is encrypted, and keeps the
// first alert in the clear.
func (a *app) readRecords(s *stream, side int, b []byte) {
	for {
		if s.skip >= len(b) {
			s.skip -= len(b)
			return
		}
		b = b[s.skip:]
		s.skip = 0
		if len(b) < 5 {
			s.as = readNothing
			return
		}
		n := int(binary.BigEndian.Uint16(b[3:]))
		switch {
		case b[0] == recordAlert && n == 2 && len(b) >= 7:
			if a.alert == "" {
				a.alert, a.alertFrom = alertText(b[5], b[6]), [...]string{"client", "server"}[side]
			}
		case b[0] != recordHandshake:
			s.as = readNothing
			return
		}
		s.skip = 5 + n
	}
}

func alertText(level, description uint8) string {
	name, ok := alertNames[description]
	if !ok {
		name = "alert_" + strconv.Itoa(int(description))
	}
	if level == 1 {
		return "warning " + name
	}
	return "fatal " + name
}
