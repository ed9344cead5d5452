package rules

import (
	"github.com/probe-forensics/probe-forensics/analyze/model"
)

// maxMoreRefs is the bound of Evidence.More.
const maxMoreRefs = 16

// evidenceOf renders all predicates of a candidate that cite something: for,
// then against, then context.
func evidenceOf(k *candidate) []model.Evidence {
	var out []model.Evidence
	for _, role := range []string{model.RoleFor, model.RoleAgainst, model.RoleContext} {
		for i := range k.verdict.Predicates {
			p := &k.verdict.Predicates[i]
			if len(p.Refs) > 0 && p.role() == role {
				out = append(out, p.evidence(k.rule.ID))
			}
		}
	}
	return out
}

// lead renders the strongest supporting predicate of a candidate.
func lead(k *candidate) []model.Evidence {
	if s := strongest(k.verdict.Predicates, Need, Sup); len(s) > 0 {
		return []model.Evidence{s[0].evidence(k.rule.ID)}
	}
	return nil
}

func (p *Predicate) role() string {
	switch p.Role {
	case Need, Sup:
		return model.RoleFor
	case Con:
		return model.RoleAgainst
	default:
		return model.RoleContext
	}
}

func (p *Predicate) evidence(rule string) model.Evidence {
	e := model.Evidence{Role: p.role(), Claim: p.Claim, Ref: model.RefOf(p.Refs[0]), Time: model.At(p.At), Rule: rule, Weight: p.Weight}
	for _, r := range p.Refs[1:] {
		if len(e.More) == maxMoreRefs {
			break
		}
		e.More = append(e.More, model.RefOf(r))
	}
	return e
}
