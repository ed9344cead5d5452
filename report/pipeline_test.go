package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/report/internal/sample"
)

// TestSARIFPointsAtRecords checks the parts of SARIF 2.1.0 that consumers
// demand: rules by index, regions, relative URIs.
func TestSARIFPointsAtRecords(t *testing.T) {
	var log sarifLog
	require.NoError(t, json.Unmarshal(render(t, sample.Result(), Options{}, "sarif").File("report.sarif"), &log))
	assert.Equal(t, "2.1.0", log.Version)
	run := log.Runs[0]
	require.Len(t, run.Results, 3)
	for _, r := range run.Results {
		assert.Equal(t, r.RuleID, run.Tool.Driver.Rules[r.RuleIndex].ID)
		assert.Contains(t, []string{"error", "warning", "note"}, r.Level)
		assert.NotEmpty(t, r.Message.Text)
		for _, l := range append(r.Locations, r.Related...) {
			assert.NotContains(t, l.Physical.Artifact.URI, " ")
			assert.NotContains(t, l.Physical.Artifact.URI, "|")
		}
	}
	assert.Equal(t, int64(13500), *run.Results[0].Locations[0].Physical.Region.ByteOffset)
	assert.Equal(t, int64(40401), run.Results[0].Related[1].Physical.Region.StartLine)
	assert.Len(t, run.Invocations[0].Notifications, 2)
}

func TestJUnitCountsItsTests(t *testing.T) {
	var s junitSuites
	require.NoError(t, xml.Unmarshal(render(t, sample.Result(), Options{}, "junit").File("junit.xml"), &s))
	tests, failures := 0, 0
	for _, suite := range s.Suites {
		assert.Len(t, suite.Cases, suite.Tests)
		tests, failures = tests+suite.Tests, failures+suite.Failures
	}
	assert.Equal(t, s.Tests, tests)
	assert.Equal(t, s.Failures, failures)
	assert.Equal(t, 3, failures)

	require.NoError(t, xml.Unmarshal(render(t, sample.Healthy(), Options{}, "junit").File("junit.xml"), &s))
	assert.Equal(t, 2, s.Tests)
	assert.Zero(t, s.Failures)
}

func TestTimesketchRowsAreComplete(t *testing.T) {
	in := bufio.NewScanner(bytes.NewReader(render(t, sample.Result(), Options{}, "timesketch").File("timesketch.jsonl")))
	n := 0
	for in.Scan() {
		var row map[string]any
		require.NoError(t, json.Unmarshal(in.Bytes(), &row))
		for _, key := range []string{"message", "datetime", "timestamp_desc"} {
			assert.NotEmpty(t, row[key], key)
		}
		_, err := time.Parse(time.RFC3339Nano, row["datetime"].(string))
		assert.NoError(t, err)
		for _, r := range in.Text() {
			require.True(t, unicode.IsPrint(r), "%q", r)
		}
		n++
	}
	assert.Equal(t, 3+3+2+36+1, n, "incident times, attempts and the one event that has a time and is no attempt")
}
