package cli

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/probe-forensics/probe-forensics/analyze"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/report/escape"
	"github.com/probe-forensics/probe-forensics/report/view"
)

type timelineCmd struct {
	inputArgs
	selectFlags
	supplyFlags
	IP       string `name:"ip" group:"select" placeholder:"ADDRESS" help:"Tell who had this address, instead of what happened to a pod."`
	At       string `group:"select" placeholder:"TIME" help:"With --ip: who had it at this time, RFC 3339 or a duration back from the end of the data (2h)."`
	Failures bool   `group:"output" help:"Leave out attempts that succeeded."`
	Format   string `short:"f" enum:"term,md,html,json" default:"term" placeholder:"FORMAT" group:"output" help:"Write term (columns), md, html or json (one object a line)."`
	JSON     bool   `name:"json" group:"output" help:"The same as --format json."`
}

// Help says what is listed.
func (*timelineCmd) Help() string {
	return `Lists what the inputs know about a pod in the order in which it happened: addresses, sandboxes, container runs, readiness, every probe attempt, and what Kubernetes said. Facts only: conclusions are the business of analyze.

    probe-forensics timeline --pod shop/api-0 must-gather.tar.gz node-1.pcap

Attempts that no input shows are listed as missing where the grid of their probe demands them and a capture, or a log that tells successes, covers their time. An attempt that crossed a threshold says so; what came of it follows as a consequence.

With --ip it answers who had an address, at a time or in all the data:

    probe-forensics timeline --ip 10.244.1.13 --at 2026-03-01T10:15:00Z must-gather.tar.gz

It lists the intervals of every owner, overlaps kept, each with the sources that say so and where they stand; consumers that only went to the address, and copies that still named it, stand apart. Nodes and pods on the host network share an address and own none. Where nobody is known to have had it, it says what was looked at and who had it last and next.`
}

// fact is one line of a timeline; its JSON names are stable.
type fact struct {
	Time  model.Time `json:"time"`
	Pod   string     `json:"pod"`
	Kind  string     `json:"kind"`
	Text  string     `json:"text"`
	Where string     `json:"where"`
	// Count is how many attempts the line stands for where there are several, Until
	// when the last of them was over. Inferred marks an attempt that no input shows.
	Count     int64      `json:"count,omitempty"`
	Until     model.Time `json:"until,omitzero"`
	Inferred  bool       `json:"inferred,omitempty"`
	Threshold string     `json:"threshold,omitempty"`
}

// Run analyses the inputs and lists the facts.
func (c *timelineCmd) Run(rt *session) error {
	switch {
	case c.IP != "":
		return c.runAddress(rt)
	case c.At != "":
		return usagef("--at goes with --ip").try("--since and --until bound the timeline of a pod")
	case len(c.Pod) == 0:
		return usagef("--pod is missing: a timeline is that of a pod").try("--pod NAMESPACE/NAME, --pod 'NAMESPACE/*', or --ip ADDRESS for who had an address")
	}
	return c.analyze(rt, func(res *model.Result, options analyze.Options) error {
		facts, err := c.facts(res)
		if err != nil {
			return err
		}
		since, until := bounds(options, res.Checked.To.Nanos)
		facts = slices.DeleteFunc(facts, func(f fact) bool { return f.Time.Nanos < since || f.Time.Nanos > until })
		if len(facts) == 0 {
			return failf("nothing is known about a pod %s in the time asked for", strings.Join(c.Pod, ", ")).
				try("--pod '*/*' lists all pods the inputs know")
		}
		return c.print(rt, facts)
	})
}

