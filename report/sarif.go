package report

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/report/escape"
	"github.com/probe-forensics/probe-forensics/report/view"
)

var _ = register(renderer{"sarif", files("report.sarif"), renderSARIF})

// The types below are the part of SARIF 2.1.0 that the report uses.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool         `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	Artifacts   []sarifArtifact   `json:"artifacts"`
	Results     []sarifResult     `json:"results"`
	ColumnKind  string            `json:"columnKind"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string         `json:"id"`
	ShortDescription sarifMessage   `json:"shortDescription"`
	Help             sarifMessage   `json:"help"`
	Properties       map[string]any `json:"properties,omitempty"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifInvocation struct {
	ExecutionSuccessful bool                `json:"executionSuccessful"`
	Notifications       []sarifNotification `json:"toolExecutionNotifications"`
}

type sarifNotification struct {
	Level      string                      `json:"level"`
	Message    sarifMessage                `json:"message"`
	Descriptor *sarifDescriptor            `json:"descriptor,omitempty"`
	Locations  []sarifNotificationLocation `json:"locations,omitempty"`
}

type sarifDescriptor struct {
	ID string `json:"id"`
}

type sarifNotificationLocation struct {
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
}

type sarifArtifact struct {
	Location sarifArtifactLocation `json:"location"`
	Length   int64                 `json:"length"`
	Hashes   map[string]string     `json:"hashes,omitempty"`
}

type sarifArtifactLocation struct {
	URI string `json:"uri"`
}

type sarifResult struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Rank         float64           `json:"rank"`
	Message      sarifMessage      `json:"message"`
	Locations    []sarifLocation   `json:"locations"`
	Related      []sarifLocation   `json:"relatedLocations,omitempty"`
	Fingerprints map[string]string `json:"partialFingerprints,omitempty"`
	Properties   map[string]any    `json:"properties"`
}

