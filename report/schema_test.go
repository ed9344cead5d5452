package report

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/report/internal/sample"
)

func TestPublishedSchemaIsUpToDate(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, encodeJSON(&b, Schema()))
	path := filepath.Join("..", "docs", "schema", "report.schema.json")
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run with -update to create it")
	assert.Equal(t, string(want), b.String())
}

// compiled is the published schema, ready to check reports.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, encodeJSON(&b, Schema()))
	doc, err := jsonschema.UnmarshalJSON(&b)
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("report.schema.json", doc))
	s, err := c.Compile("report.schema.json")
	require.NoError(t, err)
	return s
}

func TestReportsFollowTheSchema(t *testing.T) {
	schema := compiled(t)
	for name, res := range map[string]*model.Result{"incidents": sample.Result(), "healthy": sample.Healthy(), "empty": sample.Empty()} {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(render(t, res, Options{}, "json").File("report.json")))
		require.NoError(t, err)
		assert.NoError(t, schema.Validate(doc), name)
	}
	broken, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(`{"schema_version":"1.0","incidents":null}`)))
	require.NoError(t, err)
	assert.Error(t, schema.Validate(broken), "the schema forbids something")
}

// TestJSONReadsBack checks that nothing of the result but its tables is lost.
func TestJSONReadsBack(t *testing.T) {
	first := render(t, sample.Result(), Options{}, "json").File("report.json")
	res, err := ReadJSON(bytes.NewReader(first))
	require.NoError(t, err)
	assert.Equal(t, string(first), string(render(t, res, Options{}, "json").File("report.json")))
}