// analyze reads and analyses the inputs as the flags say. The result's tables
// can be read until use returns.
func (c *timelineCmd) analyze(rt *session, use func(*model.Result, analyze.Options) error) error {
	options := analyze.Options{ToolVersion: toolVersion()}
	if err := c.selectFlags.apply(&options); err != nil {
		return err
	}
	if err := c.supplyFlags.apply(&options); err != nil {
		return err
	}
	limits, err := parseLimits(c.Limit)
	if err != nil {
		return err
	}
	kase, err := rt.open(c.Input, limits)
	if err != nil {
		return err
	}
	defer kase.Close()
	rt.warn(damage(kase))
	res, err := analyze.Run(rt.ctx, kase, inputInfos(kase), options)
	if err != nil {
		return err
	}
	rt.warnUnused(&options, kase.Infos(), res)
	return use(res, options)
}

// bounds resolves the time span asked for against the end of the data.
func bounds(o analyze.Options, end event.Nanos) (since, until event.Nanos) {
	since, until = o.Since, cmp.Or(o.Until, math.MaxInt64)
	if o.SinceAgo > 0 {
		since = end.Add(-o.SinceAgo)
	}
	if o.UntilAgo > 0 {
		until = end.Add(-o.UntilAgo)
	}
	return since, until
}

