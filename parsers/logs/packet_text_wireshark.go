package logs

func isWiresharkHeader(b []byte) bool       { return false }
func startsRow(b []byte) bool               { return false }
func (d *packetDecoder) wireshark(b []byte) {}
