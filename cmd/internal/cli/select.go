package cli

import (
	"path"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// selectFlags keep only matching subjects of an analysis.
type selectFlags struct {
	Namespace []string `short:"n" group:"select" placeholder:"NAME" help:"Keep pods of this namespace. Repeatable; globs."`
	Pod       []string `group:"select" placeholder:"NS/NAME" help:"Keep this pod. Repeatable; globs."`
	Node      []string `group:"select" placeholder:"NAME" help:"Keep pods and incidents of this node. Repeatable; globs."`
	Owner     []string `group:"select" placeholder:"KIND/NAME" help:"Keep pods of this owner. Repeatable; globs."`
	Since     string   `group:"select" placeholder:"TIME" help:"Look at attempts from this time: RFC 3339, or a duration back from the end of the data (2h)."`
	Until     string   `group:"select" placeholder:"TIME" help:"Look at attempts up to this time, as --since."`
}

// apply checks the flags and fills the options.
func (f *selectFlags) apply(o *analyze.Options) error {
	for _, list := range []struct {
		flag   string
		globs  []string
		slash  bool
		wanted string
	}{
		{"--namespace", f.Namespace, false, "a name"}, {"--pod", f.Pod, true, "NAMESPACE/NAME"},
		{"--node", f.Node, false, "a name"}, {"--owner", f.Owner, true, "KIND/NAME, for example Deployment/api"},
	} {
		for _, glob := range list.globs {
			if _, err := path.Match(glob, ""); err != nil {
				return usagef("%s: %q is no glob: %w", list.flag, glob, err)
			}
			if strings.Contains(glob, "/") != list.slash {
				return usagef("%s: %q: expected %s", list.flag, glob, list.wanted)
			}
		}
	}
	o.Namespaces, o.Pods, o.Nodes, o.Owners = f.Namespace, f.Pod, f.Node, f.Owner

	var err error
	if o.Since, o.SinceAgo, err = parseMoment("--since", f.Since); err != nil {
		return err
	}
	if o.Until, o.UntilAgo, err = parseMoment("--until", f.Until); err != nil {
		return err
	}
	if o.Since != 0 && o.Until != 0 && o.Since >= o.Until || o.SinceAgo != 0 && o.UntilAgo != 0 && o.SinceAgo <= o.UntilAgo {
		return usagef("--since %s is not before --until %s: nothing would be left", f.Since, f.Until)
	}
	return nil
}

// parseMoment reads an instant, or a duration that counts back from the end of
// the data. Either may be zero, for "not given".
func parseMoment(flag, text string) (event.Nanos, time.Duration, error) {
	if text == "" {
		return 0, 0, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return event.FromTime(t), 0, nil
	}
	ago := strings.TrimPrefix(text, "-")
	if days, ok := strings.CutSuffix(ago, "d"); ok {
		if n, err := time.ParseDuration(days + "h"); err == nil && n > 0 {
			return 0, n * 24, nil
		}
	}
	if d, err := time.ParseDuration(ago); err == nil && d > 0 {
		return 0, d, nil
	}
	return 0, 0, usagef("%s: %q is no time", flag, text).
		try("%s 2026-03-01T10:15:00Z, or %s 90m for 90 minutes before the end of the data", flag, flag)
}
