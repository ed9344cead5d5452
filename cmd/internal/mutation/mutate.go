// Package mutation damages bundles the way disks, transfers and people do, and
// checks that the analysis ends cleanly and that what was not touched is judged
// as before.
package mutation

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/fixtures"
)

// kind is a way to damage a bundle.
type kind struct {
	name string
	doc  string
	// apply returns the damaged bundle, and the name of the member that was
	// damaged, "" when it is not one alone.
	apply func(r *rand.Rand, bundle []byte, members []fixtures.Member) (damaged []byte, touched string, err error)
	// same is set where the result must not change at all.
	same bool
}

// kinds are all ways, from the outside in.
var kinds = []kind{
	{name: "flip", doc: "1 to 64 bits of the archive flipped", apply: func(r *rand.Rand, b []byte, _ []fixtures.Member) ([]byte, string, error) {
		return flip(r, b), "", nil
	}},
	{name: "cut", doc: "the archive cut off", apply: func(r *rand.Rand, b []byte, _ []fixtures.Member) ([]byte, string, error) {
		return b[:1+r.IntN(len(b)-1)], "", nil
	}},
	{name: "hole", doc: "4 KiB of the archive overwritten with zeros", apply: func(r *rand.Rand, b []byte, _ []fixtures.Member) ([]byte, string, error) {
		b = slices.Clone(b)
		at := r.IntN(len(b))
		clear(b[at:min(at+4096, len(b))])
		return b, "", nil
	}},
	{name: "member-flip", doc: "1 to 64 bits of one member flipped", apply: inside(flip)},
	{name: "member-cut", doc: "one member cut off", apply: inside(func(r *rand.Rand, b []byte) []byte { return b[:r.IntN(len(b))] })},
	{name: "member-lines", doc: "lines of one member repeated, dropped and exchanged", apply: inside(lines)},
	{name: "member-gone", doc: "one member left out", apply: func(r *rand.Rand, _ []byte, ms []fixtures.Member) ([]byte, string, error) {
		i := r.IntN(len(ms))
		out, err := fixtures.Pack(slices.Delete(slices.Clone(ms), i, i+1))
		return out, ms[i].Header.Name, err
	}},
	{name: "shuffle", doc: "the members in another order", same: true, apply: func(r *rand.Rand, _ []byte, ms []fixtures.Member) ([]byte, string, error) {
		ms = slices.Clone(ms)
		r.Shuffle(len(ms), func(i, j int) { ms[i], ms[j] = ms[j], ms[i] })
		out, err := fixtures.Pack(ms)
		return out, "", err
	}},
}

func flip(r *rand.Rand, b []byte) []byte {
	b = slices.Clone(b)
	for range 1 << r.IntN(7) {
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
	}
	return b
}

func lines(r *rand.Rand, b []byte) []byte {
	all := bytes.SplitAfter(b, []byte("\n"))
	for range 1 + r.IntN(5) {
		i, j := r.IntN(len(all)), r.IntN(len(all))
		switch r.IntN(3) {
		case 0:
			all = slices.Insert(all, i, all[j])
		case 1:
			if len(all) > 1 {
				all = slices.Delete(all, i, i+1)
			}
		default:
			all[i], all[j] = all[j], all[i]
		}
	}
	return bytes.Join(all, nil)
}

// inside damages the content of one member that has any.
func inside(damage func(*rand.Rand, []byte) []byte) func(*rand.Rand, []byte, []fixtures.Member) ([]byte, string, error) {
	return func(r *rand.Rand, _ []byte, ms []fixtures.Member) ([]byte, string, error) {
		ms = slices.Clone(ms)
		i := r.IntN(len(ms))
		for n := 0; len(ms[i].Data) == 0 && n < len(ms); n++ {
			i = (i + 1) % len(ms)
		}
		if len(ms[i].Data) == 0 {
			return nil, "", errors.New("no member has content")
		}
		ms[i].Data = damage(r, ms[i].Data)
		out, err := fixtures.Pack(ms)
		return out, ms[i].Header.Name, err
	}
}

// podOf returns the pod whose own file a member is ("…/namespaces/NS/pods/POD/…"):
// damage to it must leave the verdicts of all others as they are.
func podOf(name string) (pod string, ok bool) {
	_, rest, found := strings.Cut(name, "/namespaces/")
	ns, rest, found2 := strings.Cut(rest, "/pods/")
	p, _, found3 := strings.Cut(rest, "/")
	return ns + "/" + p, found && found2 && found3 && !strings.Contains(ns, "/")
}
