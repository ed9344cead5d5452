// Package redact replaces names and addresses in a result by pseudonyms before
// any renderer sees it, so that no output can hold an original.
//
// The same original has the same pseudonym everywhere: in fields, in quoted
// records, in paths, in the tables. Addresses of one subnet stay in one subnet.
// Pseudonyms are numbered by the sorted originals, so that equal results give
// equal outputs; they tell nothing about an original but its place in that
// order.
//
// Replaced are names of namespaces, pods, workloads, nodes, containers, hosts
// and images, file names of inputs, IPv4 and IPv6 addresses, MAC addresses and
// UUIDs. Not replaced are digests of inputs, times, ports, paths of probes, and
// other text of logs: read it before you pass a report on.
package redact

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"slices"

	"github.com/probe-forensics/probe-forensics/analyze/model"
)

// Apply returns a redacted copy of a result and the map that leads back. It
// reads the tables once; those of the copy are rewritten row by row as they are
// read.
func Apply(ctx context.Context, res *model.Result) (*model.Result, *Map, error) {
	r := newRedactor()
	r.result(res) // only to meet every name
	if err := r.meetTables(ctx, res.Tables); err != nil {
		return nil, nil, err
	}
	r.assign()
	out := r.result(res)
	out.Tables = r.tables(res.Tables)
	return out, r.pairs(), nil
}

// Map is the list of originals and pseudonyms. It undoes the redaction: keep it
// apart from the report.
type Map struct {
	Pairs []Pair `json:"pairs"`

	redactor *redactor
}

// Text replaces the names and addresses of the result in any other text that
// goes to an output, as the values of settings do.
func (m *Map) Text(s string) string { return m.redactor.text(s) }

// Pair is one original and what stands for it.
type Pair struct {
	Kind      string `json:"kind"`
	Original  string `json:"original"`
	Pseudonym string `json:"pseudonym"`
}

// Write writes the map as JSON. The file should be readable by its owner only.
func (m *Map) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(m)
}

// Kinds of names, in the order in which one string that is several of them gets
// its pseudonym.
type kind int

const (
	kindNode kind = iota
	kindNamespace
	kindPod
	kindWorkload
	kindContainer
	kindImage
	kindHost
	kindInput
	kindCluster
	kindUUID
	kindMAC
	kindIP
)

var kindWords = [...]string{"node", "namespace", "pod", "workload", "container", "image", "host", "input", "cluster", "uuid", "mac", "ip"}

func (k kind) String() string { return kindWords[k] }

// redactor first meets all originals, then replaces them.
type redactor struct {
	meeting bool
	met     map[string]kind // names and UUIDs
	names   map[string]string
	addrs   addresses
	macs    macs
	prints  map[string]string // fingerprints, which are hashes of names
	order   []string
}

func newRedactor() *redactor {
	return &redactor{meeting: true, met: map[string]kind{}, names: map[string]string{}, addrs: newAddresses(), macs: newMACs(), prints: map[string]string{}}
}

// assign gives every original its pseudonym; from now on they are replaced.
func (r *redactor) assign() {
	r.meeting = false
	for name := range r.met {
		r.order = append(r.order, name)
	}
	slices.SortFunc(r.order, func(a, b string) int { return cmp.Or(cmp.Compare(r.met[a], r.met[b]), cmp.Compare(a, b)) })
	next := map[kind]int{}
	for _, name := range r.order {
		k := r.met[name]
		for {
			next[k]++
			p := pseudonym(k, next[k], name)
			// A name that is in use already, as an original, would mislead.
			if _, taken := r.met[p]; !taken {
				r.names[name] = p
				break
			}
		}
	}
	r.addrs.assign()
	r.macs.assign()
}

func (r *redactor) pairs() *Map {
	m := &Map{Pairs: []Pair{}, redactor: r}
	for _, name := range r.order {
		m.Pairs = append(m.Pairs, Pair{r.met[name].String(), name, r.names[name]})
	}
	m.Pairs = append(m.Pairs, r.addrs.pairs()...)
	m.Pairs = append(m.Pairs, r.macs.pairs()...)
	return m
}
