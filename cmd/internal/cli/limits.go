package cli

import (
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/source"
)

// parseLimits reads --limit: guards against hostile archives.
func parseLimits(args []string) (source.Limits, error) {
	var l source.Limits
	for _, arg := range args {
		name, text, _ := strings.Cut(arg, "=")
		var size byteSize
		if err := size.UnmarshalText([]byte(text)); err != nil || size <= 0 {
			return l, usagef("--limit %s: expected NAME=NUMBER, the number above 0", arg)
		}
		n := int64(size)
		switch name {
		case "depth":
			l.Depth = int(min(n, 1000))
		case "members":
			l.Members = n
		case "member-bytes":
			l.MemberBytes = n
		case "total-bytes":
			l.TotalBytes = n
		case "ratio":
			l.Ratio = n
		default:
			return l, usagef("--limit %s: unknown limit %q", arg, name).try("depth, members, member-bytes, total-bytes or ratio")
		}
	}
	return l, nil
}