// facts collects what a result holds about the pods asked for.
func (c *timelineCmd) facts(res *model.Result) ([]fact, error) {
	places := make(map[event.StreamID]string)
	for _, in := range res.Inputs {
		for _, s := range in.Streams {
			places[s.ID] = s.Path
		}
	}
	var out []fact
	put := func(f fact, ref event.Ref) {
		if f.Time.IsZero() {
			return
		}
		if !ref.IsZero() {
			f.Where = path.Base(places[ref.Stream]) + ref.Place()
		}
		out = append(out, f)
	}
	add := func(at event.Nanos, pod, kind, text string, ref event.Ref) {
		put(fact{Time: model.At(at), Pod: pod, Kind: kind, Text: text}, ref)
	}
	for i := range res.Pods {
		if p := &res.Pods[i]; c.wants(p.Namespace, p.Pod) {
			podFacts(p, add)
		}
	}
	for i := range res.Tables.Attempts {
		a := &res.Tables.Attempts[i]
		if c.wants(a.Namespace, a.Pod) && !(c.Failures && a.Outcome == "success") {
			attemptFact(a, put)
		}
	}
	if res.Tables.Events != nil {
		for row, err := range res.Tables.Events() {
			if err != nil {
				return nil, err
			}
			if row.Kind == event.KindK8sEvent.String() && c.wants(row.Namespace, row.Pod) {
				add(row.At, row.Namespace+"/"+row.Pod, "event", row.Body, row.Ref)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b fact) int {
		return cmp.Or(cmp.Compare(a.Time.Nanos, b.Time.Nanos), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(out), nil
}

func (c *timelineCmd) wants(namespace, pod string) bool {
	return pod != "" && slices.ContainsFunc(c.Pod, func(glob string) bool {
		ok, _ := path.Match(glob, namespace+"/"+pod) // the pattern was checked before
		return ok
	})
}

// podFacts are the changes a pod carries itself.
func podFacts(p *model.Pod, add func(event.Nanos, string, string, string, event.Ref)) {
	name := p.Namespace + "/" + p.Pod
	for _, iv := range p.IPIntervals {
		var ref event.Ref
		if len(iv.Sources) > 0 {
			ref = iv.Sources[0].Ref.Event()
		}
		add(iv.From.Nanos, name, "address", iv.IP+" "+iv.State, ref)
		add(iv.To.Nanos, name, "address", iv.IP+" no longer "+iv.State, event.Ref{})
	}
	for _, s := range p.Sandboxes {
		id := fmt.Sprintf("%.12s", s.ID)
		add(s.From.Nanos, name, "sandbox", id+" created", s.Ref.Event())
		add(s.To.Nanos, name, "sandbox", id+" gone", event.Ref{})
	}
	for _, r := range p.Runs {
		add(r.From.Nanos, name, "container", r.Container+" started", r.Ref.Event())
		text := r.Container + " ended"
		if r.ExitCode != nil {
			text += fmt.Sprintf(", exit code %d", *r.ExitCode)
		}
		if r.KilledBy != "" {
			text += ", killed by " + r.KilledBy
		}
		add(r.To.Nanos, name, "container", text, event.Ref{})
	}
	for _, r := range p.Ready {
		add(r.At.Nanos, name, "state", strings.TrimSpace(r.Container+" "+r.Probe)+": "+r.Status, r.Ref.Event())
	}
}

// attemptFact is an attempt, and what came of it where it crossed a threshold.
func attemptFact(a *model.Attempt, put func(fact, event.Ref)) {
	f := fact{Time: model.At(cmp.Or(a.Start, a.End)), Pod: a.Namespace + "/" + a.Pod, Kind: "attempt", Inferred: a.Source == "grid", Threshold: a.Threshold}
	f.Text = strings.TrimSpace(a.Container + " " + a.Probe + " " + a.Outcome)
	if a.Count > 1 {
		f.Count, f.Until = a.Count, model.At(a.End)
		f.Text += fmt.Sprintf(" (%d times", a.Count)
		switch {
		case f.Inferred:
			f.Text += ", to " + view.Clock(a.End)
		case a.Since != 0:
			f.Text += ", from " + view.Clock(a.Since) + " on, the times between are not recorded"
		}
		f.Text += ")"
	}
	switch a.Threshold {
	case "crossed-failure":
		f.Text += " (failure threshold crossed)"
	case "crossed-success":
		f.Text += " (success threshold crossed)"
	}
	switch {
	case view.Failed(a):
		f.Text += ": " + view.Why(a)
	case a.Outcome == "missing":
		f.Text += ": " + missingWhy(a.JoinReason)
	}
	if a.ConnectMs > 0 {
		f.Text += ", connected in " + view.Millis(a.ConnectMs)
	}
	var ref event.Ref
	if len(a.Refs) > 0 {
		ref = a.Refs[0]
	} else if len(a.FlowRefs) > 0 {
		ref = a.FlowRefs[0]
	}
	put(f, ref)
	for _, e := range a.Effects {
		put(fact{Time: e.At, Pod: f.Pod, Kind: "consequence", Text: e.Kind + ": " + e.Text}, e.Ref.Event())
	}
}

// missingWhy says in words how an attempt is known to be missing.
func missingWhy(reason string) string {
	switch reason {
	case "no-syn":
		return "due by the grid of the probe; a capture covers the time and shows no connection"
	case "no-line":
		return "due by the grid of the probe; the log tells successes then and has no line"
	}
	return reason
}

func (c *timelineCmd) print(rt *session, facts []fact) error {
	switch {
	case c.JSON || c.Format == "json":
		for _, f := range facts {
			if err := writeJSONLine(rt.stdout, f); err != nil {
				return err
			}
		}
		return nil
	case c.Format == "md":
		return timelineMarkdown(rt.stdout, facts)
	case c.Format == "html":
		return timelineHTML(rt.stdout, facts)
	}
	w := tabwriter.NewWriter(rt.stdout, 0, 8, 2, ' ', 0)
	several := slices.ContainsFunc(facts, func(f fact) bool { return f.Pod != facts[0].Pod })
	if several {
		fmt.Fprintf(w, "TIME (UTC)\tPOD\tKIND\tWHAT\tWHERE\n")
	} else {
		fmt.Fprintf(w, "%s\n\nTIME (UTC)\tKIND\tWHAT\tWHERE\n", escape.Visible(facts[0].Pod))
	}
	for _, f := range facts {
		columns := []string{f.Time.Nanos.Time().Format("2006-01-02 15:04:05.000"), string(escape.Visible(f.Pod)), f.Kind,
			string(escape.Cut(f.Text, 120)), string(escape.Visible(f.Where))}
		if !several {
			columns = slices.Delete(columns, 1, 2)
		}
		fmt.Fprintln(w, strings.Join(columns, "\t"))
	}
	return w.Flush()
}
