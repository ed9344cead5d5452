package identity

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// minClaim is the shortest time for which two pods must both have held an
// address to contradict each other: ends and begins come from different clocks
// and records.
const minClaim = 5 * time.Second

// Disagreement is a time in which sources contradict each other about an
// address. Nothing is averaged: every claim stays, one may be believed.
type Disagreement struct {
	// Owners is set where several live pods claim one address; else sources place
	// different addresses on one pod.
	Owners bool
	// Expected is set where a copy merely stayed behind for as long as copies do.
	Expected bool
	// From and To bound it, node clock; To is zero where it lasted to the end of the
	// data.
	From, To event.Nanos
	Claims   []Claim // the believed one first
	Believed bool    // the first claim is believed; else none outranks the others
	Why      string
}

// Claim is one side of a disagreement.
type Claim struct {
	Pod      *Pod
	Interval *Interval
	Sources  []Source // by time
}

// IP is the address claimed.
func (c *Claim) IP() netip.Addr { return c.Interval.IP }

// Disagreements compares what sources say about addresses: of each pod (UID) at
// one time, and of pods that claim one address. Call it when everything that may
// name an address was observed.
func (x *Index) Disagreements() []Disagreement {
	var out []Disagreement
	for _, p := range x.Pods {
		// Without a UID several incarnations of a name are one pod here.
		if p.HostNetwork || p.UID == "" || len(p.Intervals) > maxCompared {
			continue
		}
		out = append(out, x.sourcesOf(p)...)
	}
	out = append(out, x.claimants()...)
	for i := range out {
		if d := &out[i]; d.To != 0 && d.To < d.From {
			d.To = d.From // the clocks of its records disagree too
		}
	}
	slices.SortStableFunc(out, func(a, b Disagreement) int { return cmp.Compare(a.From, b.From) })
	return out
}

// sourcesOf compares the addresses that sources place on one pod.
func (x *Index) sourcesOf(p *Pod) []Disagreement {
	var out []Disagreement
	told := make(map[string]bool) // sandboxes whose late copies were told
	for i := range p.Intervals {
		for j := range p.Intervals {
			a, b := &p.Intervals[i], &p.Intervals[j]
			if i == j || b.State == Stale || x.shared[a.IP] || x.shared[b.IP] {
				continue
			}
			judge := x.against
			switch {
			case a.State == Targeted && b.State == Held:
				judge = x.astray
			case !comparable(a, b) || a.State == Targeted || b.State == Targeted:
				continue
			}
			if d, ok := judge(p, a, b); ok {
				told[a.Sandbox] = true
				if !slices.ContainsFunc(out, func(o Disagreement) bool { return o.between(a, b) }) {
					out = append(out, d)
				}
			}
		}
	}
	for i := range p.Intervals {
		if iv := &p.Intervals[i]; iv.State == Held && !iv.Secondary && iv.Sandbox != "" && !told[iv.Sandbox] {
			if d, ok := x.late(p, iv); ok {
				out = append(out, d)
			}
		}
	}
	return out
}

func (d *Disagreement) between(a, b *Interval) bool {
	return len(d.Claims) == 2 && (d.Claims[0].Interval == a && d.Claims[1].Interval == b || d.Claims[0].Interval == b && d.Claims[1].Interval == a)
}

// against tells whether address a of a pod contradicts its address b.
func (x *Index) against(p *Pod, a, b *Interval) (Disagreement, bool) {
	sa, sb := x.statements(a), x.statements(b)
	if len(sa) == 0 || len(sb) == 0 {
		return Disagreement{}, false
	}
	last := sa[len(sa)-1].at
	if a.State == Stale {
		d := pairOf(p, a, b, sa, sb)
		d.From, d.To, d.Believed, d.Expected = a.From, last, true, true
		d.Why = leftover(a.IP, sa, last.Sub(a.From))
		return d, true
	}
	if r, _ := x.relate(p, a, b); r != opposed || !overlaps(a, b) {
		return Disagreement{}, false
	}
	if r, _ := x.relate(p, b, a); r == changed || r == lagging {
		return Disagreement{}, false
	}
	win, lose, sw, sl := b, a, sb, sa
	if better(sa, sb) > 0 {
		win, lose, sw, sl = a, b, sa, sb
	}
	d := pairOf(p, lose, win, sl, sw)
	d.From, d.To = max(sa[0].at, sb[0].at), cmp.Or(lose.To, win.To)
	d.Believed = better(sw, sl) != 0
	d.Why = verdict(sw, sl, win.IP, d.Believed)
	if at, ok := x.left(p, lose, sl); ok && nearest(sl) < Direct {
		d.Why = leftover(lose.IP, sl, at.Sub(lose.From))
		d.From = lose.From
	}
	return d, true
}

