// Package manifest describes one run: what went in, what could change the
// result, and what came out. It is written last and so marks a complete report.
package manifest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"slices"
	"strconv"

	"github.com/probe-forensics/probe-forensics/analyze/model"
)

// FileName is the name of the manifest in the report directory.
const FileName = "manifest.json"

// Setting is an option of the analysis that can change its result: --tz,
// --since, a threshold. Options that can't (workers, colour, paths) are none.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// File is a file of the report.
type File struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// Input is an outer input of the run.
type Input struct {
	Path     string `json:"path"`
	SHA256   string `json:"sha256"`
	Bytes    int64  `json:"bytes"`
	Streams  int    `json:"streams"`
	Problems int64  `json:"problems"`
}

// Manifest is the content of manifest.json.
type Manifest struct {
	SchemaVersion string     `json:"schema_version"`
	RunID         string     `json:"run_id"`
	BundleID      string     `json:"bundle_id"`
	Cluster       string     `json:"cluster"`
	Tool          model.Tool `json:"tool"`
	Inputs        []Input    `json:"inputs"`
	Settings      []Setting  `json:"settings"`
	Counters      Counters   `json:"counters"`
	Files         []File     `json:"files"`
}

// Counters sum up the run.
type Counters struct {
	Streams   int   `json:"streams"`
	Lines     int64 `json:"lines"`
	Packets   int64 `json:"packets"`
	Attempts  int   `json:"attempts"`
	Incidents int   `json:"incidents"`
	Problems  int64 `json:"problems"`
}

// RunID is the identity of a run: a hash over the digests of the inputs, the
// settings, the rules and the version, never random and never the clock.
func RunID(res *model.Result, settings []Setting) string {
	h := sha256.New()
	put := func(s string) {
		io.WriteString(h, strconv.Itoa(len(s)))
		io.WriteString(h, ":")
		io.WriteString(h, s)
	}
	put(res.BundleID)
	put(res.SchemaVersion)
	put(res.Tool.Version)
	put(res.Tool.RulesHash)
	for _, s := range sorted(settings) {
		put(s.Key)
		put(s.Value)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// New describes a result and the files that were written for it.
func New(res *model.Result, settings []Setting, files []File) *Manifest {
	m := &Manifest{
		SchemaVersion: res.SchemaVersion, RunID: RunID(res, settings), BundleID: res.BundleID, Cluster: res.Cluster,
		Tool: res.Tool, Inputs: []Input{}, Settings: sorted(settings), Files: append([]File{}, files...),
	}
	t := res.Totals
	m.Counters = Counters{
		Lines: t.Lines, Packets: t.Packets, Incidents: len(res.Incidents),
		Attempts: t.Attempts.Success + t.Attempts.Failure + t.Attempts.Unknown,
	}
	for _, in := range res.Inputs {
		mi := Input{Path: in.Path, SHA256: in.SHA256, Bytes: in.Bytes, Streams: len(in.Streams)}
		for _, s := range in.Streams {
			for _, p := range s.Problems {
				mi.Problems += max(p.Count, 1)
			}
		}
		m.Counters.Streams += mi.Streams
		m.Counters.Problems += mi.Problems
		m.Inputs = append(m.Inputs, mi)
	}
	slices.SortFunc(m.Files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return m
}

func sorted(settings []Setting) []Setting {
	out := append([]Setting{}, settings...)
	slices.SortFunc(out, func(a, b Setting) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value))
	})
	return out
}

// Write writes the manifest as indented JSON.
func (m *Manifest) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(m)
}

// Read reads a manifest.
func Read(r io.Reader) (*Manifest, error) {
	m := new(Manifest)
	if err := json.NewDecoder(r).Decode(m); err != nil {
		return nil, err
	}
	return m, nil
}
