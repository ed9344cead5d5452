package rules

import (
	"fmt"

	"github.com/probe-forensics/probe-forensics/analyze/probe"
)

var _ = register(Rule{
	ID: "app-not-listening", Family: FamilyApp, Tier: 1, Rank: 102,
	Title:      "nothing listens on the probed port",
	Definition: "The pod's own stack owns the IP, but nothing listens on address and port: the application has not started, has stopped, or is bound to loopback or to the other family only.",
	Notes: []string{
		"Packets: SYN, then within 20-100 us RST with sequence 0, window 0 and acknowledgement SYN+1. That is how every closed port answers; it is no anomaly.",
		"One refusal just after a container start is normal.",
	},
	Needs:    []string{"\"connection refused\" from the right IP while the container ran, and no sign of another responder."},
	Supports: []string{"SYN and RST are visible inside the pod.", "Refused ever since the container started.", "The container log tells of a later bind, or of a bind to 127.0.0.1.", "The pod's socket list has no such listener."},
	Contradicts: []string{"The port answered before and after in the same container run, with no sign in the container log.",
		"A frame from the pod heals it.", "The RST was not sent by the pod.", "The SYNs go through the node's loopback interface."},
	LookAlikes: []LookAlike{
		{"duplicate-pod-ip", "the connection never shows up inside the pod"},
		{"app-slow-start", "the refusals end by themselves, some time after the start"},
		{"probe-target-misconfigured", "the spec names a port that no container declares"},
		{"policy-reject", "the socket list has the listener, and a rule rejects"},
		{"dual-stack-primary-flip", "the pod's address of the other family is served"},
		{"pod-terminating", "the pod was being deleted"},
		{"mesh-redirect-dead-port", "the socket list has the listener, and a nat rule redirects"},
	},
	Limits:     []Limit{{"without objects or without the kubelet's log", 0.50}, {"kubelet log and objects", 0.65}, {"with the container log", 0.85}, {"node capture", 0.65}, {"node capture without a SYN to the pod", 0.50}, {"pod capture", 0.90}, {"pod capture without the kubelet's log", 0.60}},
	Sentence:   "Nothing listens on the probed port of %s.",
	Recommend:  []string{"listen-everywhere", "fix-probe-target", "read-previous-logs"},
	Collect:    []string{MissPodCapture, MissListeners, MissAppLog, MissPodRules, MissKubeletLog},
	Precedents: []string{"https://github.com/kubernetes/kubernetes/issues/62594", "https://github.com/NetApp/trident/pull/1045"},
	Eval:       evalAppNotListening,
})

func evalAppNotListening(c *Case) (v Verdict) {
	refused := c.Refused()
	text := c.OfClass(probe.ClassRefused)
	for _, a := range refused {
		if a.Class == probe.ClassGRPCConn { // the words are those of a time-out, the packets tell
			text = append(text, a)
		}
	}
	if len(text) == 0 || c.Share(text) < 0.5 {
		return v
	}
	inside := c.InsidePod(refused)
	v.Satisfied = v.Need(GroupKubelet, WeightState, factOf(fmt.Sprintf("%d attempts were refused.", len(text)), text))
	v.Limit(0.65, "the kubelet's text and the node's packets do not tell who refused")
	if !c.has(MissPodObjects) {
		v.Limit(0.50, "no input tells what the pod declares")
	} else if !c.has(MissKubeletLog) {
		v.Limit(0.50, "no log tells what became of the containers")
	}
	if len(refused) > 0 {
		v.Sup(GroupNodePcap, WeightStateLoose, flowFact("A RST answered the SYN at once.", refused))
	}
	if len(inside) > 0 {
		v.Sup(GroupPodPcap, WeightTwoPoints, flowFact("The RST left the pod itself.", inside))
		v.Cap, v.CapWhy = 0.90, "a capture in the pod"
		if !c.has(MissKubeletLog) {
			v.Limit(0.60, "a capture in the pod, and no log tells whether the port was served before")
		}
	}
	if c.NeverAnswered() {
		v.Sup(GroupTiming, WeightStateLoose, factOf("The port never answered in the data.", text))
	}
	if f := c.noListener(); f.OK() {
		v.Sup(GroupHost, WeightTwoPoints, f)
		v.Cap, v.CapWhy = 0.90, "the pod's socket list"
	}
	if f := c.appLog("The container log tells of its listener", "bind-in-use", "starting"); f.OK() {
		v.Sup(GroupAppLog, WeightStateLoose, f)
	}
	before, after := c.AnsweredInRun()
	if before.OK() {
		w := WeightSoft
		if after.OK() {
			w = 0.5
		}
		v.Con(GroupTiming, w, before)
		v.Limit(0.60, "the port was served before in the same container run")
	}
	if len(text) == 1 && text[0].Count <= 1 && !c.has(MissPodObjects) && len(inside) == 0 {
		// Neither its start nor its run is known: it may have been starting.
		v.Limit(0.39, "one refusal, and no input tells whether the container had just started")
	}
	if out := c.NotInPod(refused); len(out) > 0 {
		v.Con(GroupTwoPoints, WeightDirect, flowFact("The connections never reached the pod: something else refused them.", out))
	}
	if !c.hostNetworkOnly() {
		v.Con(GroupNodePcap, WeightDirect, c.onLoopback(refused))
	}
	if c.refusedUnseen().OK() {
		v.Limit(0.50, "a capture that would show them holds no SYN to the pod")
	}
	if f := c.HealedByEgress(); f.OK() {
		v.Con(GroupARP, WeightDirect, f)
	}
	if icmp := c.Rejected(); len(icmp)*2 > len(text) {
		v.Con(GroupNodePcap, WeightDirect, flowFact("The refusal was an ICMP error, not a RST.", icmp))
	}
	if c.OtherDoor().OK() {
		v.Con(GroupNodePcap, WeightDirect, c.OtherDoor())
	}
	v.Ask(MissPodCapture, MissListeners, MissAppLog, MissPodRules)
	return v
}

// noListener cites a socket list of the pod that lacks the probed port.
func (c *Case) noListener() Fact {
	f := Fact{}
	for _, h := range c.Index.Facts {
		if h.Tool != "ss" || h.Pod.Name == "" || c.Pod() == nil || h.Pod.Name != c.Pod().Name {
			continue
		}
		for _, s := range c.servers() {
			if h.Port == int(s.Port()) {
				return Fact{}
			}
		}
		f.add("The pod's socket list has no listener on the probed port.", 0, h.Ref)
	}
	return f
}
