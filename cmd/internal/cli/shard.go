package cli

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// shardFlags take a share of the work.
type shardFlags struct {
	Shard      string `group:"fleet" placeholder:"I/N" help:"Take only share I of N, counted from 0, by a hash of each name; auto reads I from the environment of a Kubernetes Indexed Job or an AWS Batch array."`
	ShardCount int    `group:"fleet" placeholder:"N" help:"With --shard auto: how many shares there are."`
}

// Variables of the engines that start one process a share. An Indexed Job does
// not tell how many indexes there are.
const (
	kubernetesIndex = "JOB_COMPLETION_INDEX"
	awsIndex        = "AWS_BATCH_JOB_ARRAY_INDEX"
	awsSize         = "AWS_BATCH_JOB_ARRAY_SIZE"
)

// shard is one share of the work; the zero value is all of it.
type shard struct{ index, count int }

// resolve reads the flags and, for auto, the environment. The number of shares
// is never guessed: a wrong one would leave bundles out without a word.
func (f *shardFlags) resolve(env func(string) string) (shard, error) {
	index, count, whole := strings.Cut(f.Shard, "/")
	if f.ShardCount < 0 {
		return shard{}, usagef("--shard-count: %d is no number of shares", f.ShardCount)
	}
	given := f.ShardCount
	from := "--shard"
	switch {
	case f.Shard == "" && given != 0:
		return shard{}, usagef("--shard-count without --shard").try("--shard auto --shard-count %d", given)
	case f.Shard == "":
		return shard{}, nil
	case f.Shard == "auto":
		index = ""
		for _, name := range []string{kubernetesIndex, awsIndex} {
			if v := env(name); v != "" {
				from, index = name, v
				break
			}
		}
		if index == "" {
			return shard{}, usagef("--shard auto: neither %s nor %s is set", kubernetesIndex, awsIndex).try("--shard 0/3 for the first share of three")
		}
		if size := env(awsSize); from == awsIndex && size != "" {
			count, whole = size, true
		}
	}
	s := shard{count: given}
	var err error
	if s.index, err = strconv.Atoi(index); err != nil || s.index < 0 {
		return shard{}, usagef("%s: %q is no share: expected I/N or auto", from, index)
	}
	if whole {
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 {
			return shard{}, usagef("%s: %q is no number of shares", from, count)
		}
		if given != 0 && given != n {
			return shard{}, usagef("--shard-count is %d, but %s says %d", given, from, n)
		}
		s.count = n
	}
	if s.count == 0 {
		return shard{}, usagef("%s is %d, but nothing tells how many shares there are", from, s.index).try("--shard-count N, the number of completions of the job")
	}
	if s.index >= s.count {
		return shard{}, usagef("%s: there is no share %d of %d: they count from 0", from, s.index, s.count)
	}
	return s, nil
}

// has reports whether a name belongs to the share: the first 16 hex digits of
// its sha256, modulo the number of shares. So adding a bundle moves no other.
func (s shard) has(name string) bool {
	if s.count < 2 {
		return true
	}
	sum := sha256.Sum256([]byte(bundleName(name)))
	return binary.BigEndian.Uint64(sum[:8])%uint64(s.count) == uint64(s.index)
}

// bundleName is the name a bundle is known by: as it stands in the list or on
// the command line, with slashes, without "./" and doubled slashes. The scheme
// of a URL stays as it is.
func bundleName(name string) string {
	if scheme, rest, ok := strings.Cut(name, "://"); ok {
		return scheme + "://" + strings.TrimPrefix(path.Clean("/"+rest), "/")
	}
	return filepath.ToSlash(filepath.Clean(name))
}

// maxCaseName bounds the readable part of the name of a case.
const maxCaseName = 80

// caseName names the directory of a bundle's reports: its base name, made safe,
// and the first digits of the sha256 of its whole name. It depends on no other
// bundle. Without the readable part it tells nothing about the bundle.
func caseName(bundle string, readable bool) string {
	name := bundleName(bundle)
	sum := sha256.Sum256([]byte(name))
	digits := hex.EncodeToString(sum[:4])
	if !readable {
		return "case-" + digits
	}
	var b strings.Builder
	for _, c := range []byte(path.Base(name)) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.' && b.Len() > 0:
			b.WriteByte(c)
		default:
			b.WriteByte('_')
		}
		if b.Len() == maxCaseName {
			break
		}
	}
	return b.String() + "-" + digits
}
