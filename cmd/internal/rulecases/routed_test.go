package rulecases

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/fixtures"
	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/pcap"
)

// layer2 are the causes that speak of who answers for an address on a link.
var layer2 = []string{"arp-unanswered", "duplicate-pod-ip", "arp-conflict", "stale-neighbour", "bridge-fdb-flip"}

// TestAbsentARPProvesNothing lays a kubelet log over captures of pods that are
// routed to, or behind an overlay: their probes time out, and the captures hold no
// ARP for the pod, or only a gateway's that is answered by a proxy, and the pod's
// own packets a second time with the MAC of the node that routes them. None of
// that is evidence of a missing or a second owner of the address.
func TestAbsentARPProvesNothing(t *testing.T) {
	routed, overlaid := netip.MustParseAddr("10.65.0.2"), netip.MustParseAddr("10.66.2.2")
	for _, c := range []struct {
		name  string
		pod   netip.Addr
		files []string
	}{
		{"proxy ARP, any device", routed, []string{"routed-any"}},
		{"proxy ARP, veth", routed, []string{"routed-veth"}},
		{"proxy ARP, veth and uplink", routed, []string{"routed-veth", "routed-uplink"}},
		{"no ARP, any device", routed, []string{"static-any"}},
		{"no ARP, veth", routed, []string{"static-veth"}},
		{"no ARP, veth and uplink", routed, []string{"static-veth", "static-uplink"}},
		{"vxlan, uplink", overlaid, []string{"vxlan-uplink"}},
		{"vxlan, device", overlaid, []string{"vxlan-device"}},
		{"vxlan, both", overlaid, []string{"vxlan-uplink", "vxlan-device"}},
		{"geneve, uplink", overlaid, []string{"geneve-uplink"}},
		{"geneve, both", overlaid, []string{"geneve-uplink", "geneve-device"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inputs := map[string][]byte{}
			var failed []event.Nanos
			for _, f := range c.files {
				data, err := fs.ReadFile(fixtures.FS, "captures/cni/"+f+".pcap")
				require.NoError(t, err)
				inputs["node-a/"+f+".pcap"] = data
				if at := unanswered(t, data, c.pod); len(at) > 0 {
					failed = at
				}
			}
			require.GreaterOrEqual(t, len(failed), 3)
			inputs["kubelet.log"] = timeouts(c.pod, failed)
			inputs["pods.yaml"] = podObject(c.pod, failed[0])
			r := analyze(t, inputs)
			require.NotEmpty(t, r.Incidents)
			for _, i := range r.Incidents {
				assert.Equal(t, len(failed), i.FailedAttempts)
				assert.NotContains(t, layer2, i.Cause.ID)
				for _, x := range i.Contributing {
					assert.NotContains(t, layer2, x.ID)
				}
				for _, e := range i.Evidence {
					if e.Role == model.RoleFor && slices.Contains(layer2, e.Rule) {
						t.Errorf("evidence for %s: %s", e.Rule, e.Claim)
					}
				}
			}
		})
	}
}

// unanswered are the times of the SYNs to the pod that nobody answered.
func unanswered(t *testing.T, data []byte, pod netip.Addr) []event.Nanos {
	t.Helper()
	var s syns
	require.NoError(t, pcap.Parse(context.Background(), bytes.NewReader(data), &event.StreamInfo{ID: 1}, &s))
	var out []event.Nanos
	for _, f := range s.flows {
		if f.Server.Addr() == pod && f.State == event.S0 {
			out = append(out, f.SYN.At)
		}
	}
	slices.Sort(out)
	return out
}

// syns is a sink that keeps connections.
type syns struct{ flows []*event.Flow }

func (s *syns) Problem(event.Problem) {}
func (s *syns) Emit(e event.Event) {
	if f, ok := e.Payload.(*event.Flow); ok {
		s.flows = append(s.flows, f)
	}
}

// timeouts is what a kubelet logs of such SYNs, whose prober waits half a second.
func timeouts(pod netip.Addr, at []event.Nanos) []byte {
	var b strings.Builder
	for _, t := range at {
		end := t.Add(501 * time.Millisecond).Time()
		fmt.Fprintf(&b, "%s node-a kubelet[812]: I%s     812 prober.go:120] \"Probe failed\" probeType=\"Readiness\" pod=\"shop/web-0\" "+
			"podUID=\"3f2c9a10-5b7e-4c1d-9e2f-000000000005\" containerName=\"web\" probeResult=\"failure\" "+
			"output=\"Get \\\"http://%s:8080/healthz\\\": dial tcp %s:8080: i/o timeout (Client.Timeout exceeded while awaiting headers)\"\n",
			end.Format("2006-01-02T15:04:05.000000-07:00"), end.Format("0102 15:04:05.000000"), pod, pod)
	}
	return []byte(b.String())
}

func podObject(pod netip.Addr, around event.Nanos) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Pod
metadata:
  name: web-0
  namespace: shop
  uid: 3f2c9a10-5b7e-4c1d-9e2f-000000000005
  creationTimestamp: %q
spec:
  nodeName: node-a
  containers:
  - name: web
    image: registry.example.com/shop/web:1.4.2
    ports:
    - containerPort: 8080
    readinessProbe:
      httpGet:
        path: /healthz
        port: 8080
      periodSeconds: 1
      timeoutSeconds: 1
      failureThreshold: 3
status:
  phase: Running
  podIP: %s
  podIPs:
  - ip: %s
`, around.Add(-time.Hour).Time().Format(time.RFC3339), pod, pod)
}
