// Package objects reads and writes objects of S3, Google Cloud Storage, Azure
// Blob Storage and directories, by the names that URLs give them:
//
//	s3://BUCKET/KEY  gs://BUCKET/KEY  azblob://CONTAINER/KEY  file:///PATH
//
// What stands behind the bucket is the key as it is; nothing in a URL is a
// setting. Credentials, regions and endpoints come from the environment, by the
// variables that the vendors' own tools read.
package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob://
	"gocloud.dev/blob/fileblob"
	_ "gocloud.dev/blob/gcsblob" // gs://
	_ "gocloud.dev/blob/s3blob"  // s3://
	"gocloud.dev/gcerrors"

	"github.com/probe-forensics/probe-forensics/cmd/internal/store"
	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/source"
)

// Store leads URLs to objects.
type Store struct {
	env func(string) string

	mu      sync.Mutex
	buckets map[string]*blob.Bucket // by scheme and bucket
}

var _ store.Store = (*Store)(nil)

// New returns a store that finds endpoints in the environment.
func New(env func(string) string) *Store {
	return &Store{env: env, buckets: map[string]*blob.Bucket{}}
}

// Schemes implements store.Store.
func (s *Store) Schemes() []string { return []string{"s3", "gs", "azblob", "file"} }

// bucket opens the bucket of a URL, once, and returns the key in it.
func (s *Store) bucket(ctx context.Context, url string) (b *blob.Bucket, key string, err error) {
	scheme, rest, _ := strings.Cut(url, "://")
	name, key, _ := strings.Cut(rest, "/")
	if name == "" && scheme != "file" {
		return nil, "", failed(url, "opening", errors.New("the URL names no bucket"))
	}
	if name != "" && scheme == "file" {
		return nil, "", failed(url, "opening", errors.New("a file URL has three slashes: file:///PATH"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := scheme + "://" + name
	if b = s.buckets[id]; b != nil {
		return b, key, nil
	}
	if scheme == "file" {
		// Temporary files beside the objects: a rename must not cross file systems.
		b, err = fileblob.OpenBucket("/", &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	} else {
		b, err = blob.OpenBucket(ctx, id+s.settings(scheme))
	}
	if err != nil {
		return nil, "", failed(url, "opening", err)
	}
	s.buckets[id] = b
	return b, key, nil
}

// settings are what the environment says to a store that is no vendor's own:
// those are reached by path, and most have no regions.
func (s *Store) settings(scheme string) string {
	if scheme != "s3" || s.env("AWS_ENDPOINT_URL_S3") == "" && s.env("AWS_ENDPOINT_URL") == "" {
		return ""
	}
	if s.env("AWS_REGION") == "" && s.env("AWS_DEFAULT_REGION") == "" {
		return "?use_path_style=true&region=us-east-1"
	}
	return "?use_path_style=true"
}

// Stat implements source.Store. A name with objects below it is a directory; an
// object comes before a directory of the same name, unless the name ends in a
// slash.
func (s *Store) Stat(ctx context.Context, url string) (source.Object, error) {
	b, key, err := s.bucket(ctx, url)
	if err != nil {
		return source.Object{}, err
	}
	if key != "" && !strings.HasSuffix(key, "/") {
		a, err := b.Attributes(ctx, key)
		if err == nil {
			return source.Object{Name: url, Size: a.Size, Modified: event.FromTime(a.ModTime), Version: version(a.ETag)}, nil
		}
		if gcerrors.Code(err) != gcerrors.NotFound {
			return source.Object{}, failed(url, "asking for it", err)
		}
	}
	first, err := b.List(&blob.ListOptions{Prefix: prefix(key)}).Next(ctx)
	switch {
	case errors.Is(err, io.EOF):
		return source.Object{}, failed(url, "asking for it", fs.ErrNotExist)
	case err != nil:
		return source.Object{}, failed(url, "listing", err)
	}
	return source.Object{Name: url, Directory: first != nil}, nil
}

// prefix is what the keys below a directory begin with.
func prefix(key string) string {
	if key = strings.TrimRight(key, "/"); key == "" {
		return ""
	}
	return key + "/"
}

// List implements source.Store. Markers of folders, which have a name that ends
// in a slash and no content, are left out.
func (s *Store) List(ctx context.Context, url string, visit func(string, source.Object) error) error {
	b, key, err := s.bucket(ctx, url)
	if err != nil {
		return err
	}
	scheme, rest, _ := strings.Cut(url, "://")
	bucket, _, _ := strings.Cut(rest, "/")
	below := prefix(key)
	for all := b.List(&blob.ListOptions{Prefix: below}); ; {
		o, err := all.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return failed(url, "listing", err)
		}
		if strings.HasSuffix(o.Key, "/") && o.Size == 0 {
			continue
		}
		name := scheme + "://" + bucket + "/" + o.Key
		err = visit(strings.TrimPrefix(o.Key, below), source.Object{Name: name, Size: o.Size, Modified: event.FromTime(o.ModTime), Version: listed(o)})
		if err != nil {
			return err
		}
	}
}

// Put implements store.Store: an object appears when all of it was sent.
func (s *Store) Put(ctx context.Context, url string, r io.Reader) error {
	b, key, err := s.bucket(ctx, url)
	if err != nil {
		return err
	}
	if err := b.Upload(ctx, key, r, &blob.WriterOptions{ContentType: contentType(key)}); err != nil {
		return failed(url, "writing", err)
	}
	return nil
}

// contentType is what a browser is to make of a report.
func contentType(key string) string {
	for suffix, kind := range map[string]string{
		".html": "text/html; charset=utf-8", ".md": "text/markdown; charset=utf-8", ".json": "application/json",
		".sarif": "application/json", ".xml": "application/xml",
	} {
		if strings.HasSuffix(key, suffix) {
			return kind
		}
	}
	return "application/octet-stream"
}

// Remove implements store.Store.
func (s *Store) Remove(ctx context.Context, url string) error {
	b, key, err := s.bucket(ctx, url)
	if err != nil {
		return err
	}
	if err := b.Delete(ctx, key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return failed(url, "removing", err)
	}
	return nil
}

// failed describes what went wrong. The end of the context stays what it is.
func failed(url, doing string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	e := &store.Error{URL: url, Doing: doing, Err: plain(err)}
	scheme, _, _ := strings.Cut(url, "://")
	switch gcerrors.Code(err) {
	case gcerrors.NotFound:
		e.Err = fmt.Errorf("%w: %w", fs.ErrNotExist, e.Err)
	case gcerrors.PermissionDenied:
		e.Try = credentials[scheme]
	}
	text := err.Error()
	switch {
	case strings.Contains(text, "credentials") || strings.Contains(text, "AZURE_STORAGE"):
		e.Try = credentials[scheme]
	case strings.Contains(text, "region"):
		e.Try = "AWS_REGION names the region of the bucket"
	}
	return e
}

// credentials say where each store looks for them.
var credentials = map[string]string{
	"s3":     "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or a role of the pod or the machine; AWS_ENDPOINT_URL for a store that is not Amazon's",
	"gs":     "GOOGLE_APPLICATION_CREDENTIALS, or the account of the pod or the machine",
	"azblob": "AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or a managed identity",
	"file":   "the rights of the file",
}

// plain is an error in one line.
func plain(err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if text == err.Error() {
		return err
	}
	return &oneLine{text, err}
}

type oneLine struct {
	text string
	err  error
}

func (e *oneLine) Error() string { return e.text }
func (e *oneLine) Unwrap() error { return e.err }
