package report

import (
	"bufio"
	"context"
	"encoding/json"
	"io"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/report/escape"
	"github.com/probe-forensics/probe-forensics/report/view"
)

var _ = register(renderer{"timesketch", files("timesketch.jsonl"), renderTimesketch})

// sketchRow is one line: message, datetime and timestamp_desc are what
// Timesketch demands, the rest are attributes to search by.
type sketchRow struct {
	Message   string `json:"message"`
	Datetime  string `json:"datetime"`
	Desc      string `json:"timestamp_desc"`
	DataType  string `json:"data_type"`
	TimeBasis string `json:"time_basis,omitempty"`
	Node      string `json:"k8s_node_name,omitempty"`
	Namespace string `json:"k8s_namespace_name,omitempty"`
	Pod       string `json:"k8s_pod_name,omitempty"`
	UID       string `json:"k8s_pod_uid,omitempty"`
	Container string `json:"k8s_container_name,omitempty"`
	Probe     string `json:"probe,omitempty"`
	Outcome   string `json:"outcome,omitempty"`
	Class     string `json:"error_class,omitempty"`
	Incident  string `json:"incident_id,omitempty"`
	Cause     string `json:"cause_id,omitempty"`
	Severity  string `json:"severity_text,omitempty"`
	Record    string `json:"record,omitempty"`
}

// renderTimesketch writes incidents, attempts and events as JSON lines. Rows
// without a time have no place on a timeline and are left out; the tables hold
// them.
func renderTimesketch(ctx context.Context, res *model.Result, out Output, _ Options) error {
	c := view.Index(res)
	return writeFile(out, "timesketch.jsonl", func(w io.Writer) error {
		s := &sketch{c: c, out: bufio.NewWriter(w)}
		for _, in := range c.Incidents {
			s.incident(in)
		}
		for i := range res.Tables.Attempts {
			s.attempt(&res.Tables.Attempts[i])
		}
		if res.Tables.Events != nil {
			n := 0
			for e, err := range res.Tables.Events() {
				if err != nil {
					return err
				}
				if n++; n%4096 == 0 && ctx.Err() != nil {
					return ctx.Err()
				}
				// Attempts stand for these events already.
				if e.Kind != event.KindProbeResult.String() {
					s.event(e)
				}
			}
		}
		if s.err != nil {
			return s.err
		}
		return s.out.Flush()
	})
}

type sketch struct {
	c   *view.Case
	out *bufio.Writer
	err error
}

func (s *sketch) write(at event.Nanos, r sketchRow) {
	if at == 0 || s.err != nil {
		return
	}
	r.Datetime = at.Time().Format("2006-01-02T15:04:05.000000") + "+00:00"
	b, err := json.Marshal(r)
	if err == nil {
		_, err = s.out.Write(append(escape.JSON(b), '\n'))
	}
	s.err = err
}

func (s *sketch) incident(in *view.Incident) {
	row := sketchRow{DataType: "probe-forensics:incident", Node: in.Node, Incident: in.ID, Cause: in.Cause.ID, TimeBasis: in.TimeBasis,
		Message: in.Cause.ID + " (" + in.Cause.Word + " " + view.Confidence(in.Cause.Confidence) + "): " + in.Sentence()}
	for _, at := range []struct {
		t    model.Time
		desc string
	}{{in.Window.First, "Incident First Failure"}, {in.Window.Last, "Incident Last Failure"}, {in.Window.Recovered, "Incident Recovery"}} {
		row.Desc = at.desc
		s.write(at.t.Nanos, row)
	}
}

func (s *sketch) attempt(a *model.Attempt) {
	at := a.End
	if at == 0 {
		at = a.Start
	}
	msg := a.Probe + " probe " + a.Outcome
	if a.Output != "" {
		msg += ": " + a.Output
	}
	s.write(at, sketchRow{Message: msg, Desc: "Probe Attempt End", DataType: "probe-forensics:attempt", TimeBasis: a.TimeBasis, Node: a.Node, Namespace: a.Namespace, Pod: a.Pod, UID: a.UID,
		Container: a.Container, Probe: a.Probe, Outcome: a.Outcome, Class: a.ErrorClass, Incident: a.Incident, Record: view.AttemptRef(s.c, a)})
}

func (s *sketch) event(e *model.EventRow) {
	s.write(e.At, sketchRow{Message: e.Body, Desc: "Event Logged", DataType: "probe-forensics:" + e.Kind, TimeBasis: e.TimeBasis, Node: e.Node, Namespace: e.Namespace, Pod: e.Pod, UID: e.UID,
		Container: e.Container, Severity: e.Severity, Record: s.c.Ref(model.RefOf(e.Ref))})
}
