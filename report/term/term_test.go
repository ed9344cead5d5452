package term

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/lipgloss"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/report/internal/sample"
)

var update = flag.Bool("update", false, "rewrite golden files")

func write(t require.TestingT, res *model.Result, o Options) string {
	var b bytes.Buffer
	require.NoError(t, Write(context.Background(), &b, res, o))
	return b.String()
}

var files = []File{{"manifest.json", 2048}, {"report.md", 70_000}, {"tables/events/cluster=unknown/date=2026-12-02/6030.parquet", 4096}}

func TestGolden(t *testing.T) {
	for name, c := range map[string]struct {
		res *model.Result
		o   Options
	}{
		"pipe":      {sample.Result(), Options{Dir: "out", Written: files}},
		"terminal":  {sample.Result(), Options{TTY: true, Color: true, Unicode: true, Width: 100, Written: files}},
		"narrow":    {sample.Result(), Options{TTY: true, Unicode: true, Width: 40}},
		"healthy":   {sample.Healthy(), Options{TTY: true, Unicode: true}},
		"nothing":   {sample.Empty(), Options{}},
		"forced":    {sample.Healthy(), Options{ForceColor: true}},
		"ascii-tty": {sample.Result(), Options{TTY: true, Width: 60}},
	} {
		t.Run(name, func(t *testing.T) {
			got := write(t, c.res, c.o)
			path := filepath.Join("testdata", name+".txt")
			if *update {
				require.NoError(t, os.MkdirAll("testdata", 0o755))
				require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err, "run with -update to create it")
			assert.Equal(t, string(want), got)
		})
	}
}

// TestNothingButTextForPipes checks that hostile text sends nothing to a
// terminal, and that a pipe gets plain ASCII.
func TestNothingButTextForPipes(t *testing.T) {
	res := sample.Result()
	res.Incidents[0].Summary = sample.Hostile
	res.Incidents[0].Evidence[0].Claim = sample.Hostile
	for _, o := range []Options{{}, {TTY: true}, {TTY: true, Color: false, Unicode: true}} {
		for _, r := range write(t, res, o) {
			require.True(t, r == '\n' || unicode.IsPrint(r), "%q", r)
			require.True(t, o.Unicode || r < 0x80, "%q", r)
		}
	}
	colored := write(t, res, Options{TTY: true, Color: true, Unicode: true})
	for part := range strings.SplitSeq(colored, "\x1b") {
		assert.False(t, strings.HasPrefix(part, "]"), "an operating system command got through")
	}
}

func TestLinesFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(24, 200).Draw(t, "width")
		res := sample.Result()
		res.Incidents[0].Summary = rapid.String().Draw(t, "summary")
		res.Incidents[0].Evidence[0].Claim = rapid.String().Draw(t, "claim")
		text := write(t, res, Options{TTY: true, Unicode: true, Width: width, Written: files})
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			// The badge is the cause's id and never hostile.
			if strings.HasPrefix(line, "[") {
				continue
			}
			require.LessOrEqual(t, lipgloss.Width(line), width, line)
		}
	})
}

func TestErrorsOfTheWriterAreReturned(t *testing.T) {
	err := Write(t.Context(), failing{}, sample.Result(), Options{})
	assert.ErrorContains(t, err, "pipe closed")
}

type failing struct{}

func (failing) Write([]byte) (int, error) {
	return 0, fmt.Errorf("write: %w", errors.New("pipe closed"))
}
