package logs_test

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/logs"
	"github.com/probe-forensics/probe-forensics/parsers/source"
)

// objectFormats are the formats of objects, audit logs, tables and host state.
var objectFormats = regexp.MustCompile(`^(kube|kubectl|audit|crictl|cluster-info|ip|bridge|ipamd|cpu|host|ss|nstat|psi|sysctl|iptables|nft|command|docker-inspect)\b`)

// walkObjects reads all members of an archive that are in one of the object
// formats; names matching must have to be.
func walkObjects(t *testing.T, archive string, must *regexp.Regexp, use func(name string, r *recorded)) {
	t.Helper()
	_, err := source.Walk(context.Background(), []string{archive}, source.Options{}, func(f *source.File) error {
		head, err := f.Peek(source.PeekSize)
		if err != nil || len(head) == 0 {
			return err
		}
		name := strings.ReplaceAll(f.Path, "!/", "/")
		format, err := logs.Detect(head, f.Path)
		if must != nil && must.MatchString(name) {
			require.NoError(t, err, name)
			require.Regexp(t, objectFormats, format.Name, name)
		}
		if err != nil || !objectFormats.MatchString(format.Name) {
			return nil
		}
		r := &recorded{info: &event.StreamInfo{ID: 1, Path: f.Path, Format: format.Name, Verbosity: -1}}
		err = format.Parse(context.Background(), &logs.Input{Path: f.Path, R: f, Info: r.info, Sink: r})
		require.NoError(t, err, name)
		assert.Empty(t, r.problems, "%s as %s", name, format.Name)
		use(name, r)
		return nil
	})
	require.NoError(t, err)
}

// TestRecordedObjects reads the objects of all our recordings: none may hold a
// problem, and a pod must be the same in the list and in its own file.
func TestRecordedObjects(t *testing.T) {
	must := regexp.MustCompile(`/core/(pods|events|endpoints|services|nodes/[^/]+)(\.yaml)?$|/pods/([^/]+)/([^/]+)\.yaml$|audit_logs/|` +
		`/(pods|events|nodes|namespaces)\.json$|cluster-resources/(pods|events|services|endpoints)/|kubeobjects/|` +
		`/kubectl/(pods|events|nodes|nodesdescribe|nodes\.json)$|crictl/|ipam\.json$|ip_?(route|addr)[a-z]*(\.txt)?$|ip_-o_addr$|` +
		`get_.*(pods|events|nodes)$|(kubectl|oc)-get-[a-z]+.*\.txt$|/logs\.txt$|inspect\.json$|cpu\.stat`)
	var archives []string
	for _, dir := range []string{"corpus/lab", "corpus/layouts"} {
		found, err := filepath.Glob(filepath.Join(shared(t, dir), "*", "bundle.*"))
		require.NoError(t, err)
		archives = append(archives, found...)
	}
	require.NotEmpty(t, archives)
	for _, a := range archives {
		t.Run(filepath.Base(filepath.Dir(a)), func(t *testing.T) {
			if strings.Contains(a, "minikube") {
				must = regexp.MustCompile(`kubectl-get-`) // its logs.txt is another format
			}
			lists, files := map[string]string{}, map[string]string{}
			kinds := map[event.Kind]int{}
			walkObjects(t, a, must, func(name string, r *recorded) {
				into := lists
				if path.Base(path.Dir(path.Dir(name))) == "pods" {
					into = files
				}
				for _, e := range r.events {
					kinds[e.Payload.Kind()]++
					if p, ok := e.Payload.(*event.PodSeen); ok && !p.Partial {
						into[p.Pod.String()] = fmt.Sprintf("%+v", *p)
					}
				}
			})
			for pod, text := range files {
				assert.Equal(t, lists[pod], text, "%s in the list and in its own file", pod)
			}
			assert.NotEmpty(t, kinds)
		})
	}
}

// TestPublicMustGather counts the objects of a real cluster.
func TestPublicMustGather(t *testing.T) {
	file := filepath.Join(shared(t, "corpus/public"), "mustgather", "must-gather-aws.tar.xz")
	if _, err := os.Stat(file); err != nil || testing.Short() {
		t.Skip("not here, or short")
	}
	t.Parallel() // decompressing takes most of the time
	var pods, hostNetwork, finished, events, added, nodes int
	walkObjects(t, file, nil, func(name string, r *recorded) {
		for _, e := range r.events {
			switch p := e.Payload.(type) {
			case *event.PodSeen:
				if path.Base(name) != "pods.yaml" {
					continue
				}
				pods++
				if p.HostNetwork {
					hostNetwork++
				}
				if p.Phase == "Succeeded" && len(p.IPs) > 0 {
					finished++
				}
			case *event.K8sEvent:
				events++
			case *event.PodIP:
				if p.Via == "event" {
					added++
				}
			case *event.NodeSeen:
				nodes++
			}
		}
	})
	assert.Equal(t, []int{239, 80, 56, 5373, 191, 6}, []int{pods, hostNetwork, finished, events, added, nodes})
}

// TestPublicAudit finds the addresses in audit events of four platforms.
func TestPublicAudit(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shared(t, "corpus/public"), "audit", "samples", "*.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	ips, syncs := 0, 0
	for _, f := range files {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		r := readLog(t, f, b)
		assert.Equal(t, "audit-json", r.info.Format, f)
		assert.Empty(t, r.problems, f)
		for _, e := range r.events {
			switch p := e.Payload.(type) {
			case *event.PodIP:
				ips++
				assert.Len(t, p.IPs, 1)
				assert.False(t, e.Time.IsZero())
			case *event.PodSync:
				syncs++
			}
		}
	}
	assert.Equal(t, []int{2, 3}, []int{ips, syncs}, "addresses and status patches")
}
