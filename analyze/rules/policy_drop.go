package rules

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "policy-drop", Family: FamilyPath, Tier: 1, Rank: 81,
	Title:      "a rule silently dropped the probes",
	Definition: "A network policy, host firewall, security group or eBPF program dropped the probe's packets without an answer.",
	Notes: []string{
		"Packets: SYNs without any answer while ARP is answered. With timeoutSeconds 1 there is one SYN per attempt, the first repetition comes after about one second; SYNs may outnumber attempts, because an HTTP dial goes on in the background.",
		"A drop on the node's OUTPUT leaves nothing on the bridge: failures without a SYN in a capture without gaps.",
	},
	Needs: []string{"From one moment on every SYN stays unanswered in a gap-free capture while ARP is answered (or no SYN of a logged attempt reaches the wire at all), and one of: " +
		"the SYN does not reach the pod; a policy or drop log fits; the SYN reaches the pod and no accepted-but-unserved connections precede the silence; unicast ARP to the same MAC is answered in the silence."},
	Supports:    []string{"A kernel or agent log line of a drop.", "A policy was created when the drop began.", "Another pod of the node fell silent at the same moment.", "The same address answered before and after, without a restart."},
	Contradicts: []string{"A SYN-ACK was seen in the silence.", "Some attempts succeed inside the failing period.", "The SYNs carry another MAC than the pod's.", "ARP for the pod is unanswered."},
	LookAlikes: []LookAlike{
		{"accept-queue-overflow", "handshakes that the application never served come before the silence"},
		{"bridge-fdb-flip", "a frame from the pod heals it, and there is no policy"},
		{"conntrack-exhausted", "all pods of the node fail at once and the kernel log says that the table is full"},
		{"stale-neighbour", "the SYNs carry the MAC of an earlier owner"},
	},
	Limits:    []Limit{{"log and objects", 0.60}, {"log and objects, the probes passed until the policy came", 0.70}, {"node capture alone", 0.60}, {"node and pod capture without a policy or log", 0.69}, {"a drop log", 0.90}, {"node and pod capture with a policy", 0.95}},
	Sentence:  "A rule on the path dropped the probes of %s silently.",
	Recommend: []string{"allow-node", "ip-keyed-state", "judge-by-place"},
	Collect:   []string{MissNodeCapture, MissPodCapture, MissPolicies, MissPodRules, MissNodeRules, MissKernelLog},
	Precedents: []string{"https://github.com/antrea-io/antrea/issues/176", "https://github.com/aws/aws-network-policy-agent/issues/56", "https://github.com/aws/aws-network-policy-agent/issues/635",
		"https://github.com/cilium/cilium/issues/34042"},
	Thresholds: []Threshold{
		{"same-start", 3, "s", "two pods whose silence begins within this time share the moment"},
		{"min-silent", 3, "count", "unanswered connections needed"},
	},
	Explains: []string{"probe-timeout-too-tight"},
	Eval:     evalPolicyDrop,
})

func evalPolicyDrop(c *Case) (v Verdict) {
	silent := c.Silent()
	unsent := c.Unsent()
	timed := c.TimedOut()
	drop := c.dropLines(func(line string, server netip.AddrPort) bool { return ends(line, "DST=", "DPT=", server) })
	policy, sudden := c.policies()
	if len(timed) == 0 {
		return v
	}
	if len(silent)+len(unsent) == 0 {
		// Only text: a policy that began when the failures began is all there can be.
		if c.HasNodeCapture() {
			return v
		}
		if !policy.OK() && !drop.OK() {
			c.undecided(&v, timed)
			v.Ask(MissNodeCapture, MissPodCapture)
			return v
		}
		v.Need(GroupKubelet, WeightClass, factOf("The probes time out.", timed))
		v.Satisfied = true
		before, _ := c.AnsweredInRun()
		sudden = sudden && before.OK()
		if sudden {
			v.Sup(GroupAPI, WeightState, policy)
			v.Sup(GroupTiming, WeightStateLoose, before.Say("Until then the probes passed."))
		} else {
			v.Sup(GroupAPI, WeightStateLoose, policy)
		}
		v.Sup(GroupKernel, 0.85, drop)
		switch {
		case drop.OK():
			v.Limit(0.90, "a drop log names it")
		case sudden:
			v.Limit(0.70, "no packets, but the probes passed until the policy came")
		default:
			v.Limit(0.60, "no packets")
		}
		v.Ask(MissNodeCapture, MissPodCapture, MissPolicies)
		return v
	}
	lost := c.NotInPod(silent)
	inside := c.InsidePod(silent)
	heal := c.HealedByEgress()
	un := c.ARPUnanswered()
	wrong, _ := c.WrongMAC()
	share := float64(len(silent)+len(unsent)) / float64(len(timed))
	if share < 0.7 || un.N >= 2 || heal.OK() {
		return v
	}
	v.Need(GroupNodePcap, WeightState, flowFact(fmt.Sprintf("%d failed attempts: the SYN and its repeats got no answer of any kind.", len(silent)), silent))
	if len(silent) == 0 {
		v.Need(GroupNodePcap, WeightState, factOf(fmt.Sprintf("%d failed attempts put no SYN on the wire although the capture covers them: something on the node swallowed it.", len(unsent)), unsent))
	}
	v.Sup(GroupARP, WeightStateLoose, c.ARPAnswered())
	queue := c.unserved()
	switch {
	case drop.OK():
		v.Satisfied = v.Need(GroupKernel, 0.85, drop)
		v.Limit(0.90, "a drop log names it")
	case len(lost) >= 2:
		v.Satisfied = v.Need(GroupTwoPoints, 0.60, flowFact("The SYNs were on the node side and not inside the pod.", lost))
		v.Limit(0.69, "no policy or drop log in the inputs")
		if policy.OK() {
			v.Sup(GroupAPI, WeightState, policy)
			v.Cap = 0.95
		}
	case len(inside) >= 2 && !queue.OK():
		v.Satisfied = v.Need(GroupPodPcap, WeightState, flowFact("The SYNs reached the pod's interface, and no handshake without data came before the silence: a rule inside the pod's namespace swallows them.", inside))
		v.Limit(0.69, "no rule dump or drop log in the inputs")
	case policy.OK():
		v.Satisfied = true
		v.Sup(GroupAPI, WeightState, policy)
		v.Limit(0.75, "a policy that selects the pod, and the node's packets fit")
	default:
		v.Satisfied = true
		v.Limit(0.60, "node packets alone do not say who dropped them")
	}
	if len(silent) == 0 && !drop.OK() && !policy.OK() && c.othersFailing().N >= nodePods && !c.has(MissKernelLog) {
		v.Limit(0.39, "several pods at once and no SYN on the wire: without the kernel log the connection tracking table may as well have been full")
	}
	if other := c.OtherPortAnswers(); other.OK() {
		v.Sup(GroupTiming, 0.2, other)
	}
	if ok := c.between(); ok.OK() && ok.N*4 > len(timed) {
		v.Con(GroupTiming, WeightSoft, ok)
	}
	if queue.OK() {
		v.Con(GroupPodPcap, WeightSoft, queue)
	}
	if len(wrong)*2 > len(silent) && len(wrong) > 0 {
		v.Con(GroupARP, WeightDirect, flowFact("The SYNs went to a MAC that is not the pod's.", wrong))
	}
	v.Ask(MissPodRules, MissNodeRules, MissPolicies, MissKernelLog)
	if !c.HasPodCapture() {
		v.Ask(MissPodCapture)
	}
	return v
}

