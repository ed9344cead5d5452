package cli

import (
	"context"
	"io"
)

// interruptible reads ahead of its consumer on a goroutine of its own, because
// a read of a terminal or a pipe that nobody writes to cannot be ended: the
// consumer stops waiting when the context ends. The goroutine ends with the
// first read that returns after that, at the latest with the process.
type interruptible struct {
	ctx    context.Context
	chunks chan chunk
	spare  chan []byte // buffers on their way back to the goroutine
	now    chunk
	off    int // what was consumed of now
}

type chunk struct {
	data []byte
	err  error
}

const chunkSize = 256 << 10

func newInterruptible(ctx context.Context, r io.Reader) *interruptible {
	in := &interruptible{ctx: ctx, chunks: make(chan chunk), spare: make(chan []byte, 2)}
	in.spare <- make([]byte, chunkSize)
	in.spare <- make([]byte, chunkSize)
	go in.fill(r)
	return in
}

func (in *interruptible) fill(r io.Reader) {
	for {
		var buf []byte
		select {
		case buf = <-in.spare:
		case <-in.ctx.Done():
			return
		}
		n, err := r.Read(buf[:cap(buf)])
		select {
		case in.chunks <- chunk{buf[:n], err}:
		case <-in.ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// Read implements io.Reader.
func (in *interruptible) Read(p []byte) (int, error) {
	for in.off == len(in.now.data) {
		if in.now.err != nil {
			return 0, in.now.err
		}
		if in.now.data != nil {
			in.spare <- in.now.data
			in.now, in.off = chunk{}, 0
		}
		select {
		case in.now = <-in.chunks:
			in.off = 0
		case <-in.ctx.Done():
			return 0, in.ctx.Err()
		}
	}
	n := copy(p, in.now.data[in.off:])
	in.off += n
	return n, nil
}
