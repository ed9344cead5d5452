package outputs

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/probe-forensics/probe-forensics/analyze/model"
)

// harmless asserts that sources are not said to contradict each other where they
// do not: lags alone, each with both claims cited.
func harmless(t *testing.T, r *model.Result) (lags int) {
	for _, d := range r.IPDisagreements {
		assert.True(t, d.Expected, "%s: %s", d.Kind, d.Why)
		assert.Len(t, d.Claims, 2)
		for _, c := range d.Claims {
			assert.NotEmpty(t, c.Sources)
			assert.Positive(t, c.Rank)
		}
		lags++
	}
	for _, p := range r.Pods {
		for _, iv := range p.IPIntervals {
			assert.NotEqual(t, "disputed", iv.State, "%s/%s %s", p.Namespace, p.Pod, iv.IP)
			assert.NotEmpty(t, iv.Sources)
		}
	}
	return lags
}

// No recording holds sources that contradict each other beyond the lag of copies;
// where a sandbox was made anew, that lag is stated.
func TestRecordingsHoldNoFalseDisagreement(t *testing.T) {
	each(t, func(t *testing.T, _ string, m made) {
		r := m.result(t)
		lags := harmless(t, r)
		recreated := false
		for _, p := range r.Pods {
			for i := 1; i < len(p.Sandboxes); i++ {
				recreated = recreated || address(&p, p.Sandboxes[i].ID) != address(&p, p.Sandboxes[i-1].ID)
			}
		}
		assert.Equal(t, recreated, lags > 0, "a lag is stated where an address changed, and there only")
	})
}

// address is the first address that a pod held in a sandbox.
func address(p *model.Pod, sandbox string) string {
	for _, iv := range p.IPIntervals {
		if iv.Sandbox == sandbox && iv.State == "held" {
			return iv.IP
		}
	}
	return ""
}

// In must-gathers completed pods keep their address in their status, and static
// pods share that of their node: none of them is a second owner.
func TestMustGathersHoldNoFalseDisagreement(t *testing.T) {
	gathers(t, func(t *testing.T, r *model.Result) { harmless(t, r) })
}
