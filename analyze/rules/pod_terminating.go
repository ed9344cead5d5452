package rules

import (
	"fmt"

	"github.com/probe-forensics/probe-forensics/analyze/probe"
)

var _ = register(Rule{
	ID: "pod-terminating", Family: FamilyMeta, Tier: 1, Rank: 1,
	Title:      "pod was being deleted",
	Definition: "The probes failed while the pod was being deleted. That is expected: liveness and startup probes stop, readiness goes on and fails once the application shuts down.",
	Notes: []string{
		"Liveness and startup probes stop with the deletion, readiness goes on and logs its failures. Nothing has to be repaired.",
	},
	Needs:       []string{"A deletion of the same UID before the failures: deletionTimestamp, \"SyncLoop DELETE\", or event Killing with \"Stopping container\"."},
	Supports:    []string{"Readiness alone fails.", "No failure after the pod was removed."},
	Contradicts: []string{"The failures began before the deletion."},
	LookAlikes:  []LookAlike{{"app-not-listening", "the pod was not being deleted"}},
	Limits:      []Limit{{"kubelet log or objects", 0.95}},
	Sentence:    "%s was being deleted; failed readiness probes are expected then.",
	Recommend:   []string{"graceful-termination"},
	Collect:     []string{MissKubeletLog, MissPodObjects, MissEvents},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/122824", "https://github.com/kubernetes/kubernetes/issues/52817", "https://github.com/kubernetes/kubernetes/issues/110309"},
	Thresholds:  []Threshold{{"share", 0.8, "ratio", "share of the failures that must lie after the deletion"}},
	Explains:    []string{"app-not-listening", "app-hang", "app-http-error", "app-connection-closed", "app-crash-loop"},
	Eval:        evalPodTerminating,
})

func evalPodTerminating(c *Case) (v Verdict) {
	failed := c.Failed()
	var after []*probe.Attempt
	var del Fact
	for _, a := range failed {
		// A series of an Event ends after the deletion and may have begun long before.
		if p := a.Worker.Pod; p.DeletedAt != 0 && a.End >= p.DeletedAt && (a.Since == 0 || a.Since >= p.DeletedAt) {
			after = append(after, a)
			del.add("The pod was being deleted.", p.DeletedAt, p.DeletedRef)
		}
	}
	if len(failed) == 0 || c.Share(after) < c.Thresholds("pod-terminating", "share") {
		return v
	}
	v.Satisfied = v.Need(GroupKubelet, WeightLiteral, del)
	v.Sup(GroupTiming, WeightState, factOf(fmt.Sprintf("%d of %d failures came after that; readiness goes on while a pod ends.", len(after), len(failed)), after))
	v.Limit(0.95, "deletion and failures stand in one log")
	return v
}
