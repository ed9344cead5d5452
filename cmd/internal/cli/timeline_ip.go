package cli

import (
	"cmp"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/report/view"
)

// Roles of a pod or node towards an address.
const (
	roleOwner     = "owner"     // a source that knows says it had the address
	roleUsed      = "used"      // consumers went to it there; no owning source says so
	roleStale     = "stale"     // copies still named it after it was gone
	roleCompleted = "completed" // its status keeps the address; it owns nothing
	roleSharing   = "sharing"   // the node's address, which its host-network pods have too
	roleNobody    = "nobody"
)

// holding is one interval of an address; its JSON names are stable.
type holding struct {
	IP      string          `json:"ip"`
	Role    string          `json:"role"`
	Pod     string          `json:"pod"` // NAMESPACE/NAME, "" for a node and for nobody
	UID     string          `json:"uid"`
	Node    string          `json:"node"`
	From    model.Time      `json:"from"`
	To      model.Time      `json:"to"` // empty: to the end of the data
	State   string          `json:"state,omitempty"`
	Primary string          `json:"primary_reason,omitempty"`
	Sandbox string          `json:"sandbox,omitempty"`
	MAC     string          `json:"mac,omitempty"`
	InRange string          `json:"in_pod_cidr,omitempty"`
	Sources []holdingSource `json:"sources"`
	Note    string          `json:"note,omitempty"`
	At      model.Time      `json:"at,omitzero"`       // of nobody: the time asked for
	Checked []string        `json:"checked,omitempty"` // of nobody: what was looked at
}

// holdingSource is a record that says so.
type holdingSource struct {
	Kind  string     `json:"kind"`
	Rank  float64    `json:"rank"`
	At    model.Time `json:"at"`
	Where string     `json:"where"`
}

// addressAnswer is what is known of one address.
type addressAnswer struct {
	ip    netip.Addr
	at    event.Nanos // zero: at any time
	rows  []holding
	notes []string
}

// runAddress answers who had an address.
func (c *timelineCmd) runAddress(rt *session) error {
	if len(c.Pod) > 0 {
		return usagef("--ip asks about an address, --pod about a pod").try("give one of the two")
	}
	ip, err := parseAddress(c.IP)
	if err != nil {
		return err
	}
	at, ago, err := parseMoment("--at", c.At)
	if err != nil {
		return err
	}
	if c.At != "" && (c.Since != "" || c.Until != "") {
		return usagef("--at is one time, --since and --until are a span").try("give one of the two")
	}
	return c.analyze(rt, func(res *model.Result, options analyze.Options) error {
		if ago > 0 {
			at = res.Checked.To.Nanos.Add(-ago)
		}
		since, until := bounds(options, res.Checked.To.Nanos)
		if at != 0 {
			since, until = at, at
		}
		return c.printAnswer(rt, askAddress(res, ip, at, since, until))
	})
}

// parseAddress reads an address in any notation and returns its canonical form.
func parseAddress(text string) (netip.Addr, error) {
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		return ip, usagef("--ip: %q is no address", text).try("--ip 10.244.1.13, or --ip fd00:244:1::73")
	}
	return ip.WithZone("").Unmap(), nil
}

// askAddress collects who had an address between two times, which are the same
// where one time was asked for.
func askAddress(res *model.Result, ip netip.Addr, at, since, until event.Nanos) addressAnswer {
	a := addressAnswer{ip: ip, at: at}
	places := make(map[event.StreamID]string)
	for _, in := range res.Inputs {
		for _, s := range in.Streams {
			places[s.ID] = s.Path
		}
	}
	nodes := make(map[string]bool)
	for _, n := range res.Nodes {
		if slices.Contains(n.Addresses, ip.String()) {
			nodes[n.Name] = true
			a.rows = append(a.rows, holding{IP: ip.String(), Role: roleSharing, Node: n.Name, Sources: []holdingSource{}, Note: "an address of the node itself"})
		}
	}
	var all []holding
	for i := range res.Pods {
		p := &res.Pods[i]
		for j := range p.IPIntervals {
			if p.IPIntervals[j].IP == ip.String() {
				all = append(all, holdingOf(p, &p.IPIntervals[j], len(nodes) > 0, places))
			}
		}
	}
	var before, after *holding
	for i := range all {
		h := &all[i]
		switch {
		case !h.To.IsZero() && h.To.Nanos <= since:
			if h.Role == roleOwner && (before == nil || h.To.Nanos > before.To.Nanos) {
				before = h
			}
		case h.From.Nanos > until:
			if h.Role == roleOwner && (after == nil || h.From.Nanos < after.From.Nanos) {
				after = h
			}
		default:
			a.rows = append(a.rows, *h)
		}
	}
	slices.SortStableFunc(a.rows, func(x, y holding) int {
		return cmp.Or(cmp.Compare(roleOrder(x.Role), roleOrder(y.Role)), cmp.Compare(x.From.Nanos, y.From.Nanos), cmp.Compare(x.Pod, y.Pod), cmp.Compare(x.UID, y.UID), cmp.Compare(x.Node, y.Node))
	})
	markOverlaps(a.rows)
	if !slices.ContainsFunc(a.rows, func(h holding) bool { return h.Role == roleOwner || h.Role == roleSharing }) {
		a.rows = append([]holding{nobody(res, a, before, after)}, a.rows...)
	}
	for _, d := range res.IPDisagreements {
		if slices.ContainsFunc(d.Claims, func(k model.IPClaim) bool { return k.IP == ip.String() }) && d.From.Nanos <= until && (d.To.IsZero() || d.To.Nanos >= since) {
			a.notes = append(a.notes, disputeNote(&d))
		}
	}
	return a
}

