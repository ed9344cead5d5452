package rules

var _ = register(Rule{
	ID: "mesh-redirect-dead-port", Family: FamilyMesh, Tier: 2, Rank: 91,
	Title:      "redirected to a port nobody listens on",
	Definition: "A redirect rule in the pod sends the probe to a proxy port on which nobody listens, so a listening application appears to refuse.",
	Needs: []string{"Refused or reset connections on an application port while the application is known to listen, in a pod with a mesh whose proxy is down or missing; " +
		"without a mesh marker: the port answered before on the same IP and MAC and the container ran on."},
	Supports:    []string{"The pod's nat rules hold a redirect.", "The proxy container is down or restarting.", "All probes of the pod are refused from one moment on."},
	Contradicts: []string{"The proxy is ready and its inbound port listens.", "The connection never reached the pod."},
	LookAlikes: []LookAlike{
		{"app-not-listening", "the socket list shows no listener: on the wire the two look alike"},
		{"policy-reject", "the pod's rules reject instead of redirecting"},
		{"duplicate-pod-ip", "the connection never shows up inside the pod"},
	},
	Limits:     []Limit{{"log, objects and container log", 0.70}, {"pod capture that shows the redirected tuple", 0.80}, {"no mesh marker", 0.55}},
	Sentence:   "A redirect rule sends the probes of %s to a port on which nobody listens.",
	Recommend:  []string{"mesh-repair-rules"},
	Precedents: []string{"https://github.com/istio/istio/issues/15881"},
	Explains:   []string{"app-not-listening"},
	Eval:       evalMeshRedirect,
})
