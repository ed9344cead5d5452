package cli

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

const (
	// asRead begins an excerpt that is not the record itself but what the parser
	// kept of it.
	asRead = "as read: "
	// maxExcerpt is the length of an excerpt in a report, in bytes.
	maxExcerpt = 512
	// maxReread is how large inputs may be, on disk, to be read a second time for
	// the sake of excerpts: about a second. Above it an excerpt is what the parser
	// kept of the record.
	maxReread = 64 << 20
)

// fillExcerpts quotes the records that evidence refers to. Analysis sees events,
// not lines; so the lines are fetched afterwards, all in one pass.
func (rt *session) fillExcerpts(res *model.Result, c *parsers.Case, inputs []string) error {
	open := evidenceWithoutExcerpt(res)
	if len(open) == 0 {
		return nil
	}
	if rt.rereadable(c, inputs) {
		if err := rt.quoteRecords(open, c, inputs); err != nil {
			return err
		}
	}
	return quoteEvents(open, res)
}

// evidenceWithoutExcerpt groups by reference what still needs an excerpt.
func evidenceWithoutExcerpt(res *model.Result) map[event.Ref][]*model.Evidence {
	open := make(map[event.Ref][]*model.Evidence)
	for i := range res.Incidents {
		for j := range res.Incidents[i].Evidence {
			e := &res.Incidents[i].Evidence[j]
			if ref := e.Ref.Event(); e.Excerpt == "" && !ref.IsZero() {
				open[ref] = append(open[ref], e)
			}
		}
	}
	return open
}

func (rt *session) rereadable(c *parsers.Case, inputs []string) bool {
	total := int64(0)
	for _, in := range c.Inputs() {
		total += in.Bytes
	}
	return len(inputs) > 0 && total <= maxReread && !slices.ContainsFunc(inputs, func(in string) bool { return in == "-" || rt.extracted(in) })
}

// quoteRecords reads the inputs again. A record that cannot be found again is
// left open: the input changed meanwhile, which verify would tell.
func (rt *session) quoteRecords(open map[event.Ref][]*model.Evidence, c *parsers.Case, inputs []string) error {
	refs := slices.SortedFunc(maps.Keys(open), event.Ref.Compare)
	paths := make(map[event.StreamID]string)
	for _, s := range c.Infos() {
		paths[s.ID] = s.Path
	}
	wanted := make([]parsers.Locator, len(refs))
	for i, ref := range refs {
		wanted[i] = parsers.Locator{Path: paths[ref.Stream], Line: ref.Line, Offset: ref.Offset, Packet: ref.Packet}
	}
	excerpts, _, err := parsers.ReadRef(rt.ctx, inputs, wanted, parsers.Options{Workers: rt.workers, Store: rt.inputs()})
	if err != nil {
		return err
	}
	if err := rt.pins.failure(); err != nil {
		return failf("%w", err)
	}
	for i, x := range excerpts {
		if x.Err != nil {
			rt.log.Debug("no excerpt", "path", wanted[i].Path, "place", refs[i].Place(), "why", x.Err)
		}
		if text := shortExcerpt(x.Text); x.Err == nil && text != "" {
			for _, e := range open[refs[i]] {
				e.Excerpt = text
			}
			delete(open, refs[i])
		}
	}
	return nil
}

// quoteEvents takes what the parser kept.
func quoteEvents(open map[event.Ref][]*model.Evidence, res *model.Result) error {
	if len(open) == 0 || res.Tables.Events == nil {
		return nil
	}
	for row, err := range res.Tables.Events() {
		if err != nil {
			return err
		}
		for _, e := range open[row.Ref] {
			if e.Excerpt == "" {
				e.Excerpt = shortExcerpt(asRead + row.Body)
			}
		}
	}
	return nil
}

// shortExcerpt cuts a text to maxExcerpt bytes without splitting a character.
func shortExcerpt(text string) string {
	text = strings.TrimRight(text, "\r\n\t ")
	if len(text) <= maxExcerpt {
		return text
	}
	const mark = " ..."
	cut := maxExcerpt - len(mark)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + mark
}
