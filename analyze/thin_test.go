package analyze_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze"
	"github.com/probe-forensics/probe-forensics/fixtures/gen/workload"
	"github.com/probe-forensics/probe-forensics/parsers"
)

// A long capture without any log gives every attempt, though not every
// connection is kept: the failed ones are, the others are counted.
func TestLongCapture(t *testing.T) {
	c := workload.NewCluster(workload.Config{Seed: 1, Pods: 24, FaultEvery: 6})
	const rounds = 300
	path := filepath.Join(t.TempDir(), "node.pcap")
	f, err := os.Create(path)
	require.NoError(t, err)
	_, err = c.WritePackets(f, workload.Capture{Rounds: rounds, Bulk: 2})
	require.NoError(t, err)
	require.NoError(t, f.Close())
	log, err := c.WriteJournal(io.Discard, workload.Journal{Rounds: rounds})
	require.NoError(t, err)

	k, err := parsers.Open(context.Background(), []string{path}, parsers.Options{})
	require.NoError(t, err)
	defer k.Close()
	res, err := analyze.Run(context.Background(), k, nil, analyze.Options{})
	require.NoError(t, err)

	failed := int(log.Counts["probe_failed"])
	assert.Equal(t, failed, res.Totals.Attempts.Failure)
	assert.InDelta(t, len(c.Pods)*rounds-failed, res.Totals.Attempts.Success, 3)
	assert.Less(t, len(res.Tables.Attempts), len(c.Pods)*rounds/2, "rows: most successes are counted")
	flows := 0
	for _, err := range res.Tables.Flows() {
		require.NoError(t, err)
		flows++
	}
	assert.Greater(t, flows, len(c.Pods)*rounds, "every connection has its row")
}
