package source

import (
	"context"
	"io"
)

const (
	aheadBlock  = 256 << 10
	aheadBlocks = 4
)

// ahead reads a stream on a goroutine of its own, a few blocks in front of its
// consumer. It is where reading and hashing, or decompressing, overlap with
// parsing.
type ahead struct {
	ctx    context.Context
	full   chan []byte
	free   chan []byte
	stop   chan struct{}
	done   chan struct{}
	err    error // valid once full is closed
	block  []byte
	rest   []byte
	closed bool
}

// newAhead starts reading r. Tap sees every block once, in order, before the
// consumer does; it may be nil. The caller must Close.
func newAhead(ctx context.Context, r io.Reader, tap func([]byte)) *ahead {
	a := &ahead{ctx: ctx, full: make(chan []byte, aheadBlocks), free: make(chan []byte, aheadBlocks),
		stop: make(chan struct{}), done: make(chan struct{})}
	for range aheadBlocks {
		a.free <- nil // allocated when first used: most files are small
	}
	go a.run(r, tap)
	return a
}

func (a *ahead) run(r io.Reader, tap func([]byte)) {
	defer close(a.done)
	defer close(a.full)
	size := 32 << 10
	for {
		var b []byte
		select {
		case b = <-a.free:
		case <-a.stop:
			return
		case <-a.ctx.Done():
			a.err = a.ctx.Err()
			return
		}
		if cap(b) < size {
			b = make([]byte, size)
		}
		n, err := fill(r, b[:cap(b)])
		if n > 0 {
			if tap != nil {
				tap(b[:n])
			}
			a.full <- b[:n] // never blocks: there are as many slots as blocks
		}
		if err != nil {
			a.err = err
			return
		}
		size = min(size*4, aheadBlock)
	}
}

// fill is io.ReadFull that keeps the reader's own error.
func fill(r io.Reader, b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var m int
		m, err = r.Read(b[n:])
		n += m
	}
	return n, err
}

// next makes the next block current.
func (a *ahead) next() error {
	if a.block != nil {
		a.free <- a.block
		a.block = nil
	}
	select {
	case b, ok := <-a.full:
		if !ok {
			return a.err
		}
		a.block, a.rest = b, b
		return nil
	case <-a.ctx.Done():
		return a.ctx.Err()
	}
}

// Read implements io.Reader.
func (a *ahead) Read(p []byte) (int, error) {
	if len(a.rest) == 0 {
		if err := a.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// drain reads to the end, which completes what the tap sees.
func (a *ahead) drain() error {
	for {
		if err := a.next(); err != nil {
			a.rest = nil
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
}

// Close stops the goroutine and waits for it, unless it is stuck in a read that
// a cancelled context cannot end (a terminal or a pipe).
func (a *ahead) Close() {
	if a.closed {
		return
	}
	a.closed = true
	close(a.stop)
	select {
	case <-a.done:
	case <-a.ctx.Done():
	}
}