// dropLines cites log lines of dropped packets that belong to a probed address.
// A firewall logs many that do not.
func (c *Case) dropLines(belongs func(line string, server netip.AddrPort) bool) Fact {
	f := Fact{}
	n := c.Index.Node(c.Node)
	if n == nil {
		return f
	}
	for _, s := range n.States {
		if s.Code == event.NodePolicyDrop && s.At >= c.First.Add(-2*time.Minute) && s.At <= c.Last.Add(2*time.Minute) &&
			slices.ContainsFunc(c.servers(), func(a netip.AddrPort) bool { return belongs(s.Message, a) }) {
			f.add(oneLine(s.Message), s.At, s.Ref)
		}
	}
	return f
}

// ends reports whether a packet filter's log line names the address behind one
// key and, where it names a port, that port behind the other.
func ends(line, addrKey, portKey string, a netip.AddrPort) bool {
	var addr, port string
	for w := range strings.FieldsSeq(line) {
		if v, ok := strings.CutPrefix(w, addrKey); ok {
			addr = v
		} else if v, ok := strings.CutPrefix(w, portKey); ok {
			port = v
		}
	}
	ip, err := netip.ParseAddr(addr)
	return err == nil && ip == a.Addr() && (port == "" || port == strconv.Itoa(int(a.Port())))
}

// between returns successes of the failing probes inside the failure window.
func (c *Case) between() Fact {
	f := Fact{}
	for _, a := range c.Successes(c.First, c.Last) {
		f.add("Attempts succeeded inside the failure window.", a.End, a.Refs[0])
	}
	return f
}

// policyKinds are the objects that can drop a probe, and whether they rule the
// whole cluster.
var policyKinds = map[string]bool{
	"NetworkPolicy": false, "CiliumNetworkPolicy": false,
	"GlobalNetworkPolicy": true, "CiliumClusterwideNetworkPolicy": true, "AdminNetworkPolicy": true, "BaselineAdminNetworkPolicy": true, "ClusterNetworkPolicy": true,
}

// policies cites policies for ingress that select a pod of the incident and were
// created in the minutes before the failures began; sudden is set when one was
// created within a period of them.
func (c *Case) policies() (f Fact, sudden bool) {
	for _, o := range c.Index.Objects {
		wide, ok := policyKinds[o.ObjectKind]
		if !ok || o.Created == 0 || o.Created > c.First.Add(5*time.Second) || c.First.Sub(o.Created) >= 10*time.Minute {
			continue
		}
		if types := factValue(o.Facts, event.FactPolicyTypes); types != "" && !strings.Contains(types, "Ingress") {
			continue
		}
		for _, m := range c.Members {
			p := m.Worker.Pod
			if !wide && p.Namespace != o.Namespace || !p.Snapshot.IsZero() && !selects(factValue(o.Facts, event.FactPodSelector), p) {
				continue
			}
			name := strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
			f.add(o.ObjectKind+" "+name+" was created "+secs(max(c.First.Sub(o.Created), 0))+" before the failures began.", o.Created, o.Ref)
			sudden = sudden || c.First.Sub(o.Created) <= cmp.Or(m.Worker.Period, 10*time.Second)+cmp.Or(m.Worker.Timeout, time.Second)
			break
		}
	}
	return f, sudden
}
