package outputs

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"net/url"
	"os"
	"testing"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/fixtures/diagram"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

func TestFormatsOfEveryRecording(t *testing.T) {
	s := schemas{report: compile(t, "../../../docs/schema/report.schema.json"), sarif: compile(t, "testdata/sarif.schema.json")}
	t.Run("demo", func(t *testing.T) { s.check(t, reportOf(t, demo)) })
	each(t, func(t *testing.T, _ string, m made) { s.check(t, m) })
}

// compile reads a schema from its file: what is published, not what the program
// would write now.
func compile(t *testing.T, path string) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	require.NoError(t, c.AddResource("schema.json", doc))
	s, err := c.Compile("schema.json")
	require.NoError(t, err)
	return s
}

type schemas struct{ report, sarif *jsonschema.Schema }

// check checks every file of a report against the rules of its format.
func (s schemas) check(t *testing.T, m made) {
	valid(t, s.report, m.read(t, "report.json"))
	valid(t, s.sarif, m.read(t, "report.sarif"))
	var res model.Result
	require.NoError(t, json.Unmarshal(m.read(t, "report.json"), &res))
	checkSARIF(t, m.read(t, "report.sarif"), &res)
	checkJUnit(t, m.read(t, "junit.xml"), &res)
	for _, name := range []string{"report.md", "summary.md"} {
		text := m.read(t, name)
		for _, block := range diagram.Blocks(string(text)) {
			assert.NoError(t, diagram.Check(block), "%s\n%s", name, block)
		}
		for _, r := range string(text) {
			require.True(t, r == '\n' || unicode.IsPrint(r), "%q in %s", r, name)
		}
	}
	assert.LessOrEqual(t, len(m.read(t, "summary.md")), 60_000)
	for _, r := range m.stdout {
		require.True(t, r == '\n' || unicode.IsPrint(r), "%q at the terminal", r)
	}
}

func valid(t *testing.T, schema *jsonschema.Schema, text []byte) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	assert.NoError(t, schema.Validate(doc))
}

// sarifLog is what the cross-references of SARIF need.
type sarifLog struct {
	Runs []struct {
		Tool struct {
			Driver struct{ Rules []struct{ ID string } }
		}
		Results []struct {
			RuleID    string
			RuleIndex int
			Locations []sarifLocation
			Related   []sarifLocation `json:"relatedLocations"`
		}
	}
}

type sarifLocation struct {
	ID       int
	Physical struct {
		ArtifactLocation struct{ URI string }
		Region           *struct {
			StartLine  int64
			ByteOffset int64
		}
	} `json:"physicalLocation"`
}

// checkSARIF checks what no schema can: rules by their index, and that the
// locations are the references of the evidence, no more and no less.
func checkSARIF(t *testing.T, text []byte, res *model.Result) {
	t.Helper()
	var log sarifLog
	require.NoError(t, json.Unmarshal(text, &log))
	require.Len(t, log.Runs, 1)
	run := log.Runs[0]
	require.Len(t, run.Results, len(res.Incidents))

	paths := map[event.StreamID]string{}
	for _, in := range res.Inputs {
		for _, s := range in.Streams {
			paths[s.ID] = s.Path
		}
	}
	type place struct {
		path         string
		line, offset int64
	}
	want, got := map[place]int{}, map[place]int{}
	for _, in := range res.Incidents {
		for _, e := range in.Evidence {
			p := place{paths[e.Ref.Stream], e.Ref.Line, 0}
			if p.line == 0 {
				p.offset = e.Ref.Offset
			}
			if p.path != "" {
				want[p]++
			}
		}
	}
	for _, r := range run.Results {
		require.Less(t, r.RuleIndex, len(run.Tool.Driver.Rules))
		assert.Equal(t, r.RuleID, run.Tool.Driver.Rules[r.RuleIndex].ID)
		ids := map[int]bool{}
		for i, l := range append(r.Locations, r.Related...) {
			if i >= len(r.Locations) {
				assert.False(t, ids[l.ID], "related location %d twice", l.ID)
				ids[l.ID] = true
			}
			if l.Physical.ArtifactLocation.URI == "" {
				continue // the pods of an incident without a record
			}
			path, err := url.PathUnescape(l.Physical.ArtifactLocation.URI)
			require.NoError(t, err)
			p := place{path: path}
			if l.Physical.Region != nil {
				p.line, p.offset = l.Physical.Region.StartLine, l.Physical.Region.ByteOffset
			}
			got[p]++
		}
	}
	assert.Equal(t, want, got)
}

// checkJUnit checks the counts that pipelines read: one failure a subject.
func checkJUnit(t *testing.T, text []byte, res *model.Result) {
	t.Helper()
	type suite struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Cases    []struct {
			Class   string `xml:"classname,attr"`
			Name    string `xml:"name,attr"`
			Failure *struct {
				Type    string `xml:"type,attr"`
				Message string `xml:"message,attr"`
				Text    string `xml:",chardata"`
			} `xml:"failure"`
		} `xml:"testcase"`
	}
	var all struct {
		XMLName  xml.Name `xml:"testsuites"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Suites   []suite  `xml:"testsuite"`
	}
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Strict = true
	require.NoError(t, d.Decode(&all))
	tests, failures := 0, 0
	for _, s := range all.Suites {
		assert.NotEmpty(t, s.Name)
		failed := 0
		for _, c := range s.Cases {
			assert.NotEmpty(t, c.Name)
			assert.Equal(t, s.Name, c.Class)
			if c.Failure != nil {
				failed++
				assert.NotEmpty(t, c.Failure.Type)
				assert.NotEmpty(t, c.Failure.Message)
				assert.NotEmpty(t, c.Failure.Text)
			}
		}
		assert.Equal(t, s.Tests, len(s.Cases), s.Name)
		assert.Equal(t, s.Failures, failed, s.Name)
		tests, failures = tests+len(s.Cases), failures+failed
	}
	assert.Equal(t, all.Tests, tests)
	assert.Equal(t, all.Failures, failures)
	want := 0
	for _, in := range res.Incidents {
		want += max(len(in.Subjects), 1)
	}
	assert.Equal(t, want, failures)
}
