package rules

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "app-http-error", Family: FamilyApp, Tier: 1, Rank: 104,
	Title:      "HTTP status says unhealthy",
	Definition: "The probe got a whole HTTP response whose status is below 200 or at least 400.",
	Notes: []string{
		"The response body is never in the event; a kubelet at verbosity 4 logs it.",
		"The status proves that a whole exchange took place, not that the application answered: a proxy or another pod may have.",
	},
	Needs:       []string{"\"HTTP probe failed with statuscode\", or such a response in a capture."},
	Supports:    []string{"The response is in the capture: handshake, request, status.", "The container log has the request of the probe.", "404 or 405 from the first attempt: the path is wrong."},
	Contradicts: []string{"The response came from a proxy in front of the application, or from another pod."},
	LookAlikes: []LookAlike{
		{"mesh-sidecar-not-ready", "the proxy answered, not the application"},
		{"probe-target-misconfigured", "404 from the first attempt of every run: the path is wrong"},
		{"app-redirect", "the text tells of redirects"},
		{"mesh-probe-rewrite-broken", "the mesh's agent answered, while the application serves its own port"},
		{"app-protocol-mismatch", "a TLS port answers a plain request with status 400"},
	},
	Limits:     []Limit{{"kubelet log alone", 0.70}, {"kubelet log and objects", 0.90}, {"with the response in a capture", 0.95}},
	Sentence:   "%s answered its probe with an HTTP error status.",
	Recommend:  []string{"fix-status-by-class", "no-dependencies"},
	Collect:    []string{MissPodObjects, MissAppLog, MissNodeCapture, MissKubeletLog},
	Precedents: []string{"https://github.com/SREGym/SREGym/issues/50"},
	Explains:   []string{"app-slow-start"},
	Eval:       evalAppHTTPError,
})

func evalAppHTTPError(c *Case) (v Verdict) {
	as := c.OfClass(probe.ClassStatus)
	if len(as) == 0 || c.Share(as) < 0.4 {
		return v
	}
	codes := make(map[int]int)
	for _, a := range as {
		codes[a.Status]++
	}
	code, n := 0, 0
	for k, m := range codes {
		if m > n || m == n && k < code {
			code, n = k, m
		}
	}
	v.SubReason = strconv.Itoa(code)
	v.Satisfied = v.Need(GroupKubelet, WeightLiteral, factOf(fmt.Sprintf("%d attempts got HTTP status %d.", n, code), as))
	seen := joined(as, func(_ *probe.Attempt, f *event.Flow) bool { return f.Status >= 400 })
	v.Sup(GroupNodePcap, WeightState, flowFact("The exchange with that status is in the capture.", seen))
	for _, a := range seen {
		if h := a.Conn.Seen().Flow.ServerHeader; strings.Contains(h, "envoy") {
			v.Con(GroupNodePcap, WeightSoft, flowFact("A proxy answered: Server: "+h+".", []*probe.Attempt{a}))
			break
		}
	}
	v.Limit(0.90, "the status names the kind of failure, not its reason")
	if !c.has(MissPodObjects) && len(seen) == 0 {
		v.Limit(0.70, "no input tells whether a proxy answers for the application")
		v.Ask(MissPodObjects)
	}
	v.Ask(MissAppLog)
	return v
}
