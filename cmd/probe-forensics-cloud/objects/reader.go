package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/source"
)

// How often a broken connection is taken up again without a byte of progress,
// and how long the pauses before that are: 0.2 s, doubled each time, so that a
// store may be away for about half a minute.
const (
	maxAttempts = 8
	firstPause  = 200 * time.Millisecond
)

// errChanged is an object that is no longer the one that was seen first.
var errChanged = errors.New("the object was changed while it was read")

// reader streams an object. When the connection breaks it goes on where it
// stopped, provided the object is still the same.
type reader struct {
	ctx    context.Context
	bucket *blob.Bucket
	key    string
	object source.Object

	body   *blob.Reader // nil between connections
	offset int64
	misses int // connections without progress
	err    error
}

// Open implements source.Store.
func (s *Store) Open(ctx context.Context, o source.Object) (io.ReadCloser, error) {
	b, key, err := s.bucket(ctx, o.Name)
	if err != nil {
		return nil, err
	}
	r := &reader{ctx: ctx, bucket: b, key: key, object: o}
	if err := r.connect(); err != nil && !r.again(err) {
		return nil, r.err
	}
	return r, nil
}

// connect asks for the object from where reading stopped.
func (r *reader) connect() error {
	if r.offset > 0 {
		// Not every store can be asked for one version only.
		a, err := r.bucket.Attributes(r.ctx, r.key)
		if err != nil {
			return err
		}
		if err := r.same(version(a.ETag), a.Size, a.ModTime); err != nil {
			return err
		}
	}
	body, err := r.bucket.NewRangeReader(r.ctx, r.key, r.offset, -1, &blob.ReaderOptions{BeforeRead: onlyVersion(r.object.Version)})
	if err != nil {
		if gcerrors.Code(err) == gcerrors.FailedPrecondition {
			return fmt.Errorf("%w: its ETag is no longer %s", errChanged, r.object.Version)
		}
		return err
	}
	if err := r.same(answered(body), body.Size(), body.ModTime()); err != nil {
		_ = body.Close()
		return err
	}
	r.body = body
	return nil
}

// same compares what the store says now with what it said first. Answers tell
// times in seconds, listings in milliseconds.
func (r *reader) same(etag string, size int64, modified time.Time) error {
	was := r.object
	switch {
	case etag != "" && was.Version != "" && etag != was.Version:
		return fmt.Errorf("%w: its ETag was %s and is %s", errChanged, was.Version, etag)
	case size != was.Size:
		return fmt.Errorf("%w: it had %d bytes and has %d", errChanged, was.Size, size)
	}
	second := event.Nanos(time.Second)
	if now := event.FromTime(modified); (etag == "" || was.Version == "") && now/second != was.Modified/second {
		return fmt.Errorf("%w: it was modified at %s and again at %s", errChanged, was.Modified.Time().UTC().Format(time.RFC3339), modified.UTC().Format(time.RFC3339))
	}
	return nil
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	for r.err == nil {
		if r.body == nil {
			if err := r.connect(); err != nil {
				r.again(err)
				continue
			}
		}
		n, err := r.body.Read(p)
		r.offset += int64(n)
		if n > 0 {
			r.misses = 0
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF) && r.offset == r.object.Size:
			r.err = io.EOF
		default:
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF // the connection ended, not the object
			}
			r.again(err)
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, r.err
}

// again reports whether to try once more after an error, having waited. If not,
// the error is there to stay.
func (r *reader) again(err error) bool {
	r.close()
	r.misses++
	switch code := gcerrors.Code(err); {
	case r.ctx.Err() != nil:
		r.err = r.ctx.Err()
	case errors.Is(err, errChanged):
		r.err = r.failed(err, "")
	case code == gcerrors.NotFound || code == gcerrors.PermissionDenied || code == gcerrors.Unimplemented || code == gcerrors.InvalidArgument:
		r.err = r.failed(err, "")
	case r.misses >= maxAttempts:
		r.err = r.failed(err, fmt.Sprintf(", %d times in a row", r.misses))
	default:
		select {
		case <-time.After(firstPause << (r.misses - 1)):
			return true
		case <-r.ctx.Done():
			r.err = r.ctx.Err()
		}
	}
	return false
}

func (r *reader) failed(err error, more string) error {
	return failed(r.object.Name, fmt.Sprintf("reading at byte %d of %d%s", r.offset, r.object.Size, more), err)
}

func (r *reader) close() {
	if r.body != nil {
		_ = r.body.Close()
		r.body = nil
	}
}

// Close implements io.Closer.
func (r *reader) Close() error {
	r.close()
	return nil
}
