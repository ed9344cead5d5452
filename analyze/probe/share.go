package probe

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/capture"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// groups are the connections that several workers may have made, by the workers:
// two tcpSocket probes of one port leave equal packets, and only the time at which
// they come tells them apart.
type groups struct {
	list []*group
	at   map[string]*group
}

type group struct {
	ws   []*Worker
	cs   []*capture.Conn // in time order
	life life
}

// add takes a connection in the life of a kubelet: the next one ticks anew.
func (g *groups) add(ws []*Worker, c *capture.Conn, l life) {
	key := strconv.AppendInt(nil, int64(l.from), 36)
	key = append(key, ' ')
	for _, w := range ws {
		key = strconv.AppendInt(key, int64(w.number), 36)
		key = append(key, ' ')
	}
	x := g.at[string(key)]
	if x == nil {
		x = &group{ws: ws, life: l}
		if g.at == nil {
			g.at = make(map[string]*group)
		}
		g.at[string(key)] = x
		g.list = append(g.list, x)
	}
	x.cs = append(x.cs, c)
}

// share gives every connection of every group to one of its workers.
func (g *groups) share(found map[*capture.Conn]*Worker) {
	known := make(map[*Worker][]event.Nanos)
	for c, w := range found {
		known[w] = append(known[w], c.Start())
	}
	told := make(map[*Worker]bool)
	for _, x := range g.list {
		for _, w := range x.ws {
			for _, a := range w.Attempts {
				if !told[w] && a.Start != 0 && a.Source != "event" {
					known[w] = append(known[w], a.Start)
				}
			}
			told[w] = true
		}
		own := make(map[*Worker][]event.Nanos)
		for _, w := range x.ws {
			for _, t := range known[w] {
				if x.life.contains(t) {
					own[w] = append(own[w], t)
				}
			}
			slices.Sort(own[w])
			own[w] = slices.Compact(own[w])
		}
		x.share(own, found)
	}
}

// share walks along the connections with one pacer a worker. Each goes to the
// worker in whose step it is; out of step it is a tick that ran late, of the
// worker most overdue, or else the extra readiness probe that the kubelet runs
// when it changes a pod's status.
func (g *group) share(known map[*Worker][]event.Nanos, found map[*capture.Conn]*Worker) {
	ps := g.pacers(known)
	for _, c := range g.cs {
		t := c.Start()
		var best *pacer
		for _, p := range ps {
			p.advance(t)
			if off := p.off(t); off <= p.tolerance() && (best == nil || off < best.off(t)) {
				best = p
			}
		}
		if best == nil {
			for _, p := range ps {
				if d := p.due(t); d >= 1 && (best == nil || d > best.due(t)) {
					best = p
				}
			}
		}
		if best == nil {
			best = ps[max(0, slices.IndexFunc(ps, func(p *pacer) bool { return p.w.Type == event.Readiness }))]
		}
		best.step(t)
		found[c] = best.w
	}
}

// pacers makes one pacer a worker. One of which nothing is known takes the phase
// that most connections left over by the others keep; the shortest period first,
// which has the most ticks.
func (g *group) pacers(known map[*Worker][]event.Nanos) []*pacer {
	ps := make([]*pacer, len(g.ws))
	left := make([]event.Nanos, len(g.cs))
	for i, c := range g.cs {
		left[i] = c.Start()
	}
	for i, w := range g.ws {
		ps[i] = &pacer{w: w, period: cmp.Or(w.Period, 10*time.Second), known: known[w]}
	}
	order := slices.Clone(ps)
	slices.SortStableFunc(order, func(p, q *pacer) int {
		return cmp.Or(cmp.Compare(min(len(q.known), 1), min(len(p.known), 1)), cmp.Compare(p.period, q.period))
	})
	for _, p := range order {
		if len(p.known) > 0 {
			p.phases[0] = p.known[0]
		} else {
			p.phases[0] = p.phase(left)
		}
		for _, q := range order {
			// Equal steps and no attempt of their own: nothing tells one from the other.
			if q != p && q.period == p.period && len(p.known)+len(q.known) == 0 {
				p.w.shared, q.w.shared = true, true
			}
		}
		if p.phases[0] != 0 {
			left = slices.DeleteFunc(left, func(t event.Nanos) bool { return p.residue(p.phases[0], t) <= p.tolerance() })
		}
	}
	return ps
}

// maxPhases bounds how many connections are tried for a phase.
const maxPhases = 64

// phase is the start with which most others are in step, zero for none.
func (p *pacer) phase(starts []event.Nanos) event.Nanos {
	var best event.Nanos
	most := 0
	for _, s := range starts[:min(len(starts), maxPhases)] {
		n := 0
		for _, t := range starts {
			if p.residue(s, t) <= p.tolerance() {
				n++
			}
		}
		if n > most {
			best, most = s, n
		}
	}
	return best
}

// pacer follows the ticks of one worker. After an extra probe the ticker begins
// anew from kubelet 1.32 on and keeps its step before that, so that two phases
// are remembered.
type pacer struct {
	w      *Worker
	period time.Duration
	phases [2]event.Nanos
	last   event.Nanos // zero before the first
	known  []event.Nanos
}

// tolerance is how far from its tick a probe may start to be in step.
func (p *pacer) tolerance() time.Duration {
	return min(max(p.period/20, 20*time.Millisecond), 250*time.Millisecond)
}

// residue is the distance of t from the nearest tick of a phase.
func (p *pacer) residue(phase, t event.Nanos) time.Duration {
	d := t.Sub(phase).Abs() % p.period
	return min(d, p.period-d)
}

// inStep reports whether a probe that started at t served a tick of the phase
// when it came. No tick is served before its time, but for the lateness of the one
// that gave the phase.
func (p *pacer) inStep(phase, t event.Nanos) bool {
	d := t.Sub(phase) % p.period
	return d <= p.tolerance() || d >= p.period-early
}

// early is how much earlier than its phase says a tick may seem to be served.
const early = 10 * time.Millisecond

// off is the distance of t from the nearest tick that is still to come, a whole
// period where there is none. A tick that ran late does not put off the next.
func (p *pacer) off(t event.Nanos) time.Duration {
	best := p.period
	for _, phase := range p.phases {
		if phase != 0 && (p.last == 0 || phase > t || t.Sub(phase) >= p.period/2) {
			best = min(best, p.residue(phase, t))
		}
	}
	return best
}

// due says how many periods ago the worker ran.
func (p *pacer) due(t event.Nanos) float64 {
	if p.last == 0 {
		return 0
	}
	return float64(t.Sub(p.last)) / float64(p.period)
}

func (p *pacer) step(t event.Nanos) {
	switch {
	case p.phases[0] == 0:
		p.phases[0] = t
	case p.residue(p.phases[0], t) > p.tolerance():
		p.phases[0], p.phases[1] = t, p.phases[0]
	default:
		p.phases[0] = t
	}
	p.last = max(p.last, t)
}

// advance takes the starts before t that are known from elsewhere.
func (p *pacer) advance(t event.Nanos) {
	for len(p.known) > 0 && p.known[0] < t {
		p.step(p.known[0])
		p.known = p.known[1:]
	}
}
