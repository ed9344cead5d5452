package cli

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

type inventoryCmd struct {
	inputArgs
	JSON  bool     `name:"json" group:"output" help:"Write JSON."`
	All   bool     `group:"output" help:"List every stream, however many of one format there are."`
	Limit []string `sep:"none" group:"supply" placeholder:"NAME=NUMBER" help:"As for analyze."`
}

// Help says what the verb is for.
func (*inventoryCmd) Help() string {
	return `Reads the inputs as analyze does, names the format, the node and the time span of each stream, the kubelet's verbosity and the silences of logs and captures, and says which questions about probes the inputs can answer, what is missing for the others, and which causes are less sure without it. Nothing is written.

    probe-forensics inventory must-gather.tar.gz node-1.pcap`
}

// inventory is what the verb reports; its JSON names are stable.
type inventory struct {
	Inputs    []inventoryInput   `json:"inputs"`
	Nodes     []inventoryNode    `json:"nodes"`
	Streams   []inventoryStream  `json:"streams"`
	NotRead   []inventoryNotRead `json:"not_read"`
	Problems  []string           `json:"problems"`
	Remedies  []string           `json:"remedies"` // what to do about the problems
	Questions []answer           `json:"questions"`
}

type inventoryInput struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// inventoryNode is what the inputs hold of a node.
type inventoryNode struct {
	Name     string `json:"name"`
	Events   int64  `json:"events"`
	Failures int64  `json:"probe_failures"` // in the log that has most: an export may hold one journal twice
	Captures int    `json:"captures"`
	// Verbosity is the kubelet's -v level that its lines prove, -1 where none does.
	// In a log of several nodes it is that of the whole log.
	Verbosity int `json:"verbosity"`

	logs map[event.StreamID]int64 // failures by log
	// known is set by more than Events: their host may be the name of a pod.
	known bool
}

type inventoryNotRead struct {
	Reason  string `json:"reason"`
	Files   int64  `json:"files"`
	Example string `json:"example"`
}

type inventoryStream struct {
	ID      event.StreamID   `json:"id"`
	Path    string           `json:"path"`
	Format  string           `json:"format"`
	Node    string           `json:"node"`
	Bytes   int64            `json:"bytes"`
	Records int64            `json:"records"`
	First   string           `json:"first"` // as recorded: the zone or year may be missing
	Last    string           `json:"last"`
	Events  map[string]int64 `json:"events"` // kept events by kind
	// Silences are gaps between records (ten minutes or more) or frames (one minute
	// or more): nothing happened, or nothing was kept.
	Silences []inventoryGap `json:"silences,omitempty"`
}

type inventoryGap struct {
	From string `json:"from"`
	To   string `json:"to"`
	span time.Duration
}

// Run prints the inventory.
func (c *inventoryCmd) Run(rt *session) error {
	limits, err := parseLimits(c.Limit)
	if err != nil {
		return err
	}
	kase, err := rt.open(c.Input, limits)
	if err != nil {
		return err
	}
	defer kase.Close()
	inv, err := takeInventory(kase)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(rt.stdout, inv)
	}
	return inv.print(rt.stdout, c.All)
}

func takeInventory(c *parsers.Case) (*inventory, error) {
	kinds := make(map[event.StreamID]map[string]int64)
	all := make(map[event.Kind][]event.StreamID)
	nodes := make(map[string]*inventoryNode)
	for e, err := range c.Events() {
		if err != nil {
			return nil, err
		}
		kind := e.Payload.Kind()
		if e.Node != "" {
			n := nodeOf(nodes, e.Node)
			n.Events++
			n.known = n.known || kind != event.KindK8sEvent
			if r, ok := e.Payload.(*event.ProbeResult); ok {
				failed := n.logs[e.Ref.Stream]
				if r.Outcome == event.OutcomeFailed || r.Outcome == event.OutcomeErrored {
					failed++
				}
				n.logs[e.Ref.Stream] = failed
				n.Failures = max(n.Failures, failed)
			}
		}
		counts := kinds[e.Ref.Stream]
		if counts == nil {
			counts = make(map[string]int64)
			kinds[e.Ref.Stream] = counts
		}
		if counts[kind.String()]++; counts[kind.String()] == 1 {
			all[kind] = append(all[kind], e.Ref.Stream)
		}
	}
	inv := &inventory{Inputs: []inventoryInput{}, Nodes: []inventoryNode{}, Streams: []inventoryStream{}, NotRead: []inventoryNotRead{}, Problems: []string{}, Remedies: []string{}}
	for _, in := range c.Inputs() {
		inv.Inputs = append(inv.Inputs, inventoryInput{in.Path, in.SHA256, in.Bytes})
	}
	for _, g := range c.Ignored() {
		inv.NotRead = append(inv.NotRead, inventoryNotRead{g.Reason, g.Files, g.Example})
	}
	for _, s := range c.Infos() {
		if s.Format == "" {
			continue // among the problems
		}
		inv.Streams = append(inv.Streams, inventoryStream{
			ID: s.ID, Path: s.Path, Format: s.Format, Node: s.Node, Bytes: s.Bytes, Records: s.Records,
			First: recorded(s.First), Last: recorded(s.Last), Events: kinds[s.ID], Silences: silences(s),
		})
		if s.Node != "" && s.Capture != nil {
			n := nodeOf(nodes, s.Node)
			n.Captures, n.known = n.Captures+1, true
		}
		for _, n := range nodes {
			if _, ok := n.logs[s.ID]; ok || s.Node == n.Name {
				n.Verbosity = max(n.Verbosity, s.Verbosity)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		if nodes[name].known {
			inv.Nodes = append(inv.Nodes, *nodes[name])
		}
	}
	for _, p := range c.Problems() {
		inv.Problems = append(inv.Problems, place(p)+": "+p.Code+": "+p.Message)
	}
	inv.Remedies = append(inv.Remedies, c.Remedies()...)
	inv.Questions = ask(all)
	return inv, nil
}

func nodeOf(nodes map[string]*inventoryNode, name string) *inventoryNode {
	n := nodes[name]
	if n == nil {
		n = &inventoryNode{Name: name, Verbosity: -1, logs: make(map[event.StreamID]int64)}
		nodes[name] = n
	}
	return n
}

// silences are the gaps of a log or a capture, the longest first.
func silences(s *event.StreamInfo) []inventoryGap {
	var gaps []event.Gap
	gaps = append(gaps, s.Silences...)
	missing := s.First.Missing
	if s.Capture != nil {
		gaps = append(gaps, s.Capture.Gaps...)
	}
	var out []inventoryGap
	for _, g := range gaps {
		out = append(out, inventoryGap{span: g.To.Sub(g.From),
			From: recorded(event.Stamp{At: g.From, Missing: missing}), To: recorded(event.Stamp{At: g.To, Missing: missing})})
	}
	slices.SortStableFunc(out, func(a, b inventoryGap) int { return cmp.Compare(b.span, a.span) })
	return out
}

// recorded renders a stamp with a question mark for each part the record lacks.
func recorded(s event.Stamp) string {
	if s.IsZero() {
		return ""
	}
	text := s.At.Time().Format("2006-01-02T15:04:05Z")
	if s.Missing&event.MissingZone != 0 {
		text = strings.TrimSuffix(text, "Z") + "?"
	}
	if s.Missing&event.MissingDate != 0 {
		return "????-??-??" + text[10:]
	}
	if s.Missing&event.MissingYear != 0 {
		return "????" + text[4:]
	}
	return text
}
