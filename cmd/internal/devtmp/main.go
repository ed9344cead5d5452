package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/probe-forensics/probe-forensics/analyze"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers"
)

var dump func(*model.Result)

func rel[T ~int64](d T) string {
	if d < -1e12 {
		return "-"
	}
	return fmt.Sprintf("%.4f", float64(d)/1e9)
}

func main() {
	c, err := parsers.Open(context.Background(), os.Args[1:], parsers.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer c.Close()
	var in []analyze.InputInfo
	for _, i := range c.Inputs() {
		in = append(in, analyze.InputInfo{Path: i.Path, SHA256: i.SHA256, Bytes: i.Bytes})
	}
	r, err := analyze.Run(context.Background(), c, in, analyze.Options{})
	if err != nil {
		panic(err)
	}
	b, _ := json.MarshalIndent(r, "", " ")
	os.WriteFile("/tmp/dev/report.json", b, 0o644)
	fmt.Println(len(r.Incidents), "incidents", len(r.Pods), "pods", r.Totals)
	dump(r)
	for _, a := range r.Tables.Attempts {
		fmt.Printf("%s %-60s %-9s %-8s %-11s %-16s %s:%d conn=%s %s x%d\n", a.End.Time().Format("15:04:05.000"), a.Namespace+"/"+a.Pod+" "+a.Container, a.Probe, a.Outcome, a.Source, a.ErrorClass, a.Target.Host, a.Target.Port, a.FlowID, a.JoinReason, a.Count)
	}
	for _, p := range r.Pods {
		for _, iv := range p.IPIntervals {
			fmt.Println("IP", p.Namespace+"/"+p.Pod, p.UID, iv.IP, iv.From, iv.To, iv.State, iv.Primary, len(iv.Sources))
		}
		for _, iv := range p.Runs {
			fmt.Println("RUN", p.Pod, iv.Container, iv.ID[:8], iv.From, iv.To, iv.KilledBy)
		}
		for _, iv := range p.Sandboxes {
			fmt.Println("SB", p.Pod, iv.ID[:8], iv.Attempt, iv.From, iv.To)
		}
	}
	for _, i := range r.Incidents {
		fmt.Println("INC", i.Scope, i.Node, i.Trigger, i.Window.First, i.Window.Last, i.Window.Recovered, i.FailedAttempts, i.TotalAttempts, i.Cause)
		for _, s := range i.Subjects {
			fmt.Println("   ", s)
		}
	}
	for _, in := range r.Inputs {
		for _, s := range in.Streams {
			fmt.Println("STREAM", s.ID, s.Path, s.Format, s.Node, s.CapturePoint, s.CaptureWhy, s.Kept, s.Problems)
		}
	}
}
