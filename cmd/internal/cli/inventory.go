package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/probe-forensics/probe-forensics/cmd/internal/progress"
	"github.com/probe-forensics/probe-forensics/parsers"
	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/report/escape"
)

type inventoryCmd struct {
	inputArgs
	JSON  bool     `name:"json" group:"output" help:"Write JSON."`
	Limit []string `sep:"none" group:"supply" placeholder:"NAME=NUMBER" help:"As for analyze."`
}

// Help says what the verb is for.
func (*inventoryCmd) Help() string {
	return `Reads the inputs as analyze does, names the format, the node and the time span of each stream, and says which questions about probes the inputs can answer and what is missing for the others. Nothing is written.

    probe-forensics inventory must-gather.tar.gz node-1.pcap`
}

// inventory is what the verb reports; its JSON names are stable.
type inventory struct {
	Inputs    []inventoryInput   `json:"inputs"`
	Streams   []inventoryStream  `json:"streams"`
	NotRead   []inventoryNotRead `json:"not_read"`
	Problems  []string           `json:"problems"`
	Questions []answer           `json:"questions"`
}

type inventoryInput struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
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
	return inv.print(rt)
}

func takeInventory(c *parsers.Case) (*inventory, error) {
	kinds := make(map[event.StreamID]map[string]int64)
	all := make(map[event.Kind][]event.StreamID)
	for e, err := range c.Events() {
		if err != nil {
			return nil, err
		}
		kind := e.Payload.Kind()
		counts := kinds[e.Ref.Stream]
		if counts == nil {
			counts = make(map[string]int64)
			kinds[e.Ref.Stream] = counts
		}
		if counts[kind.String()]++; counts[kind.String()] == 1 {
			all[kind] = append(all[kind], e.Ref.Stream)
		}
	}
	inv := &inventory{Inputs: []inventoryInput{}, Streams: []inventoryStream{}, NotRead: []inventoryNotRead{}, Problems: []string{}}
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
			First: recorded(s.First), Last: recorded(s.Last), Events: kinds[s.ID],
		})
	}
	for _, p := range c.Problems() {
		inv.Problems = append(inv.Problems, place(p)+": "+p.Code+": "+p.Message)
	}
	inv.Questions = ask(all)
	return inv, nil
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

func (inv *inventory) print(rt *session) error {
	w := tabwriter.NewWriter(rt.stdout, 0, 8, 2, ' ', 0)
	for _, in := range inv.Inputs {
		fmt.Fprintf(w, "%s, %s, sha256 %s\n", escape.Visible(in.Path), progress.Bytes(in.Bytes), cmp.Or(in.SHA256, "unknown (not read to its end)"))
	}
	fmt.Fprintf(w, "\n\tSTREAM\tFORMAT\tNODE\tRECORDS\tFIRST\tLAST\n")
	for _, s := range inv.Streams {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%d\t%s\t%s\n", s.ID, escape.Visible(shorten(s.Path)), s.Format, escape.Visible(cmp.Or(s.Node, "-")), s.Records, cmp.Or(s.First, "-"), cmp.Or(s.Last, "-"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nQUESTION\tANSWERED BY\n")
	for _, q := range inv.Questions {
		by := "nothing: " + q.Add
		if len(q.Streams) > 0 {
			by = "streams " + strings.Trim(strings.ReplaceAll(fmt.Sprint(q.Streams), " ", ", "), "[]")
		}
		fmt.Fprintf(w, "%s\t%s\n", q.Question, by)
	}
	if len(inv.NotRead) > 0 {
		fmt.Fprintf(w, "\nNOT READ\tFILES\n")
		for _, g := range inv.NotRead {
			fmt.Fprintf(w, "%s\t%d\n", g.Reason, g.Files)
		}
	}
	if len(inv.Problems) > 0 {
		fmt.Fprintf(w, "\nPROBLEMS\n")
		for _, p := range inv.Problems {
			fmt.Fprintf(w, "%s\n", escape.Visible(p))
		}
	}
	return w.Flush()
}

// shorten leaves out the middle of a long path: the input and the end of the
// name are what people look for.
func shorten(path string) string {
	const limit = 70
	if len(path) <= limit {
		return path
	}
	parts := strings.Split(path, "/")
	for len(parts) > 3 && len(strings.Join(parts, "/")) > limit-4 {
		parts = slices.Delete(parts, 1, 2)
	}
	return parts[0] + "/.../" + strings.Join(parts[1:], "/")
}
