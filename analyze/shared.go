package analyze

import (
	"cmp"
	"slices"

	"github.com/probe-forensics/probe-forensics/analyze/incident"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/rules"
)

// maxSharedEvidence bounds how many other parts and proofs a shared incident
// cites.
const maxSharedEvidence = 32

// share makes one incident of those that share a proven cause. The verdict is
// that of the part whose cause is surest, so that its arithmetic stays; what the
// others rest on, and what shows that they are one, stands beside it as context.
func (r *run) share(newCase func(*incident.Incident) *rules.Case) {
	judged := make([]incident.Judged, len(r.cases))
	for i, c := range r.cases {
		judged[i] = incident.Judged{Incident: c.Incident, Cause: r.verdicts[i].Cause.ID, Confidence: r.verdicts[i].Cause.Confidence}
	}
	gone := make(map[int]bool)
	for _, g := range incident.Shared(r.index, r.probes, judged) {
		best := slices.MaxFunc(g.Parts, func(a, b int) int {
			return cmp.Or(cmp.Compare(judged[a].Confidence, judged[b].Confidence), cmp.Compare(b, a))
		})
		v := r.verdicts[best]
		v.Evidence = slices.Clone(v.Evidence)
		var proof []model.Evidence
		for _, p := range g.Proof {
			if len(p.Refs) > 0 && len(proof) < maxSharedEvidence/4 {
				proof = append(proof, model.Evidence{Role: model.RoleContext, Claim: upper(p.Text) + ".", Ref: model.RefOf(p.Refs[0]), Time: model.At(p.At), Rule: v.Cause.ID})
			}
		}
		v.Evidence = append(v.Evidence, proof...)
		for _, i := range g.Parts {
			gone[i] = true
			if i == best || len(v.Evidence) > maxSharedEvidence {
				continue
			}
			if e := supporting(r.verdicts[i].Evidence); e != nil {
				pod := judged[i].Pods[0].PodRef.String()
				v.Evidence = append(v.Evidence, model.Evidence{Role: model.RoleContext, Claim: pod + ": " + e.Claim, Ref: e.Ref, Time: e.Time, Rule: e.Rule, More: e.More})
			}
		}
		v.Summary = g.Text
		v.Cause.SubReason = cmp.Or(v.Cause.SubReason, g.Kind)
		r.cases = append(r.cases, newCase(g.Incident))
		r.verdicts = append(r.verdicts, v)
	}
	if len(gone) == 0 {
		return
	}
	var cases []*rules.Case
	var verdicts []model.Incident
	for i := range r.cases {
		if !gone[i] {
			cases, verdicts = append(cases, r.cases[i]), append(verdicts, r.verdicts[i])
		}
	}
	r.cases, r.verdicts = cases, verdicts
}

// supporting returns the first evidence for a verdict, nil for none.
func supporting(es []model.Evidence) *model.Evidence {
	for i := range es {
		if es[i].Role == model.RoleFor {
			return &es[i]
		}
	}
	return nil
}

func upper(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}
