package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze"
	"github.com/probe-forensics/probe-forensics/fixtures/gen/workload"
	"github.com/probe-forensics/probe-forensics/parsers"
)

// TestGrowth holds the CPU of eight times an input to about eight times that of
// the input: what grows with the square would take sixty-four. CPU, not time on
// the wall, because tests share their machine; the least of three runs, because
// noise only adds.
func TestGrowth(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, write := range map[string]func(dir string, times int) error{
		// More of the same pods' probes, and more pods with the same number of probes.
		"longer": func(dir string, times int) error { return node(dir, 40, 30*int64(times)) },
		"wider":  func(dir string, times int) error { return node(dir, 40*times, 30) },
	} {
		t.Run(name, func(t *testing.T) {
			var cost [2]time.Duration
			for i, times := range []int{1, 8} {
				dir := t.TempDir()
				require.NoError(t, write(dir, times))
				for range 3 {
					if c := analysed(t, dir); cost[i] == 0 || c < cost[i] {
						cost[i] = c
					}
				}
			}
			t.Logf("1x %v, 8x %v", cost[0], cost[1])
			// What is there before the first byte is read makes the ratio smaller, the
			// collector and colder caches make it larger.
			assert.Less(t, cost[1], 20*max(cost[0], 5*time.Millisecond))
		})
	}
}

// node writes objects, journal and capture of pods that all fail half of the time.
func node(dir string, pods int, rounds int64) error {
	c := workload.NewCluster(workload.Config{Seed: 1, Pods: pods, PodsPerNode: pods, FaultEvery: 1})
	for name, write := range map[string]func(io.Writer) (workload.Truth, error){
		"must-gather.tar": func(w io.Writer) (workload.Truth, error) {
			return c.WriteGather(w, workload.Gather{LogNodes: -1})
		},
		"kubelet.log": func(w io.Writer) (workload.Truth, error) {
			return c.WriteJournal(w, workload.Journal{Rounds: rounds})
		},
		"cni0.pcap": func(w io.Writer) (workload.Truth, error) {
			return c.WritePackets(w, workload.Capture{Rounds: rounds})
		},
	} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if _, err := write(f); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// analysed is the CPU time of one analysis.
func analysed(t *testing.T, dir string) time.Duration {
	before := cpuTime(t)
	c, err := parsers.Open(context.Background(), []string{dir}, parsers.Options{})
	require.NoError(t, err)
	defer c.Close()
	res, err := analyze.Run(context.Background(), c, nil, analyze.Options{})
	require.NoError(t, err)
	require.Positive(t, res.Totals.Attempts.Failure)
	return cpuTime(t) - before
}

func cpuTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