func roleOrder(role string) int {
	return slices.Index([]string{roleNobody, roleOwner, roleSharing, roleUsed, roleStale, roleCompleted}, role)
}

// holdingOf is an interval of a pod, with the pod's role in it.
func holdingOf(p *model.Pod, iv *model.IPInterval, nodes bool, places map[event.StreamID]string) holding {
	h := holding{IP: iv.IP, Role: roleOwner, Pod: p.Namespace + "/" + p.Pod, UID: p.UID, Node: p.Node, From: iv.From, To: iv.To, State: iv.State,
		Primary: iv.PrimaryWhy, Sandbox: iv.Sandbox, MAC: iv.MAC, InRange: iv.InPodCIDR, Sources: []holdingSource{}}
	switch {
	case p.HostNetwork:
		h.Role, h.Note = roleSharing, "on the host network"
	case nodes:
		h.Role, h.Note = roleSharing, "no object tells; a pod with its node's address is on the host network"
	case (p.Phase == "Succeeded" || p.Phase == "Failed") && iv.To.IsZero():
		h.Role, h.Note = roleCompleted, "the pod ended ("+p.Phase+") and keeps the address in its status"
	case iv.State == "targeted":
		h.Role = roleUsed
	case iv.State == "stale":
		h.Role = roleStale
	}
	for _, s := range iv.Sources {
		where := ""
		if s.Ref.Stream != 0 {
			where = path.Base(places[s.Ref.Stream]) + s.Ref.Event().Place()
		}
		h.Sources = append(h.Sources, holdingSource{Kind: s.Kind, Rank: s.Rank, At: s.At, Where: where})
	}
	return h
}

// markOverlaps notes which owners had the address together.
func markOverlaps(rows []holding) {
	for i := range rows {
		var with []string
		for j := range rows {
			a, b := &rows[i], &rows[j]
			if i == j || a.Role != roleOwner || b.Role != roleOwner || a.Pod == b.Pod && a.UID == b.UID {
				continue
			}
			if (a.To.IsZero() || b.From.Nanos < a.To.Nanos) && (b.To.IsZero() || a.From.Nanos < b.To.Nanos) && !slices.Contains(with, b.Pod) {
				with = append(with, b.Pod)
			}
		}
		if len(with) > 0 {
			rows[i].Note = strings.TrimPrefix(rows[i].Note+"; at the same time as "+strings.Join(with, ", "), "; ")
		}
	}
}

// nobody says what was looked at where no owner is known, and who had the
// address before and after.
func nobody(res *model.Result, a addressAnswer, before, after *holding) holding {
	h := holding{IP: a.ip.String(), Role: roleNobody, At: model.At(a.at), Sources: []holdingSource{}, Note: "nobody is known to have had it"}
	intervals := 0
	for i := range res.Pods {
		intervals += len(res.Pods[i].IPIntervals)
	}
	h.Checked = append(h.Checked, fmt.Sprintf("%s of %s, deleted ones included", view.Count(intervals, "interval", "intervals"), view.Count(len(res.Pods), "pod", "pods")))
	addresses := 0
	for _, n := range res.Nodes {
		addresses += len(n.Addresses)
		for _, c := range n.PodCIDRs {
			if r, err := netip.ParsePrefix(c); err == nil && r.Contains(a.ip) {
				h.Checked = append(h.Checked, fmt.Sprintf("it lies in the range %s of node %s", c, n.Name))
			}
		}
	}
	h.Checked = append(h.Checked, fmt.Sprintf("%s of %s", view.Count(addresses, "address", "addresses"), view.Count(len(res.Nodes), "node", "nodes")))
	if ch := res.Checked; !ch.From.IsZero() {
		h.Checked = append(h.Checked, fmt.Sprintf("records of %s to %s", moment(ch.From), moment(ch.To)))
		if a.at != 0 && (a.at < ch.From.Nanos || a.at > ch.To.Nanos) {
			h.Checked = append(h.Checked, "the time asked for lies outside of them")
		}
	}
	if before != nil {
		h.Checked = append(h.Checked, fmt.Sprintf("last before: %s until %s", before.Pod, moment(before.To)))
	}
	if after != nil {
		h.Checked = append(h.Checked, fmt.Sprintf("next: %s from %s", after.Pod, moment(after.From)))
	}
	return h
}

// disputeNote tells a disagreement about the address in one line.
func disputeNote(d *model.IPDisagreement) string {
	var claims []string
	for _, k := range d.Claims {
		claims = append(claims, fmt.Sprintf("%s has %s (rank %.2f)", k.Namespace+"/"+k.Pod, k.IP, k.Rank))
	}
	text := "sources disagree"
	if d.Expected {
		text = "a copy lagged as usual"
	}
	return fmt.Sprintf("%s, %s: %s; %s", moment(d.From), text, strings.Join(claims, ", "), d.Why)
}

// moment prints a time as timelines do.
func moment(t model.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Nanos.Time().Format(timelineStamp)
}
