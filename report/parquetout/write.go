// Package parquetout writes the ten tables of a result as Parquet files in a
// hive layout that DuckDB, Spark and Trino read:
//
//	tables/<table>/cluster=<id>/date=<YYYY-MM-DD>/<bundle16>.parquet
//
// One bundle gives one file per table and day, so that a repeated run replaces
// its own files. Equal results give equal bytes.
package parquetout

import (
	"cmp"
	"context"
	"iter"

	"github.com/probe-forensics/probe-forensics/analyze/model"
)

// Tables lists the names of the tables in the order in which they are written.
func Tables() []string {
	return []string{"inputs", "events", "probe_attempts", "pod_ip_intervals", "flows", "arp_observations",
		"clock_offsets", "incidents", "findings", "evidence"}
}

// Write writes all tables. A table without rows gets no file.
func Write(ctx context.Context, res *model.Result, runID string, out Creator) error {
	l := &lake{out: out, cluster: partition(res.Cluster), file: bundle16(res.BundleID) + ".parquet", version: res.SchemaVersion}
	m := newMapper(res, runID)
	steps := []func() error{
		func() error {
			return fill(ctx, l, "inputs", list(m.inputs()), compareInputs, "ts,stream_id,input_path")
		},
		func() error {
			return fill(ctx, l, "events", m.events(), compareEvents, "ts,stream_id,packet,line,byte_offset")
		},
		func() error {
			return fill(ctx, l, "probe_attempts", list(m.attempts()), compareAttempts, "ts,attempt_id")
		},
		func() error {
			return fill(ctx, l, "pod_ip_intervals", list(m.intervals()), compareIntervals, "ts,k8s_namespace_name,k8s_pod_name,k8s_pod_uid,ip")
		},
		func() error {
			return fill(ctx, l, "flows", m.flows(), compareFlows, "ts,stream_id,packet,line,byte_offset")
		},
		func() error {
			return fill(ctx, l, "arp_observations", m.arp(), compareARP, "ts,stream_id,packet,line,byte_offset")
		},
		func() error {
			return fill(ctx, l, "clock_offsets", list(m.clocks()), compareClocks, "k8s_node_name,source")
		},
		func() error {
			return fill(ctx, l, "incidents", list(m.incidents()), compareIncidents, "ts,incident_id")
		},
		func() error {
			return fill(ctx, l, "findings", list(m.findings()), compareFindings, "ts,incident_id,finding_id")
		},
		func() error {
			return fill(ctx, l, "evidence", list(m.evidence()), compareEvidence, "ts,incident_id,evidence_id")
		},
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// row is what every row type has by embedding a stamp.
type row[R any] interface {
	*R
	time() int64
}

func (s *stamp) time() int64 { return s.Nanos }

func fill[R any, P row[R]](ctx context.Context, l *lake, name string, rows iter.Seq2[R, error], compare func(a, b *R) int, ordered string) error {
	t := &table[R]{lake: l, name: name, nanos: func(r *R) int64 { return P(r).time() }, ordered: ordered}
	return t.fill(ctx, sortRows(rows, compare, runRows))
}

// list yields rows that are in memory anyway.
func list[R any](rows []R) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func compareInputs(a, b *inputRow) int {
	return cmp.Or(cmp.Compare(a.Nanos, b.Nanos), cmp.Compare(a.StreamID, b.StreamID), cmp.Compare(a.InputPath, b.InputPath))
}

func compareEvents(a, b *eventRow) int {
	return cmp.Or(cmp.Compare(a.Nanos, b.Nanos), a.place.compare(b.place), cmp.Compare(a.Kind, b.Kind))
}

func compareFlows(a, b *flowRow) int {
	return cmp.Or(cmp.Compare(a.Nanos, b.Nanos), a.place.compare(b.place), cmp.Compare(a.FlowID, b.FlowID))
}

func compareARP(a, b *arpRow) int {
	return cmp.Or(cmp.Compare(a.Nanos, b.Nanos), a.place.compare(b.place))
}

func compareAttempts(a, b *attemptRow) int {
	return cmp.Or(cmp.Compare(a.Nanos, b.Nanos), cmp.Compare(a.AttemptID, b.AttemptID))
}

func compareIntervals(a, b *intervalRow) int {
	return cmp.Or(cmp.Compare(a.Nanos, b.Nanos), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.UID, b.UID), cmp.Compare(a.IP, b.IP))
}

func compareClocks(a, b *clockRow) int {
	return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Source, b.Source))
}

func compareIncidents(a, b *incidentRow) int {
	return cmp.Or(cmp.Compare(a.Nanos, b.Nanos), cmp.Compare(a.IncidentID, b.IncidentID))
}

func compareFindings(a, b *findingRow) int {
	return cmp.Or(cmp.Compare(a.Nanos, b.Nanos), cmp.Compare(a.IncidentID, b.IncidentID), cmp.Compare(a.FindingID, b.FindingID))
}

func compareEvidence(a, b *evidenceRow) int {
	return cmp.Or(cmp.Compare(a.Nanos, b.Nanos), cmp.Compare(a.IncidentID, b.IncidentID), cmp.Compare(a.EvidenceID, b.EvidenceID))
}

func bundle16(id string) string {
	if len(id) > 16 {
		id = id[:16]
	}
	return partition(id)
}