// astray tells whether the probes of a pod went to an address a that is not the
// one it had, b.
func (x *Index) astray(p *Pod, a, b *Interval) (Disagreement, bool) {
	sa, sb := x.statements(a), x.statements(b)
	if len(sa) == 0 || len(sb) == 0 || nearest(sb) == Used || a.IP == b.IP || a.IP.Is4() != b.IP.Is4() || b.Secondary || !overlaps(a, b) {
		return Disagreement{}, false
	}
	last := sa[len(sa)-1].at
	d := pairOf(p, a, b, sa, sb)
	d.From, d.To, d.Believed = max(a.From, b.From), last, true
	if slices.ContainsFunc(p.Intervals, func(o Interval) bool { return o.IP == a.IP && o.State == Held && o.From < a.From }) {
		d.Expected = last.Sub(b.From) <= MaxLag
		d.Why = leftover(a.IP, sa, last.Sub(b.From))
		return d, last >= b.From
	}
	d.Why = fmt.Sprintf("%s is what %s, while the probes of the pod went to %s, which no source gives it", b.IP, says(sb), a.IP)
	return d, last > sb[0].at && !x.elsewhere(p, a)
}

// leftover says how long an address of an earlier sandbox was still told or used.
func leftover(ip netip.Addr, ss []statement, late time.Duration) string {
	return fmt.Sprintf("%s is the address of an earlier sandbox; %s still had it %s after the new sandbox began", ip, kinds(ss), span(late)) + lagWord(late <= MaxLag)
}

// late tells how long the API kept the address of the sandbox before, where that
// is recorded.
func (x *Index) late(p *Pod, iv *Interval) (Disagreement, bool) {
	i := slices.IndexFunc(p.Sandboxes, func(s Sandbox) bool { return s.ID == iv.Sandbox })
	if i <= 0 {
		return Disagreement{}, false
	}
	var before *Interval
	for j := range p.Intervals {
		if o := &p.Intervals[j]; o.Sandbox == p.Sandboxes[i-1].ID && o.IP.Is4() == iv.IP.Is4() && o.State == Held && !o.Secondary {
			before = o
		}
	}
	if before == nil || before.IP == iv.IP {
		return Disagreement{}, false
	}
	first := firstTold(iv)
	var old []statement
	for _, s := range x.statements(before) {
		if witness(s.Kind) == "api" {
			old = append(old, s)
		}
	}
	took := first.Sub(p.Sandboxes[i].From)
	if first == 0 || took <= 0 || len(old) == 0 {
		return Disagreement{}, false
	}
	d := pairOf(p, before, iv, old[max(len(old)-4, 0):], x.statements(iv))
	d.From, d.To, d.Believed, d.Expected = p.Sandboxes[i].From, first, true, took <= MaxLag
	d.Why = fmt.Sprintf("the API still had %s for %s after the new sandbox began", before.IP, span(took)) + lagWord(d.Expected)
	return d, true
}

// firstTold is when the status with the address was first written, zero where no
// record dates it.
func firstTold(iv *Interval) event.Nanos {
	var at event.Nanos
	for _, s := range iv.Sources {
		if witness(s.Kind) == "api" && s.At != 0 && (at == 0 || s.At < at) {
			at = s.At
		}
	}
	return at
}

func lagWord(expected bool) string {
	if expected {
		return fmt.Sprintf(": copies lag behind the runtime, normally for less than %s", span(MaxLag))
	}
	return fmt.Sprintf(": longer than copies lag behind the runtime (%s)", span(MaxLag))
}

// elsewhere reports whether the pod's probes may rightly go to an address that
// is not the pod's: a probe names a host of its own, or no object tells.
func (x *Index) elsewhere(p *Pod, iv *Interval) bool {
	if len(p.Containers) == 0 || iv.IP.IsLoopback() {
		return true
	}
	for i := range p.Containers {
		for _, s := range p.Containers[i].Probes {
			if s.Host != "" {
				return true
			}
		}
	}
	return false
}

// pairOf is a disagreement of two addresses of one pod; what win says is first.
func pairOf(p *Pod, lose, win *Interval, sl, sw []statement) Disagreement {
	return Disagreement{Claims: []Claim{{p, win, bare(sw)}, {p, lose, bare(sl)}}}
}

func bare(ss []statement) []Source {
	out := make([]Source, len(ss))
	for i, s := range ss {
		out[i] = s.Source
	}
	return out
}

// better compares two claims: by the nearness of their best source, then by its
// rank. Zero means that neither outranks the other.
func better(a, b []statement) int {
	return cmp.Or(cmp.Compare(nearest(a), nearest(b)), cmp.Compare(rank(a), rank(b)))
}

func verdict(win, lose []statement, ip netip.Addr, believed bool) string {
	if !believed {
		return fmt.Sprintf("%s and %s rank alike (%.2f): both claims stay, none is believed", kinds(win), kinds(lose), rank(win))
	}
	why := "ranks higher"
	if nearest(win) == Direct && nearest(lose) < Direct {
		why = "reads the sandbox itself, which the other copies"
	}
	return fmt.Sprintf("%s is believed: %s (rank %.2f) %s (%s, rank %.2f)", ip, kinds(win), rank(win), why, kinds(lose), rank(lose))
}

// kinds lists the kinds of sources, each once, in the order they first spoke.
func kinds(ss []statement) string {
	var out []string
	for _, s := range ss {
		if !slices.Contains(out, s.Kind) {
			out = append(out, s.Kind)
		}
	}
	return strings.Join(out, ", ")
}

func says(ss []statement) string {
	list := kinds(ss)
	if strings.Contains(list, ",") {
		return list + " say"
	}
	return list + " says"
}

func span(d time.Duration) string {
	if d >= time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}

func overlaps(a, b *Interval) bool {
	return (a.To == 0 || b.From < a.To) && (b.To == 0 || a.From < b.To)
}
