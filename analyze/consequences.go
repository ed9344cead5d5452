package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/incident"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// maxConsequences bounds the list of one incident: a crash loop of days has one
// for each restart.
const maxConsequences = 64

// consequences lists what the failures led to: restarts, changes of readiness and
// what the API made of them, each with the attempt that decided it.
func consequences(i *incident.Incident, attempts *attemptTable) []model.Consequence {
	type place struct {
		kind string
		ref  model.Ref
	}
	var out []model.Consequence
	at := make(map[place]int)
	add := func(c model.Consequence) {
		k := place{c.Kind, c.Ref}
		if j, ok := at[k]; ok {
			out[j].Attempt = cmp.Or(out[j].Attempt, c.Attempt)
			return
		}
		at[k] = len(out)
		out = append(out, c)
	}
	end := i.Last
	if i.Recovered != 0 {
		end = i.Recovered
	}
	for _, p := range i.Pods {
		for _, run := range p.Runs {
			if run.KilledBy != event.ProbeUnknown && run.KilledAt >= i.First && run.KilledAt <= end && len(run.KillRefs) > 0 {
				add(model.Consequence{Kind: probe.EffectRestart, At: model.At(run.KilledAt), Ref: model.RefOf(run.KillRefs[0]),
					Text: fmt.Sprintf("the kubelet restarted container %s of %s: its %s probe failed too often", run.Container, p.PodRef, run.KilledBy)})
			}
		}
		for _, c := range p.Ready {
			if c.Probe == event.Readiness && c.At >= i.First && c.At <= end {
				kind := probe.EffectNotReady
				if c.Status == "ready" {
					kind = probe.EffectReady
				}
				add(model.Consequence{Kind: kind, At: model.At(c.At), Ref: model.RefOf(c.Ref), Text: fmt.Sprintf("%s became %s", p.PodRef, c.Status)})
			}
		}
	}
	for _, m := range i.Members {
		for _, list := range [...][]*probe.Attempt{m.Failed, m.Attempts} {
			for _, a := range list {
				if len(a.Effects) == 0 {
					continue
				}
				for _, c := range attempts.row(a).Effects {
					if c.Kind != probe.EffectUnhealthy && c.Kind != probe.EffectStarted {
						add(c)
					}
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b model.Consequence) int {
		return cmp.Or(cmp.Compare(a.At.Nanos, b.At.Nanos), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Text, b.Text))
	})
	return out[:min(len(out), maxConsequences)]
}
