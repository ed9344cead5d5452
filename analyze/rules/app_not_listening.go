package rules

var _ = register(Rule{
	ID: "app-not-listening", Family: FamilyApp, Tier: 1, Rank: 102,
	Title:      "nothing listens on the probed port",
	Definition: "The pod's own stack owns the IP, but nothing listens on address and port: the application has not started, has stopped, or is bound to loopback or to the other family only.",
	Needs:      []string{"\"connection refused\" from the right IP while the container ran, and no sign of another responder."},
	Supports:   []string{"SYN and RST are visible inside the pod.", "Refused ever since the container started.", "The container log tells of a later bind, or of a bind to 127.0.0.1.", "The pod's socket list has no such listener."},
	Contradicts: []string{"The port answered before and after in the same container run, with no sign in the container log.",
		"A frame from the pod heals it.", "The RST was not sent by the pod."},
	LookAlikes: []LookAlike{
		{"duplicate-pod-ip", "the connection never shows up inside the pod"},
		{"app-slow-start", "the refusals end by themselves, some time after the start"},
		{"probe-target-misconfigured", "the spec names a port that no container declares"},
		{"policy-reject", "the socket list has the listener, and a rule rejects"},
		{"mesh-redirect-dead-port", "the socket list has the listener, and a nat rule redirects"},
	},
	Limits:     []Limit{{"kubelet log and objects", 0.65}, {"with the container log", 0.85}, {"node capture", 0.65}, {"pod capture", 0.90}},
	Sentence:   "Nothing listens on the probed port of %s.",
	Recommend:  []string{"listen-everywhere", "fix-probe-target", "read-previous-logs"},
	Precedents: []string{"https://github.com/kubernetes/kubernetes/issues/62594", "https://github.com/NetApp/trident/pull/1045"},
	Eval:       evalAppNotListening,
})
