package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/rules"
	"github.com/probe-forensics/probe-forensics/cmd/internal/store"
	"github.com/probe-forensics/probe-forensics/parsers/source"
	"github.com/probe-forensics/probe-forensics/report/manifest"
)

// What became of a bundle.
const (
	statusDone   = "done"
	statusFailed = "failed"
)

// runRow is one bundle of a run over many: the content of runs/<case>.json. All
// files of that directory together are a table. Nothing in it depends on when
// or in which share the bundle was analysed.
type runRow struct {
	Bundle string `json:"bundle"` // as in the list; "" when redacted
	Case   string `json:"case"`   // directory below cases/
	Status string `json:"status"` // done or failed
	Error  string `json:"error"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	// Version is what the object store calls this content of a bundle that lies in
	// one: --skip-existing compares it, so that nothing is read again.
	Version string `json:"version,omitempty"`
	RunID   string `json:"run_id"`
	// Key is equal for equal bytes, options, outputs, rules and version: what
	// --skip-existing compares. It is "" where it could tell what was redacted.
	Key       string     `json:"key"`
	Cluster   string     `json:"cluster"`
	Problems  int        `json:"problems"` // places in the inputs where records were lost
	Incidents []rowCause `json:"incidents"`
}

// rowCause is the verdict on one incident.
type rowCause struct {
	ID             string  `json:"cause"`
	Family         string  `json:"family"`
	Confidence     float64 `json:"confidence"`
	Word           string  `json:"word"`
	FailedAttempts int     `json:"failed_attempts"`
}

func (c rowCause) cause() model.Cause {
	return model.Cause{ID: c.ID, Family: c.Family, Confidence: c.Confidence, Word: c.Word}
}

// incidents fills what the result says.
func (r *runRow) incidents(res *model.Result) {
	r.Cluster = res.Cluster
	for _, i := range res.Incidents {
		r.Incidents = append(r.Incidents, rowCause{ID: i.Cause.ID, Family: i.Cause.Family, Confidence: i.Cause.Confidence,
			Word: i.Cause.Word, FailedAttempts: i.FailedAttempts})
	}
}

func (r *runRow) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if r.Incidents == nil {
		r.Incidents = []rowCause{}
	}
	err := enc.Encode(r)
	return b.Bytes(), err
}

// rowFile is the place of a case's row.
func rowFile(name string) string { return "runs/" + name + ".json" }

// runKey is the identity of a case and of the files written for it.
func (j *caseJob) runKey(sum, rulesHash string) string {
	if sum == "" || j.redact && len(j.settings) > 0 {
		return "" // a pseudonym must not be guessable by trying names
	}
	h := sha256.New()
	put := func(s string) { h.Write([]byte(strconv.Itoa(len(s)) + ":" + s)) }
	for _, s := range []string{sum, model.SchemaVersion, j.options.ToolVersion, rulesHash, j.flavor, strconv.FormatBool(j.redact)} {
		put(s)
	}
	for _, f := range j.formats {
		put(f)
	}
	put("")
	for _, s := range j.settings {
		put(s.Key)
		put(s.Value)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// same reports whether a row was made from the bundle as it is now by what would
// be done with it now.
func (f *fleetRun) same(rt *session, row *runRow, bundle string) bool {
	sum := row.SHA256
	if store.IsURL(bundle) {
		version, size, err := source.VersionOf(rt.ctx, rt.pins, bundle)
		if err != nil || version == "" || version != row.Version || size != row.Bytes {
			return false
		}
	} else {
		var err error
		if sum, _, err = source.Digest(rt.ctx, bundle); err != nil {
			return false
		}
	}
	key := f.job.runKey(sum, rules.RulesHash())
	return key != "" && key == row.Key
}

// existing returns the row of a case whose reports are complete and would come
// out the same, nil when there is none.
func (f *fleetRun) existing(rt *session, name, bundle string) *runRow {
	data, err := f.out.ReadFile(rowFile(name))
	if err != nil {
		return nil
	}
	row := new(runRow)
	if json.Unmarshal(data, row) != nil || row.Status != statusDone || !f.same(rt, row, bundle) {
		return nil
	}
	if len(f.job.formats) == 0 {
		return row
	}
	data, err = f.out.ReadFile(caseDir(name) + "/" + manifest.FileName)
	if err != nil {
		return nil
	}
	m, err := manifest.Read(bytes.NewReader(data))
	if err != nil || m.RunID != row.RunID {
		return nil
	}
	for _, file := range m.Files {
		if !f.out.Has(caseDir(name)+"/"+file.Name, file.Bytes) {
			return nil
		}
	}
	return row
}

// caseDir is the directory of a case's reports.
func caseDir(name string) string { return "cases/" + name }
