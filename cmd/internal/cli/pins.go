package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"sync"

	"github.com/probe-forensics/probe-forensics/cmd/internal/store"
	"github.com/probe-forensics/probe-forensics/parsers/source"
)

// storeOf returns what reads and writes a name: the file system, or the store of
// its URL.
func (rt *session) storeOf(name string) (store.Store, error) {
	scheme := store.Scheme(name)
	if scheme == "" {
		return store.Local{}, nil
	}
	var known []string
	for _, s := range rt.stores {
		for _, x := range s.Schemes() {
			if x == scheme {
				return s, nil
			}
			known = append(known, x+"://")
		}
	}
	if known == nil {
		return nil, usagef("%s: this program reads and writes files only", name).
			try("%s-cloud, which takes s3, gs, azblob and file URLs as well", programName)
	}
	return nil, usagef("%s: no scheme of a store: there are %s", name, strings.Join(known, ", "))
}

// pins are the files of stores that one case has seen. Whatever reads them again
// for the same case gets the same bytes, or an error: an object that is replaced
// meanwhile must not give a report of halves. It keeps the first failure of a
// store. For a walk an unreadable file is damage, which ends with the best that
// can be told; a connection that broke is no property of the input, and a report
// over half of it would be taken for the truth.
type pins struct {
	rt *session

	mu     sync.Mutex
	seen   map[string]source.Object
	listed map[string][]source.Listed
	failed error
}

// pinned returns the session of one case.
func (rt *session) pinned() *session {
	sub := *rt
	sub.pins = &pins{rt: rt, seen: map[string]source.Object{}, listed: map[string][]source.Listed{}}
	return &sub
}

// inputs is the option of what reads inputs.
func (rt *session) inputs() func(string) source.Store {
	p := rt.pins
	if p == nil {
		p = rt.pinned().pins
	}
	return func(name string) source.Store {
		if !store.IsURL(name) {
			return nil
		}
		return p
	}
}

// failure is the first failure of a store, nil when there was none.
func (p *pins) failure() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

func (p *pins) note(err error) error {
	if err == nil || interrupted(err) || errors.Is(err, fs.ErrNotExist) || err == io.EOF {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil {
		p.failed = err
	}
	return err
}

// Stat implements source.Store.
func (p *pins) Stat(ctx context.Context, name string) (source.Object, error) {
	p.mu.Lock()
	o, ok := p.seen[name]
	p.mu.Unlock()
	if ok {
		return o, nil
	}
	s, err := p.rt.storeOf(name)
	if err == nil {
		o, err = s.Stat(ctx, name)
	}
	if err != nil {
		return o, p.note(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[name] = o
	return o, nil
}

// List implements source.Store.
func (p *pins) List(ctx context.Context, name string, visit func(string, source.Object) error) error {
	p.mu.Lock()
	files, ok := p.listed[name]
	p.mu.Unlock()
	if !ok {
		s, err := p.rt.storeOf(name)
		if err == nil {
			err = s.List(ctx, name, func(rel string, o source.Object) error {
				files = append(files, source.Listed{Rel: rel, Object: o})
				return nil
			})
		}
		if err != nil {
			return p.note(err)
		}
		p.mu.Lock()
		p.listed[name] = files
		p.mu.Unlock()
	}
	for _, f := range files {
		if err := visit(f.Rel, f.Object); err != nil {
			return err
		}
	}
	return nil
}

// Open implements source.Store.
func (p *pins) Open(ctx context.Context, o source.Object) (io.ReadCloser, error) {
	s, err := p.rt.storeOf(o.Name)
	if err != nil {
		return nil, p.note(err)
	}
	r, err := s.Open(ctx, o)
	if err != nil {
		return nil, p.note(err)
	}
	return noted{r, p}, nil
}

// noted is a reader whose failure ends the case.
type noted struct {
	io.ReadCloser
	pins *pins
}

func (n noted) Read(b []byte) (int, error) {
	m, err := n.ReadCloser.Read(b)
	return m, n.pins.note(err)
}
