package recordings

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers"
)

// The case this tool was made for, in the shape of kubernetes issue 64464: on a
// node's bridge the SYNs of a probe are refused within 40 us, until the pod sends
// a frame of its own. The text has no dates and no link-layer addresses, and no
// log stands beside it.
func TestRefusedUntilThePodSpeaks(t *testing.T) {
	c, err := parsers.Open(context.Background(), []string{"../../../fixtures/e2e/refused-until-the-pod-speaks.txt"}, parsers.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	r, err := analyze.Run(context.Background(), c, nil, analyze.Options{})
	require.NoError(t, err)
	require.Len(t, r.Incidents, 1)
	i := r.Incidents[0]

	require.Len(t, i.Subjects, 1)
	assert.Empty(t, i.Subjects[0].Pod, "packets alone do not name the pod")
	assert.Equal(t, model.Target{Scheme: "tcp", Host: "10.52.3.77", Port: 3306}, i.Subjects[0].Target)
	assert.Equal(t, 4, i.FailedAttempts)

	assert.Equal(t, "duplicate-pod-ip", i.Cause.ID)
	assert.InDelta(t, 0.65, i.Cause.Confidence, 0.051, "healing by a frame from the pod proves no more")
	assert.Equal(t, model.Possible, i.Cause.Word)

	ids := map[string]model.Alternative{}
	for _, a := range i.Alternatives {
		ids[a.ID] = a
	}
	assert.Contains(t, ids, "bridge-fdb-flip")
	assert.InDelta(t, 0.55, ids["bridge-fdb-flip"].Confidence, 0.051)
	assert.Less(t, ids["app-not-listening"].Confidence, 0.4)

	var claims, collect strings.Builder
	for _, e := range i.Evidence {
		claims.WriteString(e.Role + ": " + e.Claim + "\n")
		assert.NotZero(t, e.Ref.Line, "%s", e.Claim)
	}
	assert.Contains(t, claims.String(), "context: The RST at the end of a successful probe is normal")
	assert.Contains(t, claims.String(), "right after a frame from the pod's own address")
	for _, m := range i.Missing {
		collect.WriteString(m.HowToCollect + "\n")
	}
	for _, want := range []string{"tcpdump -nn -e -i VETH", "nsenter -n -t PID tcpdump", "bridge fdb show", "ip neigh show"} {
		assert.Contains(t, collect.String(), want)
	}
}
