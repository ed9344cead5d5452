package parquetout

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite docs/tables.md")

// tablePages say what a row of each table is, in the order of Tables.
var tablePages = []struct {
	name, row string
	schema    *parquet.Schema
}{
	{"inputs", "a stream of an input; an input without streams has one row", parquet.SchemaOf(new(inputRow))},
	{"events", "a fact that a parser took from a record", parquet.SchemaOf(new(eventRow))},
	{"probe_attempts", "an attempt of a probe, or `attempt_count` of them where an Event stands for several", parquet.SchemaOf(new(attemptRow))},
	{"pod_ip_intervals", "a time in which a pod held an address, with the sources that say so", parquet.SchemaOf(new(intervalRow))},
	{"flows", "a connection, or an attempt at one, in one capture", parquet.SchemaOf(new(flowRow))},
	{"arp_observations", "an ARP or neighbour discovery exchange, or a MAC seen with an address", parquet.SchemaOf(new(arpRow))},
	{"clock_offsets", "the offset of one clock against its node's, with its uncertainty and rivals", parquet.SchemaOf(new(clockRow))},
	{"incidents", "failures that belong together, with the verdict", parquet.SchemaOf(new(incidentRow))},
	{"findings", "a cause that was considered for an incident: primary, contributing or alternative", parquet.SchemaOf(new(findingRow))},
	{"evidence", "a fact for or against a verdict, with its reference", parquet.SchemaOf(new(evidenceRow))},
}

// TestTablesPage keeps docs/tables.md in step with the rows; -update rewrites it.
func TestTablesPage(t *testing.T) {
	const path = "../../docs/tables.md"
	var page bytes.Buffer
	page.WriteString(`# Tables

The Parquet files below ` + "`tables/`" + `: one folder a table, partitioned as ` + "`cluster=ID/date=YYYY-MM-DD`" + `, one file a case,
sorted by time (evidence and findings by incident), compressed with zstd. [queries.md](queries.md) has recipes. Columns are added, never renamed, retyped or
reused; the schema version stands in the metadata of each file as ` + "`probe_forensics.schema_version`" + `.

- ` + "`bundle_id`" + ` is the sha256 of the input, ` + "`run_id`" + ` identifies inputs, settings, rules and version.
- ` + "`ts`" + ` is the row's own time in UTC, in microseconds; ` + "`ts_ns`" + ` is the same instant in nanoseconds. Times are by the clock of
  the node unless the column says otherwise.
- ` + "`stream_id`, `line`, `byte_offset` and `packet`" + ` lead back to the record in the input.
- A column that may be null is null where the input does not say.
`)
	require.Len(t, tablePages, len(Tables()))
	for i, table := range tablePages {
		require.Equal(t, Tables()[i], table.name)
		fmt.Fprintf(&page, "\n## %s\n\nA row is %s.\n\n| column | type | may be null |\n|---|---|---|\n", table.name, table.row)
		for _, f := range table.schema.Fields() {
			kind, null := "list of strings", ""
			if f.Leaf() {
				kind = f.Type().String()
			}
			if f.Optional() {
				null = "yes"
			}
			fmt.Fprintf(&page, "| `%s` | %s | %s |\n", f.Name(), kind, null)
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(path, page.Bytes(), 0o644))
	}
	committed, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(committed), page.String(), "not in step: run make generate")
}
