package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

func TestSelectFlags(t *testing.T) {
	var o analyze.Options
	f := selectFlags{Namespace: []string{"shop*"}, Pod: []string{"shop/api-*"}, Node: []string{"node-?"}, Owner: []string{"Deployment/api"},
		Since: "2026-03-01T10:00:00+02:00", Until: "-90m"}
	require.NoError(t, f.apply(&o))
	assert.Equal(t, []string{"shop*"}, o.Namespaces)
	assert.Equal(t, event.FromTime(time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)), o.Since)
	assert.Equal(t, 90*time.Minute, o.UntilAgo)

	for name, f := range map[string]selectFlags{
		`--pod: "api-0": expected NAMESPACE/NAME`:      {Pod: []string{"api-0"}},
		`--namespace: "a/b": expected a name`:          {Namespace: []string{"a/b"}},
		`--node: "[a" is no glob`:                      {Node: []string{"[a"}},
		`--since: "yesterday" is no time`:              {Since: "yesterday"},
		`--until: "0s" is no time`:                     {Until: "0s"},
		`--since 1h is not before --until 2h`:          {Since: "1h", Until: "2h"},
		`--owner: "api": expected KIND/NAME, for exam`: {Owner: []string{"api"}},
	} {
		err := f.apply(&analyze.Options{})
		require.Error(t, err, name)
		assert.Contains(t, err.Error(), name)
	}
}

func TestMoments(t *testing.T) {
	for text, want := range map[string]time.Duration{"2h": 2 * time.Hour, "-30s": 30 * time.Second, "1d": 24 * time.Hour, "1.5d": 36 * time.Hour} {
		at, ago, err := parseMoment("--since", text)
		require.NoError(t, err, text)
		assert.Zero(t, at)
		assert.Equal(t, want, ago, text)
	}
}

func TestSupplyFlags(t *testing.T) {
	var o analyze.Options
	f := supplyFlags{TZ: []string{"UTC", "node-a=+02:00", "node-b=Europe/Berlin"}, BaseYear: 2026, Date: "2026-03-01",
		Offset: []string{"node-a=-1.5s"}, CapturePoint: []string{"x.pcap=pod-netns:shop/api-0"}, Cluster: "c"}
	require.NoError(t, f.apply(&o))
	assert.Equal(t, -1500*time.Millisecond, o.Offsets["node-a"])
	assert.Equal(t, "pod-netns:shop/api-0", o.CapturePoints["x.pcap"])
	assert.Equal(t, "UTC", o.Zones[""].String())
	_, seconds := time.Unix(0, 0).In(o.Zones["node-a"]).Zone()
	assert.Equal(t, 7200, seconds)

	for name, f := range map[string]supplyFlags{
		`--tz Mars/Olympus: "Mars/Olympus" is no zone this tool knows`:   {TZ: []string{"Mars/Olympus"}},
		`--tz node-a=local: "local" is no zone: it would depend on this`: {TZ: []string{"node-a=local"}},
		`--base-year: 26 is no plausible year`:                           {BaseYear: 26},
		`--date: "1 March" is no day: expected YYYY-MM-DD`:               {Date: "1 March"},
		`--offset node-a: expected CLOCK=DURATION`:                       {Offset: []string{"node-a"}},
		`--capture-point x.pcap=bridge: expected FILE=PLACE`:             {CapturePoint: []string{"x.pcap=bridge"}},
		`--threshold abc=1: expected CAUSE.NAME=NUMBER`:                  {Threshold: []string{"abc=1"}},
		`--threshold a.b=many: expected CAUSE.NAME=NUMBER`:               {Threshold: []string{"a.b=many"}},
	} {
		err := f.apply(&analyze.Options{})
		require.Error(t, err, name)
		assert.Contains(t, err.Error(), name)
	}
}

func TestByteSize(t *testing.T) {
	for text, want := range map[string]byteSize{"512MiB": 512 << 20, "1G": 1 << 30, "1.5 GB": 1_500_000_000, "4096": 4096, "10B": 10, "2Ki": 2048} {
		var got byteSize
		require.NoError(t, got.UnmarshalText([]byte(text)), text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "MiB", "-1", "1e300G", "ten"} {
		var got byteSize
		assert.Error(t, got.UnmarshalText([]byte(text)), text)
	}
}

func TestVerdictCode(t *testing.T) {
	res := &model.Result{Incidents: []model.Incident{
		{Cause: model.Cause{ID: "app-hang", Family: "app", Confidence: 0.82}},
		{Cause: model.Cause{ID: model.Inconclusive, Family: "meta", Confidence: 0.95}},
	}}
	damaged := []event.Problem{{Path: "a.log", Code: "truncated", Message: "data ends early"}}
	for _, c := range []struct {
		flags exitFlags
		want  int
	}{
		{exitFlags{MinConfidence: 0.7}, ExitDone},
		{exitFlags{MinConfidence: 0.7, FailOn: []string{"app-hang"}}, ExitFailOn},
		{exitFlags{MinConfidence: 0.9, FailOn: []string{"app-hang"}}, ExitDone},
		{exitFlags{MinConfidence: 0.7, FailOn: []string{"app"}}, ExitFailOn},
		{exitFlags{MinConfidence: 0.9, FailOn: []string{"any"}}, ExitDone},
		{exitFlags{MinConfidence: 0.7, FailOn: []string{"policy-drop"}}, ExitDone},
		{exitFlags{MinConfidence: 0.7, Strict: true}, ExitDamaged},
		{exitFlags{MinConfidence: 0.7, Strict: true, FailOn: []string{"any"}}, ExitFailOn},
	} {
		err := c.flags.verdict(res, damaged)
		if c.want == ExitDone {
			assert.NoError(t, err)
			continue
		}
		var e *exitError
		require.ErrorAs(t, err, &e)
		assert.Equal(t, c.want, e.code)
	}
}

func TestShortExcerpt(t *testing.T) {
	assert.Equal(t, "a", shortExcerpt("a\r\n"))
	long := shortExcerpt(strings.Repeat("ä", 300))
	assert.LessOrEqual(t, len(long), maxExcerpt)
	assert.True(t, strings.HasSuffix(long, "ä ..."))
}

func TestDefaultDir(t *testing.T) {
	for in, want := range map[string]string{"-": "stdin.probe-forensics", "/": "root.probe-forensics", "a/b.tar.gz": "b.tar.gz.probe-forensics", "x/": "x.probe-forensics"} {
		got, err := defaultDir(in)
		require.NoError(t, err)
		assert.Equal(t, want, got, in)
	}
	here, err := defaultDir(".")
	require.NoError(t, err)
	assert.Equal(t, "cli.probe-forensics", here)
}
