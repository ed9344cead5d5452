package source

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// tar visits the members of a tar archive. After a damaged header it looks for
// the next sound one, and after the end mark for another archive: people
// concatenate them, and collectors that are killed leave both.
func (w *walker) tar(ctx context.Context, e entry, br *bufio.Reader) error {
	pos := &counted{r: br}
	for {
		tr := tar.NewReader(pos)
		for {
			h, err := tr.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				if isCancel(err) {
					return err
				}
				if e.layer != nil && e.layer.err != nil {
					return nil // the layer below reports it
				}
				w.problem(e.path, pos.n.Load(), classify(err), "tar: "+plainError(err))
				if errors.Is(err, io.ErrUnexpectedEOF) {
					return nil
				}
				break
			}
			if err := w.tarMember(ctx, e, h, tr, pos); err != nil {
				return err
			}
		}
		found, err := nextHeader(pos, br)
		if isCancel(err) {
			return err
		}
		if !found {
			return nil
		}
	}
}

// nextHeader skips whole blocks to the next tar header, and reports whether
// there is one. At the end of the archive it thereby reads the padding, and the
// trailer of the compression around it.
func nextHeader(pos *counted, br *bufio.Reader) (bool, error) {
	for {
		b, err := br.Peek(512)
		if len(b) == 512 && isTarHeader(b) {
			return true, nil
		}
		if len(b) < 512 {
			_, _ = br.Discard(len(b))
			return false, err
		}
		_, _ = br.Discard(512)
		pos.n.Add(512)
	}
}

func (w *walker) tarMember(ctx context.Context, e entry, h *tar.Header, tr *tar.Reader, pos *counted) error {
	switch h.Typeflag {
	case tar.TypeDir, tar.TypeXGlobalHeader:
		return nil
	}
	if err := w.count(); err != nil {
		return err
	}
	name, refuse := memberName(h.Name)
	if refuse != "" {
		w.group(e.path, "unsafe-name", "a member is left alone because "+refuse)
		return nil
	}
	logical := e.path + "!/" + name
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
	case tar.TypeLink, tar.TypeSymlink:
		w.skip(whyLinks, logical)
		return nil
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		w.group(e.path, "special-file", "devices and pipes are left alone, for instance "+name)
		return nil
	default:
		w.group(e.path, "unsupported-member", fmt.Sprintf("members of tar type %q are not read, for instance %s", h.Typeflag, name))
		return nil
	}
	var r io.Reader = tr
	if isSparse(h) {
		// Holes cost nothing on disk.
		start := pos.n.Load() - 512
		r = &meter{r: tr, in: func() int64 { return pos.n.Load() - start }, lim: &w.lim, total: &w.total}
	}
	m := entry{path: w.unique(logical), size: h.Size, r: r, depth: e.depth + 1}
	if !h.ModTime.IsZero() && h.ModTime.Unix() > 0 {
		m.modified = event.FromTime(h.ModTime)
	}
	return w.expand(ctx, m)
}

func isSparse(h *tar.Header) bool {
	if h.Typeflag == tar.TypeGNUSparse {
		return true
	}
	for k := range h.PAXRecords {
		if strings.HasPrefix(k, "GNU.sparse.") {
			return true
		}
	}
	return false
}
