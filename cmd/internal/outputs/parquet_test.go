package outputs

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
)

// values prints every value of a Parquet file, one a line, and its metadata.
func values(t *testing.T, data []byte) string {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	var text strings.Builder
	for _, kv := range f.Metadata().KeyValueMetadata {
		fmt.Fprintf(&text, "%s %s\n", kv.Key, kv.Value)
	}
	buf := make([]parquet.Row, 256)
	for _, g := range f.RowGroups() {
		rows := g.Rows()
		for {
			n, err := rows.ReadRows(buf)
			for _, r := range buf[:n] {
				for _, v := range r {
					text.WriteString(v.String())
					text.WriteByte('\n')
				}
			}
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
		}
		require.NoError(t, rows.Close())
	}
	return text.String()
}
