// Package advice ties what the tool asks people to collect to what it reads:
// every command of the advice has an output in fixtures/advice, and the output
// is read, from a file of any name and pasted from a terminal.
package advice

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/rules"
	"github.com/probe-forensics/probe-forensics/fixtures"
	"github.com/probe-forensics/probe-forensics/parsers"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// inNamespace is how the advice enters a pod's network namespace: the output is
// that of the command behind it.
const inNamespace = "nsenter -n -t PID "

// captures are commands that write a capture instead of text.
var captures = regexp.MustCompile(`^tcpdump .*-w \S+\.pcap`)

// inProse finds commands that recommendations name in their sentences.
var inProse = regexp.MustCompile(`\b(?:kubectl logs --previous|ip (?:neigh|link|addr|route)(?: del)?\b|bridge fdb show|brctl showmacs|dmesg|ss -\w+|nft list|iptables-save|nstat|crictl \w+|journalctl -\w|tcpdump(?: -\w+)+)`)

// actions are commands of recommendations that change something: they print
// nothing to collect.
var actions = []string{"ip neigh del", "crictl rmp"}

// advised returns every command that asks for something to be collected.
func advised(t *testing.T) []string {
	t.Helper()
	set := map[string]struct{}{}
	for _, m := range rules.MissingObservations() {
		for part := range strings.SplitSeq(m.HowToCollect, ";") {
			part, _, _ = strings.Cut(part, " (") // a remark for the reader
			c := strings.TrimPrefix(strings.TrimSpace(part), inNamespace)
			if strings.HasPrefix(c, "kubelet --v=") { // a setting; what it yields stands behind "then"
				_, c, _ = strings.Cut(c, ", then ")
			}
			if c != "" {
				set[c] = struct{}{}
			}
		}
	}
	require.NotEmpty(t, set)
	return slices.Sorted(maps.Keys(set))
}

type sample struct{ command, format, output string }

func samples(t *testing.T) []sample {
	t.Helper()
	data, err := fs.ReadFile(fixtures.FS, "advice/outputs.txtar")
	require.NoError(t, err)
	a := txtar.Parse(data)
	formats := map[string]string{}
	for line := range strings.Lines(string(a.Comment)) {
		if command, format, ok := strings.Cut(strings.TrimSpace(line), " => "); ok {
			formats[command] = format
		}
	}
	out := make([]sample, 0, len(a.Files))
	for _, f := range a.Files {
		require.Contains(t, formats, f.Name, "no line says which format reads this output")
		out = append(out, sample{f.Name, formats[f.Name], string(f.Data)})
	}
	assert.Len(t, formats, len(out), "a format is named for an output that is not there")
	return out
}

func TestEveryAdvisedCommandHasAnOutputThatIsRead(t *testing.T) {
	known := map[string]struct{}{}
	for _, s := range samples(t) {
		known[s.command] = struct{}{}
	}
	for _, c := range advised(t) {
		if !captures.MatchString(c) {
			assert.Contains(t, known, c, "fixtures/advice/outputs.txtar holds no output of this command")
		}
	}
	for _, id := range rules.RecommendationIDs() {
		for _, c := range inProse.FindAllString(rules.Recommendation(id), -1) {
			if slices.Contains(actions, c) || strings.HasPrefix(c, "tcpdump") {
				continue
			}
			assert.True(t, slices.ContainsFunc(slices.Sorted(maps.Keys(known)), func(k string) bool { return strings.HasPrefix(k, c) }),
				"recommendation %s names %q, whose output no fixture holds", id, c)
		}
	}
}

func TestAdvisedOutputs(t *testing.T) {
	names := strings.NewReplacer("POD_IP", "10.244.1.12", "NAMESPACE", "shop", "POD", "web-0", "CONTAINER", "app", "SANDBOX", "5a5a5a5a5a5a5",
		"BRIDGE", "cbr0", "NODE", "node-a", "...", "kubepods-podx.slice")
	for _, s := range samples(t) {
		t.Run(strings.ReplaceAll(s.command, "/", "_"), func(t *testing.T) {
			pasted, format := read(t, "$ "+names.Replace(s.command)+"\n"+s.output)
			assert.Equal(t, "command-outputs", format, "pasted below its prompt")
			assert.NotEmpty(t, pasted, "read, but nothing was taken from it")

			file, format := read(t, s.output)
			assert.Equal(t, s.format, format, "in a file of its own")
			if strings.HasPrefix(s.command, "kubectl logs") {
				assert.Empty(t, file, "a bare log does not say whose it is")
				return
			}
			assert.Equal(t, pasted, file, "the terminal and the file say the same")
		})
	}
}

// A capture that our own options write is read whatever its file is called.
func TestAdvisedCaptures(t *testing.T) {
	data, err := fs.ReadFile(fixtures.FS, "captures/netns/c1.pcap")
	require.NoError(t, err)
	kinds, format := read(t, string(data))
	assert.Equal(t, "pcap", format)
	assert.Contains(t, kinds, event.KindFlow)
}

// read returns the kinds of the events of a text, in order, and the format that
// read it.
func read(t *testing.T, text string) ([]event.Kind, string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "collected.txt")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	c, err := parsers.Open(context.Background(), []string{name}, parsers.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	var kinds []event.Kind
	for e, err := range c.Events() {
		require.NoError(t, err)
		kinds = append(kinds, e.Payload.Kind())
	}
	require.Len(t, c.Infos(), 1)
	return kinds, c.Infos()[0].Format
}
