package parquetout

import (
	"sync"

	"github.com/klauspost/compress/zstd"
	parquetzstd "github.com/parquet-go/parquet-go/compress/zstd"
)

// codecZstd is the library's, but for its encoder: that keeps a window of 8 MB
// for pages of a few kB, and is made anew for every file.
type codecZstd struct{ parquetzstd.Codec }

// compression is shared by all files.
var compression = &codecZstd{}

// pageWindow is how far back a page is searched: more than a page holds.
const pageWindow = 1 << 20

var encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithWindowSize(pageWindow),
		zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true), zstd.WithEncoderCRC(false))
})

// Encode implements compress.Codec.
func (*codecZstd) Encode(dst, src []byte) ([]byte, error) {
	e, err := encoder()
	if err != nil {
		return nil, err
	}
	return e.EncodeAll(src, dst[:0]), nil
}
