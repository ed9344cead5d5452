package model

// Scope of an incident.
const (
	ScopePod     = "pod"
	ScopeNode    = "node"
	ScopeCluster = "cluster"
)

// Trigger of an incident: failed attempts, probes that never ran, or a state
// (Ready=False, crash loop, kubelet silence) without a logged failure.
const (
	TriggerAttempts  = "attempts"
	TriggerNotProbed = "not-probed"
	TriggerState     = "state"
)

// Incident is one thing that went wrong, with its verdict.
type Incident struct {
	ID             string           `json:"id"` // stable: derived from content
	Scope          string           `json:"scope"`
	Node           string           `json:"node"`
	Trigger        string           `json:"trigger"`
	Subjects       []Subject        `json:"subjects"`
	Window         Window           `json:"window"`
	FailedAttempts int              `json:"failed_attempts"`
	TotalAttempts  int              `json:"total_attempts"`
	Cause          Cause            `json:"cause"`
	Summary        string           `json:"summary"` // one sentence a manager can repeat
	Contributing   []Contributing   `json:"contributing"`
	Alternatives   []Alternative    `json:"alternatives"`
	Evidence       []Evidence       `json:"evidence"`
	Score          []ScoreStep      `json:"score"` // the arithmetic of the confidence
	WouldChange    []string         `json:"would_change"`
	Missing        []Missing        `json:"missing"`
	Recommend      []Recommendation `json:"recommendations"`
	Reproduce      []string         `json:"reproduce"`
	Consequences   []Consequence    `json:"consequences"`
	Recurrence     *Recurrence      `json:"recurrence,omitempty"`
	TimeBasis      string           `json:"time_basis"`
	Fingerprint    string           `json:"fingerprint"` // equal for the same cause on the same owner, across bundles
}

// Subject is one probe of one pod that the incident explains. A capture-only
// subject has an empty pod and its target.
type Subject struct {
	Namespace      string `json:"namespace"`
	Pod            string `json:"pod"`
	UID            string `json:"uid"`
	Container      string `json:"container"`
	Probe          string `json:"probe"`
	Target         Target `json:"target"`
	FailedAttempts int    `json:"failed_attempts"`
	TotalAttempts  int    `json:"total_attempts"`
	First          Time   `json:"first"`
	Last           Time   `json:"last"`
}

// Window is when the incident lasted. Recovered is zero when no recovery was
// seen.
type Window struct {
	First     Time `json:"first"`
	Last      Time `json:"last"`
	Recovered Time `json:"recovered"`
}

// Confidence words.
const (
	Confirmed    = "confirmed"    // >= 0.90
	Probable     = "probable"     // 0.70 - 0.89
	Possible     = "possible"     // 0.40 - 0.69
	Inconclusive = "inconclusive" // < 0.40
)

// Word returns the word for a confidence.
func Word(confidence float64) string {
	switch {
	case confidence >= 0.895:
		return Confirmed
	case confidence >= 0.695:
		return Probable
	case confidence >= 0.395:
		return Possible
	default:
		return Inconclusive
	}
}

// Cause is the verdict. For the id "inconclusive", Confidence is the score of
// the best candidate.
type Cause struct {
	ID         string  `json:"id"`
	Family     string  `json:"family"`
	Title      string  `json:"title"`
	SubReason  string  `json:"sub_reason,omitempty"`
	Confidence float64 `json:"confidence"`
	Word       string  `json:"word"`
}

// Contributing is a cause that made it worse or is the mechanism.
type Contributing struct {
	ID         string  `json:"id"`
	Confidence float64 `json:"confidence"`
	Note       string  `json:"note,omitempty"`
}

// Alternative is a cause that was considered and why it did not win.
type Alternative struct {
	ID         string  `json:"id"`
	Confidence float64 `json:"confidence"`
	WhyNot     string  `json:"why_not"`
}

// Evidence roles.
const (
	RoleFor     = "for"
	RoleAgainst = "against"
	RoleContext = "context"
)

// Evidence is one checkable claim. Excerpt is at most 512 bytes of the input,
// raw: renderers escape it.
type Evidence struct {
	Role    string  `json:"role"`
	Claim   string  `json:"claim"`
	Ref     Ref     `json:"ref"`
	Time    Time    `json:"time"`
	Excerpt string  `json:"excerpt"`
	Rule    string  `json:"rule"`
	Weight  float64 `json:"weight"`
	More    []Ref   `json:"more_refs,omitempty"` // further records that say the same, at most 16
}

// ScoreStep is one line of the confidence arithmetic of F.4, in order; the last
// one is the result.
type ScoreStep struct {
	Text   string  `json:"text"`
	Group  string  `json:"group,omitempty"`
	Weight float64 `json:"weight"`
	Result float64 `json:"result"`
}

// Missing is an observation that would have settled more.
type Missing struct {
	What         string `json:"what"`
	WouldSettle  string `json:"would_settle"`
	HowToCollect string `json:"how_to_collect"`
}

// Recommendation is a suggested next step, keyed so that fleets can group it.
type Recommendation struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Consequence is what the failures led to: restart, NotReady, endpoint removal.
type Consequence struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
	At   Time   `json:"at"`
	Ref  Ref    `json:"ref"`
	// Attempt is the id of the attempt that crossed the threshold, "" where none is
	// known to have.
	Attempt string `json:"attempt,omitempty"`
}

// Recurrence tells of the same cause on the node at other times, in this pod or
// in others. Times counts the incidents, this one included; First and Last bound
// them.
type Recurrence struct {
	Times int      `json:"times"`
	Pods  []string `json:"pods"`
	First Time     `json:"first"`
	Last  Time     `json:"last"`
	Note  string   `json:"note"`
}
