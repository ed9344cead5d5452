package rules

var _ = register(Rule{
	ID: "mesh-probe-snat-blocked", Family: FamilyMesh, Tier: 1, Rank: 94,
	Title:       "mesh probe address blocked",
	Definition:  "Ambient mode rewrites the kubelet's source address to 169.254.7.127, and a policy or the datapath drops that address.",
	Needs:       []string{"An ambient marker and timeouts on the pod's network probes; or SYNs from 169.254.7.127 without an answer."},
	Supports:    []string{"A policy that does not list the address.", "The failures began with the enrolment."},
	Contradicts: []string{"SYNs from the address are answered."},
	LookAlikes:  []LookAlike{{"policy-drop", "the probe's source is the node's own address"}},
	Limits:      []Limit{{"objects and kubelet log", 0.75}, {"pod-side capture", 0.92}},
	Sentence:    "The address that the mesh uses for the probes of %s is blocked.",
	Recommend:   []string{"mesh-snat-allow", "allow-node"},
	Precedents:  []string{"https://github.com/istio/istio/issues/52765", "https://github.com/istio/istio/issues/49277", "https://github.com/istio/istio/issues/58531"},
	Explains:    []string{"policy-drop", "probe-timeout-too-tight"},
	Eval:        evalMeshSNAT,
})
