package report

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/fixtures/diagram"
	"github.com/probe-forensics/probe-forensics/report/internal/sample"
)

// large is a case with so much in it that a summary can't hold everything.
func large() *model.Result {
	res := sample.Result()
	one := res.Incidents[0]
	res.Incidents = nil
	for i := range 40 {
		in := one
		in.ID = fmt.Sprintf("inc-%04d", i)
		in.FailedAttempts = 4000 - i
		in.Evidence = nil
		for range 12 {
			in.Evidence = append(in.Evidence, one.Evidence...)
		}
		in.Subjects = nil
		for range 100 {
			in.Subjects = append(in.Subjects, one.Subjects...)
		}
		res.Incidents = append(res.Incidents, in)
	}
	return res
}

func TestSummaryStaysWithinItsLimit(t *testing.T) {
	for _, flavor := range []Flavor{FlavorGitHub, FlavorGitLab, FlavorPlain} {
		text := string(render(t, large(), Options{Flavor: flavor}, "md").File("summary.md"))
		assert.LessOrEqual(t, len(text), SummaryLimit)
		assert.Greater(t, len(text), SummaryLimit/2, "room is used")
		assert.True(t, strings.Contains(text, "Left out to stay within 60,000 characters"))
		assert.True(t, strings.Contains(text, "## All incidents"))
		assert.True(t, strings.Contains(text, "reproduction of incidents "), "the lowest-ranked sections go first")
	}
	small := string(render(t, sample.Result(), Options{}, "md").File("summary.md"))
	assert.NotContains(t, small, "Left out")
}

func TestPlainFlavorHasNoHTMLAndNoDiagrams(t *testing.T) {
	text := string(render(t, sample.Result(), Options{Flavor: FlavorPlain}, "md").File("report.md"))
	assert.NotContains(t, text, "<details>")
	assert.NotContains(t, text, "```mermaid")
	assert.Contains(t, text, "Quoted records:")
}

// outside removes what Markdown shows as it is: fenced blocks, code spans and
// escaped characters.
func outside(text string) string {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimRight(line, "\n")
		run := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
		switch {
		case fence == "" && len(run) >= 3:
			fence = run
		case fence != "" && run == fence && run == trimmed:
			fence = ""
		case fence == "":
			b.WriteString(withoutCode(line))
		}
	}
	return b.String()
}

func withoutCode(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i += 2
		case s[i] == '`':
			n := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
			run := strings.Repeat("`", n)
			rest := s[i+n:]
			end := -1
			for j := 0; j < len(rest); {
				if rest[j] != '`' {
					j++
					continue
				}
				k := len(rest[j:]) - len(strings.TrimLeft(rest[j:], "`"))
				if k == n {
					end = j
					break
				}
				j += k
			}
			if end < 0 {
				b.WriteString(run)
				i += n
				continue
			}
			i += n + end + n
		default:
			b.WriteByte(s[i])
			i++
		}
	}
	return b.String()
}

func TestHostileTextStaysText(t *testing.T) {
	for _, name := range []string{"report.md", "summary.md"} {
		text := string(render(t, sample.Result(), Options{}, "md").File(name))
		for _, r := range text {
			require.True(t, r == '\n' || unicode.IsPrint(r), "%q in %s", r, name)
		}
		open := outside(text)
		for _, bad := range []string{"<script", "<img", "](", "@admin", "@ops", "@here", "#123", "#42", "://", "%%{"} {
			assert.NotContains(t, strings.ReplaceAll(open, "%%{init}%%", ""), bad, name)
		}
		open = strings.NewReplacer("<details>", "", "</details>", "", "<summary>", "", "</summary>", "").Replace(open)
		assert.NotContains(t, open, "<", name)
	}
}

// TestTablesAreWhole checks that every row of a table has as many cells as its
// head.
func TestTablesAreWhole(t *testing.T) {
	cells := func(line string) int {
		return strings.Count(regexp.MustCompile(`\\.`).ReplaceAllString(line, ""), "|")
	}
	text := string(render(t, sample.Result(), Options{}, "md").File("report.md"))
	want := 0
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		switch {
		case fenced || !strings.HasPrefix(line, "|"):
			want = 0
		case want == 0:
			want = cells(line)
		default:
			assert.Equal(t, want, cells(line), line)
		}
	}
}

func TestDiagramsAreWellFormed(t *testing.T) {
	for _, name := range []string{"report.md", "summary.md"} {
		blocks := diagram.Blocks(string(render(t, sample.Result(), Options{}, "md").File(name)))
		assert.Len(t, blocks, 6, name)
		for _, b := range blocks {
			assert.NoError(t, diagram.Check(b), "%s\n%s", name, b)
		}
	}
}

func TestNoIncidentIsARealAnswer(t *testing.T) {
	healthy := string(render(t, sample.Healthy(), Options{}, "md").File("report.md"))
	assert.Contains(t, healthy, "No failing probe was found on 1 node between 2026-12-02 04:46:40.000 and 2026-12-02 05:50:40.000 UTC: 24 attempts of 2 probes were seen and none failed.")
	assert.Contains(t, healthy, "What could not be checked:")
	empty := string(render(t, sample.Empty(), Options{}, "md").File("report.md"))
	assert.Contains(t, empty, "These inputs do not tell whether probes failed")
}
