package model

// Kinds of disagreement about addresses.
const (
	// DisagreeSources: sources place different addresses of one family on one pod at
	// one time.
	DisagreeSources = "sources"
	// DisagreeOwners: several live pods claim one address at one time.
	DisagreeOwners = "owners"
)

// IPDisagreement is a time in which sources contradict each other about a pod's
// address, or about whose an address is. Claims are kept as they are, never
// averaged. Expected marks a copy that stayed behind the runtime no longer than
// copies do: it is stated, and nothing is wrong. To is zero where it lasted to the
// end of the data.
type IPDisagreement struct {
	Kind     string    `json:"kind"`
	Expected bool      `json:"expected"`
	From     Time      `json:"from"`
	To       Time      `json:"to"`
	Claims   []IPClaim `json:"claims"` // the believed one first
	Why      string    `json:"why"`    // which claim is believed, and why; or why none is
}

// IPClaim is one side of a disagreement: who had which address by which sources.
// Rank is that of its best source, 0 to 1.
type IPClaim struct {
	Namespace string     `json:"namespace"`
	Pod       string     `json:"pod"`
	UID       string     `json:"uid"`
	IP        string     `json:"ip"`
	Believed  bool       `json:"believed"`
	Rank      float64    `json:"rank"`
	Sources   []IPSource `json:"sources"`
}
