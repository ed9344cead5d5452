package report

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/report/escape"
	"github.com/probe-forensics/probe-forensics/report/view"
)

var _ = register(renderer{"junit", files("junit.xml"), renderJUnit})

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
}

type junitFailure struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// renderJUnit writes one test per probe: those of an incident failed, all
// others that the inputs declare passed. Incidents of a node without a probe are
// tests of their own.
func renderJUnit(_ context.Context, res *model.Result, out Output, _ Options) error {
	j := junitBuilder{c: view.Index(res), suites: junitSuites{Name: "probe-forensics"}, index: map[string]int{}, failed: map[string]bool{}}
	for _, in := range j.c.Incidents {
		j.incident(in)
	}
	for _, p := range res.Pods {
		for _, pr := range p.Probes {
			s := model.Subject{Namespace: p.Namespace, Pod: p.Pod, UID: p.UID, Container: pr.Container, Probe: pr.Probe}
			if !j.failed[junitKey(s)] {
				j.add(s, nil)
			}
		}
	}
	return writeFile(out, "junit.xml", func(w io.Writer) error {
		if _, err := io.WriteString(w, xml.Header); err != nil {
			return err
		}
		enc := xml.NewEncoder(w)
		enc.Indent("", "  ")
		if err := enc.Encode(j.suites); err != nil {
			return err
		}
		_, err := io.WriteString(w, "\n")
		return err
	})
}

type junitBuilder struct {
	c      *view.Case
	suites junitSuites
	index  map[string]int
	failed map[string]bool
}

func junitKey(s model.Subject) string {
	return strings.Join([]string{s.Namespace, s.Pod, s.UID, s.Container, s.Probe}, "\x00")
}

func (j *junitBuilder) incident(in *view.Incident) {
	f := &junitFailure{Type: in.Cause.ID, Message: string(escape.Visible(in.Sentence())), Text: j.text(in)}
	if len(in.Subjects) == 0 {
		j.addTo("node "+in.Node, in.Trigger, f)
		return
	}
	for _, s := range in.Subjects {
		j.failed[junitKey(s)] = true
		j.add(s, f)
	}
}

func (j *junitBuilder) add(s model.Subject, f *junitFailure) {
	name := strings.TrimSpace(s.Container + " " + s.Probe)
	if name == "" {
		name = "pod"
	}
	j.addTo(view.PodName(s), name, f)
}

func (j *junitBuilder) addTo(suite, name string, f *junitFailure) {
	suite = string(escape.Visible(suite))
	i, ok := j.index[suite]
	if !ok {
		i = len(j.suites.Suites)
		j.index[suite] = i
		j.suites.Suites = append(j.suites.Suites, junitSuite{Name: suite})
	}
	s := &j.suites.Suites[i]
	s.Cases = append(s.Cases, junitCase{Class: suite, Name: string(escape.Visible(name)), Failure: f})
	s.Tests++
	j.suites.Tests++
	if f != nil {
		s.Failures++
		j.suites.Failures++
	}
}

// text explains a failure: the verdict and its evidence.
func (j *junitBuilder) text(in *view.Incident) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s, confidence %s)\n%s\n%s\n", in.Cause.ID, in.Cause.Word, view.Confidence(in.Cause.Confidence), view.Window(in), view.Affected(in))
	for _, e := range in.By(model.RoleFor) {
		fmt.Fprintf(&b, "+ %s (%s)\n", escape.Visible(e.Claim), escape.Visible(j.c.Ref(e.Ref)))
	}
	for _, e := range in.By(model.RoleAgainst) {
		fmt.Fprintf(&b, "- %s (%s)\n", escape.Visible(e.Claim), escape.Visible(j.c.Ref(e.Ref)))
	}
	return string(escape.Lines(b.String()))
}
