package source

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/bzip2"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"

	"github.com/klauspost/compress/flate"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// zip visits the members of a zip archive in the order of its directory. The
// directory stands at the end, so an archive that is not a file on disk is held
// in memory, up to Limits.ZipMemory; beyond that its members are read as they
// come.
func (w *walker) zip(ctx context.Context, e entry, br *bufio.Reader) error {
	at, size := e.at, e.size
	if at == nil {
		var buf bytes.Buffer
		n, err := io.Copy(&buf, io.LimitReader(br, w.lim.ZipMemory+1))
		if isCancel(err) {
			return err
		}
		if n > w.lim.ZipMemory {
			return w.zipScan(ctx, e, io.MultiReader(&buf, br))
		}
		if err != nil && (e.layer == nil || e.layer.err == nil) {
			w.problem(e.path, n, classify(err), "zip: "+plainError(err))
		}
		at, size = bytes.NewReader(buf.Bytes()), n
	}
	if n := zipRecords(at, size); n > w.lim.Members-w.members {
		w.problem(e.path, 0, "limit", fmt.Sprintf("zip archive not opened: it claims %d members, more than %d in all", n, w.lim.Members))
		return nil
	}
	zr, err := zip.NewReader(at, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		w.problem(e.path, size, "truncated", fmt.Sprintf("zip: no directory at the end (%s): members are read one after the other", plainError(err)))
		return w.zipScan(ctx, e, io.NewSectionReader(at, 0, size))
	}
	for _, f := range zr.File {
		if err := w.zipMember(ctx, e, f); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) zipMember(ctx context.Context, e entry, f *zip.File) error {
	mode := f.Mode()
	if mode.IsDir() {
		return nil
	}
	if err := w.count(); err != nil {
		return err
	}
	name, refuse := memberName(f.Name)
	if refuse != "" {
		w.group(e.path, "unsafe-name", "a member is left alone because "+refuse)
		return nil
	}
	logical := e.path + "!/" + name
	switch {
	case mode&fs.ModeSymlink != 0:
		w.skip(whyLinks, logical)
		return nil
	case !mode.IsRegular():
		w.group(e.path, "special-file", "devices and pipes are left alone, for instance "+name)
		return nil
	case f.Flags&1 != 0:
		w.group(e.path, "encrypted", "encrypted members cannot be read, for instance "+name)
		return nil
	}
	logical = w.unique(logical)
	data, err := unpacked(f)
	if err != nil {
		w.problem(logical, 0, classify(err), fmt.Sprintf("zip member, method %d: %s", f.Method, plainError(err)))
		return nil
	}
	in := min(int64(f.CompressedSize64), max(e.size, 0))
	if e.at == nil {
		in = int64(f.CompressedSize64)
	}
	m := &meter{r: data, in: func() int64 { return in }, lim: &w.lim, total: &w.total}
	size := int64(f.UncompressedSize64)
	if size < 0 {
		size = -1
	}
	member := entry{path: logical, size: size, r: m, depth: e.depth + 1}
	if !f.Modified.IsZero() && f.Modified.Unix() > 0 {
		member.modified = event.FromTime(f.Modified)
	}
	return w.expand(ctx, member)
}

// unpacked reads a member. Its checksum is compared and its claimed size is not:
// a wrong one costs nothing as long as the data are whole.
func unpacked(f *zip.File) (io.Reader, error) {
	r, err := f.OpenRaw()
	if err != nil {
		return nil, err
	}
	switch f.Method {
	case zip.Store:
	case zip.Deflate:
		r = flate.NewReader(r)
	case 12:
		r = bzip2.NewReader(r)
	case 93:
		r, err = newZstd(r)
	case 95:
		r, err = newXZ(bufio.NewReader(r))
	default:
		err = zip.ErrAlgorithm
	}
	return &checked{r: r, want: f.CRC32, sum: crc32.NewIEEE()}, err
}

// zipRecords is the number of members an archive claims to have, so that a
// directory of millions is refused before it is loaded; 0 when it cannot be told.
func zipRecords(at io.ReaderAt, size int64) int64 {
	const eocd, maxComment = 22, 1<<16 - 1
	n := min(size, eocd+maxComment+20)
	tail := make([]byte, n)
	if got, err := at.ReadAt(tail, size-n); int64(got) < n && err != nil {
		return 0
	}
	i := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if i < 0 || len(tail)-i < eocd {
		return 0
	}
	count := int64(binary.LittleEndian.Uint16(tail[i+10:]))
	if count == 0xffff && i >= 20 && string(tail[i-20:i-16]) == "PK\x06\x07" {
		end := make([]byte, 56)
		off := int64(binary.LittleEndian.Uint64(tail[i-12:]))
		if off >= 0 && off <= size-56 {
			if _, err := at.ReadAt(end, off); err == nil && string(end[:4]) == "PK\x06\x06" {
				count = int64(binary.LittleEndian.Uint64(end[32:]))
			}
		}
	}
	return count
}
