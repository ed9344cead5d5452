package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/cmd/internal/store"
	"github.com/probe-forensics/probe-forensics/parsers"
	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/source"
	"github.com/probe-forensics/probe-forensics/report/escape"
)

type verifyCmd struct {
	Report string   `arg:"" complete:"files" help:"report.json, or the directory that holds it."`
	Input  []string `arg:"" name:"input" complete:"files" help:"The inputs the report was made from, in the same order; they may have other names."`
}

// Help says what is compared.
func (*verifyCmd) Help() string {
	return `Reads the inputs again and compares them with a report: their digests, and for each piece of evidence that its record is where the report says and holds the quoted text. Exits with 1 when anything differs.

    probe-forensics verify bundle.tar.gz.probe-forensics bundle.tar.gz`
}

// Run compares and prints what it found.
func (c *verifyCmd) Run(rt *session) error {
	res, err := rt.readReport(c.Report)
	if err != nil {
		return err
	}
	if len(res.Inputs) != len(c.Input) {
		return usagef("%s was made from %d inputs, %d are given", c.Report, len(res.Inputs), len(c.Input)).
			try("%s verify %s %s", programName, c.Report, strings.Join(inputNames(res), " "))
	}
	for _, in := range c.Input {
		if in == "-" {
			return usagef("standard input cannot be verified: it is read twice")
		}
		if rt.extracted(in) {
			return usagef("%s holds extracted events, not the records that evidence refers to", in)
		}
	}
	if err := rt.checkInputs(c.Input); err != nil {
		return err
	}
	rt = rt.pinned()
	v := &verification{report: res, rt: rt, inputs: c.Input}
	if err := v.run(); err != nil {
		return err
	}
	if err := rt.pins.failure(); err != nil {
		return failf("%w", err)
	}
	for _, d := range v.differences {
		fmt.Fprintln(rt.stdout, escape.Visible(d))
	}
	fmt.Fprintf(rt.stdout, "inputs: %d of %d have the digest of the report\nrecords: %d of %d found, %d of %d quotes match\n",
		v.sameInputs, len(res.Inputs), v.found, v.records, v.matches, v.quotes)
	if len(v.differences) > 0 {
		return failf("%s and its inputs differ in %d places", c.Report, len(v.differences)).
			try("give the inputs whose digests %s names, in the order of the report", c.Report)
	}
	return nil
}

// readReport reads report.json from a file or directory.
func (rt *session) readReport(path string) (*model.Result, error) {
	s, err := rt.storeOf(path)
	if err != nil {
		return nil, err
	}
	o, err := s.Stat(rt.ctx, path)
	if err == nil && o.Directory {
		path = store.Join(path, "report.json")
		o, err = s.Stat(rt.ctx, path)
	}
	if err != nil {
		return nil, failf("%w", err)
	}
	return rt.decodeReport(s, o)
}

// decodeReport reads a report.json.
func (rt *session) decodeReport(s store.Store, o source.Object) (*model.Result, error) {
	path := o.Name
	text, err := source.ReadObject(rt.ctx, s, o, maxContent)
	if err != nil {
		return nil, failf("%w", err)
	}
	res := new(model.Result)
	if err := json.Unmarshal(text, res); err != nil {
		return nil, failf("%s: no report: %w", path, err).try("%s analyze INPUT -f json -o DIRECTORY", programName)
	}
	if major, _, _ := strings.Cut(res.SchemaVersion, "."); major != "1" {
		return nil, failf("%s: schema %q is not one this version reads (1.x)", path, res.SchemaVersion).
			try("read it with the program that wrote it, or analyse the inputs again")
	}
	return res, nil
}

func inputNames(res *model.Result) []string {
	var out []string
	for _, in := range res.Inputs {
		out = append(out, in.Path)
	}
	return out
}

// verification is one comparison.
type verification struct {
	rt     *session
	report *model.Result
	inputs []string

	differences                     []string
	sameInputs                      int
	records, found, quotes, matches int
}

// claim is one reference of the report with the text it should hold.
type claim struct {
	incident string
	ref      event.Ref
	excerpt  string
}

func (v *verification) run() error {
	options := parsers.Options{Workers: v.rt.workers, Store: v.rt.inputs()}
	// Names of inputs may have changed since: a first pass learns them and the
	// digests, a second one reads the records.
	_, infos, err := parsers.ReadRef(v.rt.ctx, v.inputs, nil, options)
	if err != nil {
		return err
	}
	for i, in := range v.report.Inputs {
		if infos[i].SHA256 == in.SHA256 {
			v.sameInputs++
			continue
		}
		v.differ("%s: digest %s, the report says %s", infos[i].Path, infos[i].SHA256, in.SHA256)
	}
	claims := v.claims()
	paths := v.streamPaths(infos)
	wanted := make([]parsers.Locator, len(claims))
	for i, c := range claims {
		wanted[i] = parsers.Locator{Path: paths[c.ref.Stream], Line: c.ref.Line, Offset: c.ref.Offset, Packet: c.ref.Packet}
	}
	records, _, err := parsers.ReadRef(v.rt.ctx, v.inputs, wanted, options)
	if err != nil {
		return err
	}
	for i, c := range claims {
		v.compare(c, wanted[i].Path, records[i])
	}
	return nil
}

// streamPaths maps the streams of the report to their paths in the inputs as
// they are named now.
func (v *verification) streamPaths(infos []parsers.InputInfo) map[event.StreamID]string {
	paths := make(map[event.StreamID]string)
	for i, in := range v.report.Inputs {
		for _, s := range in.Streams {
			paths[s.ID] = infos[i].Path + strings.TrimPrefix(s.Path, in.Path)
		}
	}
	return paths
}

// claims lists every reference of the evidence.
func (v *verification) claims() []claim {
	var out []claim
	for _, inc := range v.report.Incidents {
		for _, e := range inc.Evidence {
			if ref := e.Ref.Event(); !ref.IsZero() && (ref.Line > 0 || ref.Packet > 0 || ref.Offset > 0) {
				out = append(out, claim{inc.ID, ref, e.Excerpt})
			}
			for _, more := range e.More {
				if ref := more.Event(); ref.Line > 0 || ref.Packet > 0 || ref.Offset > 0 {
					out = append(out, claim{incident: inc.ID, ref: ref})
				}
			}
		}
	}
	return out
}

func (v *verification) compare(c claim, path string, record parsers.Excerpt) {
	v.records++
	if record.Err != nil {
		v.differ("incident %s: %s%s: %v", c.incident, path, c.ref.Place(), record.Err)
		return
	}
	v.found++
	// Records without a text of their own (binary journals), and excerpts taken
	// from what the parser kept, cannot be compared word by word.
	if c.excerpt == "" || record.Text == "" || strings.HasPrefix(c.excerpt, asRead) {
		return
	}
	v.quotes++
	if shortExcerpt(record.Text) == c.excerpt {
		v.matches++
		return
	}
	v.differ("incident %s: %s%s: holds %q, the report quotes %q", c.incident, path, c.ref.Place(), shortExcerpt(record.Text), c.excerpt)
}

func (v *verification) differ(format string, args ...any) {
	v.differences = append(v.differences, fmt.Sprintf(format, args...))
}
