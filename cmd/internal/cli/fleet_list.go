package cli

import (
	"io"
	"path"
	"strings"

	"github.com/probe-forensics/probe-forensics/cmd/internal/store"
	"github.com/probe-forensics/probe-forensics/parsers/source"
)

// expand does for URLs what the shell does for files: a pattern in the path
// stands for the objects that match it, a prefix that ends in a slash for all
// objects below it. Reports of this tool and what lies below output are left
// out. Everything else stands for itself.
func (rt *session) expand(name, output string) ([]string, error) {
	dir, pattern := name, ""
	switch i := strings.IndexAny(name, `*?[`); {
	case !store.IsURL(name):
		return []string{name}, nil
	case i >= 0:
		cut := strings.LastIndexByte(name[:i], '/') + 1
		dir, pattern = name[:cut], name[cut:]
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, usagef("%s: %w", name, err)
		}
	case !strings.HasSuffix(name, "/"):
		return []string{name}, nil
	}
	s, err := rt.storeOf(name)
	if err != nil {
		return nil, err
	}
	files, _, err := source.ListInput(rt.ctx, s, dir)
	if err != nil {
		return nil, failf("%w", err)
	}
	var out []string
	for _, f := range files {
		if _, own := store.Within(output, f.Name); own {
			continue
		}
		if pattern != "" {
			if ok, _ := path.Match(pattern, f.Rel); !ok {
				continue
			}
		}
		out = append(out, f.Name)
	}
	if len(out) == 0 {
		return nil, failf("%s: there is no such object", name)
	}
	return out, nil
}

// openFile opens a file or an object.
func (rt *session) openFile(name string) (io.ReadCloser, error) {
	s, err := rt.storeOf(name)
	if err != nil {
		return nil, err
	}
	o, err := s.Stat(rt.ctx, name)
	if err != nil {
		return nil, err
	}
	return s.Open(rt.ctx, o)
}
