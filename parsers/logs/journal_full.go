package logs

var fullForm = prefixForm{name: "journal-short-full", split: splitFull}

var _ = registerPrefixed(fullForm,
	"journalctl -o short-full and with-unit: weekday, date, time and zone name, host, identifier or unit[pid]; systemd's manual page journalctl(1)",
	detectShare(fullForm, 93))

// splitFull takes "Tue 2021-08-03 09:13:20 UTC host ident[pid]: " off a line.
// The weekday is in the language of the machine.
func splitFull(line []byte, r *record) bool {
	if len(line) < 26 {
		return false
	}
	st, rest, ok := fullStamp(line)
	if !ok {
		return false
	}
	r.stamp = st
	return splitTag(rest, r) && r.ident != nil
}
