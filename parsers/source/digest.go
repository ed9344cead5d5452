package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Digest computes the digest and size of an input as Walk does, without looking
// into it: a file of the file system or a directory. It serves to tell whether
// an input was analysed before.
func Digest(ctx context.Context, input string) (sum string, size int64, err error) {
	st, err := os.Stat(input)
	if err != nil {
		return "", 0, err
	}
	if !st.IsDir() {
		return digestFile(ctx, input)
	}
	root, err := filepath.EvalSymlinks(input)
	if err != nil {
		return "", 0, err
	}
	var members []listed
	err = filepath.WalkDir(root, func(p string, de fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		switch {
		case de.IsDir() && rel != "." && strings.HasSuffix(de.Name(), ReportSuffix):
			return fs.SkipDir
		case !de.Type().IsRegular():
			return nil
		}
		sum, n, err := digestFile(ctx, p)
		members = append(members, listed{rel: "./" + filepath.ToSlash(rel), sum: sum, bytes: n})
		return err
	})
	if err != nil {
		return "", 0, err
	}
	sum, size, _ = digestListing(members)
	return sum, size, nil
}

func digestFile(ctx context.Context, path string) (string, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.CopyBuffer(h, struct{ io.Reader }{cancellable{ctx, f}}, make([]byte, 256<<10))
	return hex.EncodeToString(h.Sum(nil)), n, err
}

type cancellable struct {
	ctx context.Context
	r   io.Reader
}

func (c cancellable) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// listed is a file of a directory with its digest.
type listed struct {
	rel, sum string
	bytes    int64
}

// digestListing is the digest of the listing that sha256sum prints for the
// files, sorted by path, and their size. It is whole when every file has a
// digest.
func digestListing(members []listed) (sum string, size int64, whole bool) {
	slices.SortFunc(members, func(a, b listed) int { return strings.Compare(a.rel, b.rel) })
	h := sha256.New()
	whole = true
	for _, m := range members {
		whole = whole && m.sum != ""
		size += m.bytes
		escape, name := "", m.rel
		if strings.ContainsAny(name, "\\\n\r") {
			escape, name = `\`, strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`).Replace(name)
		}
		fmt.Fprintf(h, "%s%s  %s\n", escape, m.sum, name)
	}
	return hex.EncodeToString(h.Sum(nil)), size, whole
}
