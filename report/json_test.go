package report

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/report/escape"
	"github.com/probe-forensics/probe-forensics/report/internal/sample"
)

// Written piece by piece, a report has the bytes the encoder would give it.
func TestJSONInPieces(t *testing.T) {
	many := sample.Result()
	targets := &many.Inputs[0].Streams[0].ByTarget
	for i := range 5 * long {
		*targets = append(*targets, model.TargetCount{IP: "10.244.1.9", Port: i})
	}
	many.Incidents = slices.Repeat(many.Incidents, 2*long)
	for name, res := range map[string]*model.Result{"sample": sample.Result(), "healthy": sample.Healthy(), "empty": {}, "many": many} {
		var whole, pieces bytes.Buffer
		enc := json.NewEncoder(&whole)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		require.NoError(t, enc.Encode(complete(res)))
		require.NoError(t, WriteJSON(&pieces, res))
		assert.Equal(t, string(escape.JSON(whole.Bytes())), pieces.String(), name)
	}
}
