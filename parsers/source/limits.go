package source

import (
	"fmt"
	"io"
	"sync/atomic"
)

// Limits bound what a hostile or broken container can cost. A zero field means
// its default. A limit that is met becomes a problem that names the container,
// the limit and its value; what was read until then is kept.
type Limits struct {
	// Depth of containers within containers.
	Depth int
	// Members of all containers and directories together.
	Members int64
	// MemberBytes is how many bytes one member of a container may yield.
	MemberBytes int64
	// TotalBytes is how many bytes all decompressors together may yield. Plain
	// files on disk do not count.
	TotalBytes int64
	// Ratio is how many bytes a decompressor may yield for each byte it reads,
	// once it has yielded RatioFloor bytes.
	Ratio      int64
	RatioFloor int64
	// ZipMemory is the largest zip archive within another container that is held
	// in memory, since a zip is read from its end. A larger one is read without its
	// directory, which reads fewer kinds of members.
	ZipMemory int64
}

// Default limits.
const (
	DefaultDepth       = 10
	DefaultMembers     = 1_000_000
	DefaultMemberBytes = 64 << 30
	DefaultTotalBytes  = 256 << 30
	DefaultRatio       = 500
	DefaultRatioFloor  = 512 << 20
	DefaultZipMemory   = 64 << 20
)

func (l Limits) withDefaults() Limits {
	set := func(v *int64, d int64) {
		if *v <= 0 {
			*v = d
		}
	}
	if l.Depth <= 0 {
		l.Depth = DefaultDepth
	}
	set(&l.Members, DefaultMembers)
	set(&l.MemberBytes, DefaultMemberBytes)
	set(&l.TotalBytes, DefaultTotalBytes)
	set(&l.Ratio, DefaultRatio)
	set(&l.RatioFloor, DefaultRatioFloor)
	set(&l.ZipMemory, DefaultZipMemory)
	return l
}

// limitError says which limit was met. A total limit ends the walk, any other
// only the container or member it was met in.
type limitError struct {
	what  string
	total bool
}

func (e *limitError) Error() string { return e.what }

// meter counts what a decompressor yields and stops it at the limits. It works
// by whole reads, never by bytes. Its errors stay: a buffer that is peeked into
// hands each out once.
type meter struct {
	r     io.Reader
	in    func() int64 // compressed bytes consumed so far, nil when unknown
	out   int64
	lim   *Limits
	total *atomic.Int64
	err   error
}

func (m *meter) Read(p []byte) (int, error) {
	if m.err != nil {
		return 0, m.err
	}
	n, err := m.read(p)
	m.err = err
	return n, err
}

func (m *meter) read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.out += int64(n)
	total := m.total.Add(int64(n))
	switch {
	case total > m.lim.TotalBytes:
		return n, &limitError{total: true, what: fmt.Sprintf("more than %d bytes decompressed in all", m.lim.TotalBytes)}
	case m.out > m.lim.MemberBytes:
		return n, &limitError{what: fmt.Sprintf("more than %d bytes in one member", m.lim.MemberBytes)}
	case m.in != nil && m.out > m.lim.RatioFloor:
		if in := m.in(); m.out/m.lim.Ratio > in {
			return n, &limitError{what: fmt.Sprintf("%d bytes from %d: more than %d to 1", m.out, in, m.lim.Ratio)}
		}
	}
	return n, err
}

// counted counts the bytes read through it.
type counted struct {
	r io.Reader
	n atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