type sarifLocation struct {
	ID       int            `json:"id,omitempty"`
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	Message  *sarifMessage  `json:"message,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifArtifactLocation `json:"artifactLocation"`
	Region   *sarifRegion          `json:"region,omitempty"`
}

type sarifRegion struct {
	StartLine  int64         `json:"startLine,omitempty"`
	ByteOffset *int64        `json:"byteOffset,omitempty"`
	Snippet    *sarifMessage `json:"snippet,omitempty"`
}

type sarifLogical struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// renderSARIF writes one result per incident; its location is the weightiest
// piece of evidence, the others are related locations.
func renderSARIF(_ context.Context, res *model.Result, out Output, _ Options) error {
	c := view.Index(res)
	run := sarifRun{
		Tool:        sarifTool{sarifDriver{Name: res.Tool.Name, Version: res.Tool.Version, Rules: []sarifRule{}}},
		Invocations: []sarifInvocation{{ExecutionSuccessful: true, Notifications: sarifProblems(res)}},
		Artifacts:   []sarifArtifact{}, Results: []sarifResult{}, ColumnKind: "utf16CodeUnits",
	}
	for _, in := range res.Inputs {
		a := sarifArtifact{Location: sarifURI(in.Path), Length: in.Bytes}
		if in.SHA256 != "" {
			a.Hashes = map[string]string{"sha-256": in.SHA256}
		}
		run.Artifacts = append(run.Artifacts, a)
	}
	paths := streamPaths(res)
	for _, in := range c.Incidents {
		i := slices.IndexFunc(run.Tool.Driver.Rules, func(r sarifRule) bool { return r.ID == in.Cause.ID })
		if i < 0 {
			i = len(run.Tool.Driver.Rules)
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
				ID: in.Cause.ID, ShortDescription: sarifMessage{in.Cause.Title}, Help: sarifMessage{"probe-forensics explain " + in.Cause.ID},
				Properties: map[string]any{"family": in.Cause.Family},
			})
		}
		run.Results = append(run.Results, sarifOf(in, i, paths))
	}
	return writeFile(out, "report.sarif", func(w io.Writer) error {
		return encodeJSON(w, sarifLog{Schema: "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
	})
}

func sarifOf(in *view.Incident, rule int, paths map[event.StreamID]string) sarifResult {
	r := sarifResult{
		RuleID: in.Cause.ID, RuleIndex: rule, Rank: math.Round(in.Cause.Confidence*10000) / 100, Message: sarifMessage{string(escape.Visible(in.Sentence()))},
		Level: map[string]string{model.Confirmed: "error", model.Probable: "error", model.Possible: "warning"}[in.Cause.Word],
		Properties: map[string]any{"confidence": in.Cause.Confidence, "word": in.Cause.Word, "incident": in.ID, "scope": in.Scope, "failed_attempts": in.FailedAttempts,
			"total_attempts": in.TotalAttempts, "first": in.Window.First.String(), "last": in.Window.Last.String(), "recovered": in.Window.Recovered.String()},
		Locations: []sarifLocation{},
	}
	if r.Level == "" {
		r.Level = "note"
	}
	if in.Fingerprint != "" {
		r.Fingerprints = map[string]string{"causeOfOwner/v1": in.Fingerprint}
	}
	var logical []sarifLogical
	for _, p := range in.Pods() {
		logical = append(logical, sarifLogical{Name: string(escape.Visible(p)), Kind: "resource"})
	}
	for _, role := range []string{model.RoleFor, model.RoleAgainst, model.RoleContext} {
		for _, e := range in.By(role) {
			physical := sarifPlace(e.Ref, e.Excerpt, paths)
			if physical == nil {
				continue
			}
			if len(r.Locations) == 0 {
				r.Locations = append(r.Locations, sarifLocation{Physical: physical, Logical: logical, Message: &sarifMessage{string(escape.Visible(e.Claim))}})
				continue
			}
			r.Related = append(r.Related, sarifLocation{ID: len(r.Related) + 1, Physical: physical, Message: &sarifMessage{role + ": " + string(escape.Visible(e.Claim))}})
		}
	}
	if len(r.Locations) == 0 && len(logical) > 0 {
		r.Locations = append(r.Locations, sarifLocation{Logical: logical})
	}
	return r
}

// sarifPlace is a reference as a region: a line, or for packets the byte offset
// of the record.
func sarifPlace(ref model.Ref, excerpt string, paths map[event.StreamID]string) *sarifPhysical {
	path, ok := paths[ref.Stream]
	if !ok {
		return nil
	}
	p := &sarifPhysical{Artifact: sarifURI(path)}
	switch {
	case ref.Line > 0:
		p.Region = &sarifRegion{StartLine: ref.Line}
	case ref.Offset > 0 || ref.Packet > 0:
		offset := ref.Offset
		p.Region = &sarifRegion{ByteOffset: &offset}
	}
	if p.Region != nil {
		text := string(escape.Lines(excerpt))
		if ref.Packet > 0 {
			text = strings.TrimSpace(fmt.Sprintf("frame %d %s", ref.Packet, text))
		}
		if text != "" {
			p.Region.Snippet = &sarifMessage{text}
		}
	}
	return p
}

// sarifURI makes a relative URI of a path.
func sarifURI(path string) sarifArtifactLocation {
	return sarifArtifactLocation{URI: (&url.URL{Path: path}).EscapedPath()}
}

func streamPaths(res *model.Result) map[event.StreamID]string {
	paths := map[event.StreamID]string{}
	for _, in := range res.Inputs {
		for _, s := range in.Streams {
			paths[s.ID] = s.Path
		}
	}
	return paths
}

// sarifProblems lists damage in the inputs as notifications.
func sarifProblems(res *model.Result) []sarifNotification {
	out := []sarifNotification{}
	for _, in := range res.Inputs {
		for _, s := range in.Streams {
			for _, p := range s.Problems {
				n := sarifNotification{Level: "warning", Message: sarifMessage{string(escape.Visible(p.Message))}, Descriptor: &sarifDescriptor{p.Code}}
				place := &sarifPhysical{Artifact: sarifURI(s.Path)}
				if p.Line > 0 {
					place.Region = &sarifRegion{StartLine: p.Line}
				} else if p.Offset > 0 {
					offset := p.Offset
					place.Region = &sarifRegion{ByteOffset: &offset}
				}
				n.Locations = []sarifNotificationLocation{{place}}
				out = append(out, n)
			}
		}
	}
	return out
}
