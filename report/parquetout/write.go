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
	"slices"

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
			return fill(ctx, l, "inputs", sorted(m.inputs(), compareInputs), func(r *inputRow) int64 { return r.Nanos }, compareInputs, "ts,stream_id")
		},
		func() error {
			return fill(ctx, l, "events", m.events(), func(r *eventRow) int64 { return r.Nanos },
				func(a, b *eventRow) int { return cmp.Or(a.place.compare(b.place), cmp.Compare(a.Kind, b.Kind)) }, "ts,stream_id,packet,line,byte_offset")
		},
		func() error {
			return fill(ctx, l, "probe_attempts", sorted(m.attempts(), compareAttempts), func(r *attemptRow) int64 { return r.Nanos }, compareAttempts, "ts,attempt_id")
		},
		func() error {
			return fill(ctx, l, "pod_ip_intervals", sorted(m.intervals(), compareIntervals), func(r *intervalRow) int64 { return r.Nanos }, compareIntervals, "ts,k8s_namespace_name,k8s_pod_name,k8s_pod_uid,ip")
		},
		func() error {
			return fill(ctx, l, "flows", m.flows(), func(r *flowRow) int64 { return r.Nanos },
				func(a, b *flowRow) int { return cmp.Or(a.place.compare(b.place), cmp.Compare(a.FlowID, b.FlowID)) }, "ts,stream_id,packet,line,byte_offset")
		},
		func() error {
			return fill(ctx, l, "arp_observations", m.arp(), func(r *arpRow) int64 { return r.Nanos },
				func(a, b *arpRow) int { return a.place.compare(b.place) }, "ts,stream_id,packet,line,byte_offset")
		},
		func() error {
			return fill(ctx, l, "clock_offsets", sorted(m.clocks(), compareClocks), func(r *clockRow) int64 { return r.Nanos }, compareClocks, "k8s_node_name,source")
		},
		func() error {
			return fill(ctx, l, "incidents", sorted(m.incidents(), compareIncidents), func(r *incidentRow) int64 { return r.Nanos }, compareIncidents, "ts,incident_id")
		},
		func() error {
			return fill(ctx, l, "findings", sorted(m.findings(), compareFindings), func(r *findingRow) int64 { return r.Nanos }, compareFindings, "ts,incident_id,finding_id")
		},
		func() error {
			return fill(ctx, l, "evidence", sorted(m.evidence(), compareEvidence), func(r *evidenceRow) int64 { return r.Nanos }, compareEvidence, "ts,incident_id,evidence_id")
		},
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func fill[R any](ctx context.Context, l *lake, name string, rows iter.Seq2[R, error], nanos func(*R) int64, compare func(a, b *R) int, ordered string) error {
	t := &table[R]{lake: l, name: name, nanos: nanos, compare: compare, ordered: ordered}
	return t.fill(ctx, rows)
}

// sorted yields rows that fit in memory in the order of compare; the table
// sorts them by time, stably.
func sorted[R any](rows []R, compare func(a, b *R) int) iter.Seq2[R, error] {
	slices.SortStableFunc(rows, func(a, b R) int { return compare(&a, &b) })
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
