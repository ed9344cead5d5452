package report

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/report/escape"
	"github.com/probe-forensics/probe-forensics/report/internal/sample"
)

// Written piece by piece, a report has the bytes the encoder would give it.
func TestJSONInPieces(t *testing.T) {
	for name, res := range map[string]*model.Result{"sample": sample.Result(), "healthy": sample.Healthy(), "empty": {}} {
		var whole, pieces bytes.Buffer
		enc := json.NewEncoder(&whole)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		require.NoError(t, enc.Encode(complete(res)))
		require.NoError(t, WriteJSON(&pieces, res))
		assert.Equal(t, string(escape.JSON(whole.Bytes())), pieces.String(), name)
	}
}
