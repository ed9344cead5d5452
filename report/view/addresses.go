package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// AddressDispute is a disagreement about an address in words.
type AddressDispute struct {
	When   string
	What   string
	Claims []AddressClaim
	Why    string
}

// AddressClaim is one side of it; Refs are where its sources stand, at most four.
type AddressClaim struct {
	Text string
	Refs []model.Ref
}

// Disputes lists what sources contradict each other about: either the findings,
// or the copies that lagged as copies do.
func (c *Case) Disputes(expected bool) []AddressDispute {
	var out []AddressDispute
	for i := range c.Res.IPDisagreements {
		if d := &c.Res.IPDisagreements[i]; d.Expected == expected {
			out = append(out, disputeOf(d))
		}
	}
	return out
}

func disputeOf(d *model.IPDisagreement) AddressDispute {
	x := AddressDispute{When: Instant(d.From.Nanos) + " to ", What: disputeWhat(d), Why: d.Why}
	if d.To.IsZero() {
		x.When += "the end"
	} else {
		x.When += Clock(d.To.Nanos)
	}
	for i := range d.Claims {
		k := &d.Claims[i]
		a := AddressClaim{Text: k.IP}
		if d.Kind == model.DisagreeOwners {
			a.Text = k.Namespace + "/" + k.Pod
		}
		var kinds []string
		for _, s := range k.Sources {
			if !slices.Contains(kinds, s.Kind) {
				kinds = append(kinds, s.Kind)
				if len(a.Refs) < 4 && s.Ref.Stream != 0 {
					a.Refs = append(a.Refs, s.Ref)
				}
			}
		}
		a.Text += fmt.Sprintf(" by %s, rank %.2f", strings.Join(kinds, ", "), k.Rank)
		if k.Believed {
			a.Text += ", believed"
		}
		x.Claims = append(x.Claims, a)
	}
	return x
}

// disputeWhat says whose or which address it is about.
func disputeWhat(d *model.IPDisagreement) string {
	if len(d.Claims) == 0 {
		return ""
	}
	if d.Kind == model.DisagreeOwners {
		return fmt.Sprintf("%d live pods claim %s", len(d.Claims), d.Claims[0].IP)
	}
	return "address of " + d.Claims[0].Namespace + "/" + d.Claims[0].Pod
}

// disputes adds what concerns a pod of the incident to its timeline.
func (c *Case) disputes(pods []*model.Pod, end event.Nanos, add func(Fact)) {
	for i := range c.Res.IPDisagreements {
		d := &c.Res.IPDisagreements[i]
		for j := range d.Claims {
			k := &d.Claims[j]
			if d.Expected || !slices.ContainsFunc(pods, func(p *model.Pod) bool {
				return p.Namespace == k.Namespace && p.Pod == k.Pod && p.UID == k.UID
			}) {
				continue
			}
			f := Fact{At: d.From.Nanos, Until: until(d.To, end), Open: d.To.IsZero(), Kind: KindIP, Pod: k.Namespace + "/" + k.Pod, Text: "sources disagree: " + disputeWhat(d)}
			for _, a := range disputeOf(d).Claims {
				f.Text += "; " + strings.TrimSuffix(a.Text, ", believed")
			}
			if len(k.Sources) > 0 {
				f.Ref = k.Sources[0].Ref
			}
			add(f)
			break
		}
	}
}
