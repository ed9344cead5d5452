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
	var members []Member
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
		members = append(members, Member{Name: "./" + filepath.ToSlash(rel), SHA256: sum, Bytes: n})
		return err
	})
	if err != nil {
		return "", 0, err
	}
	sum, size, _ = DigestListing(members)
	return sum, size, nil
}

func digestFile(ctx context.Context, path string) (string, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.CopyBuffer(h, struct{ io.Reader }{Cancellable(ctx, f)}, make([]byte, 256<<10))
	return hex.EncodeToString(h.Sum(nil)), n, err
}

// Cancellable is a reader that ends with the context's error when that ends.
func Cancellable(ctx context.Context, r io.Reader) io.Reader { return cancellable{ctx, r} }

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

// Member is a file of an input that is a directory: its name, which begins with
// "./", and its digest, "" when it could not be read to its end.
type Member struct {
	Name, SHA256 string
	Bytes        int64
}

// DigestListing is the digest of the listing that sha256sum prints for the
// files, sorted by path, and their size. It is whole when every file has a
// digest.
func DigestListing(members []Member) (sum string, size int64, whole bool) {
	slices.SortFunc(members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	h := sha256.New()
	whole = true
	for _, m := range members {
		whole = whole && m.SHA256 != ""
		size += m.Bytes
		escape, name := "", m.Name
		if strings.ContainsAny(name, "\\\n\r") {
			escape, name = `\`, strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`).Replace(name)
		}
		fmt.Fprintf(h, "%s%s  %s\n", escape, m.SHA256, name)
	}
	return hex.EncodeToString(h.Sum(nil)), size, whole
}
