// Package rules names causes. A rule is a value: what it means, what it needs,
// how it is judged, what to do about it. Documentation, `explain`, SARIF
// metadata and configuration keys are generated from the value.
package rules

import (
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Family groups causes.
type Family string

// The families of causes.
const (
	FamilyMeta     Family = "meta"
	FamilyNode     Family = "node"
	FamilyCNI      Family = "cni"
	FamilyIdentity Family = "pod-identity"
	FamilyL2       Family = "l2"
	FamilyPath     Family = "path"
	FamilyMesh     Family = "mesh"
	FamilyApp      Family = "app"
	FamilyConfig   Family = "config"
	FamilyControl  Family = "control-plane"
)

// Rule is one root cause.
type Rule struct {
	// ID is the stable kebab-case id; it never changes its meaning.
	ID     string
	Family Family
	Title  string // a few words, lower case: "pod sandbox re-created, IP changed"
	// Tier is 1 for the causes every bundle is tested for first, 2 for the rest.
	Tier int
	// Definition, Notes, Needs, Supports, Contradicts, LookAlikes and Limits are
	// sections of the cause's page. Notes tell what it looks like in logs and
	// packets, and where one goes wrong.
	Definition  string
	Notes       []string
	Needs       []string
	Supports    []string
	Contradicts []string
	LookAlikes  []LookAlike
	Limits      []Limit
	// Sentence is the verdict for a manager; "%s" is the subject.
	Sentence string
	// Recommend lists recommendation ids, see Recommendations.
	Recommend []string
	// Collect lists ids of observations, see MissingObservation, that settle whether
	// it is this cause. What Eval asks for in a case is taken from among them.
	Collect []string
	// Precedents are public reports of the same cause.
	Precedents []string
	// Thresholds are the numbers the rule uses, overridable by key "<rule>.<name>".
	Thresholds []Threshold
	// Rank is the place in the causal order of F.5: lower explains higher.
	Rank int
	// Explains lists ids that this cause may outrank although they score alike: they
	// are its mechanism or consequence.
	Explains []string
	// Eval judges the incident. It must not keep the case.
	Eval func(*Case) Verdict
}

// LookAlike is a cause with the same symptom and what tells them apart.
type LookAlike struct{ ID, Discriminator string }

// Limit is a cap: the highest confidence that a set of inputs can support.
type Limit struct {
	Inputs string // "kubelet log alone", "node capture", "node and pod capture"
	Max    float64
}

// Threshold is a named number of a rule.
type Threshold struct {
	Name    string
	Default float64
	Unit    string // "s", "ms", "count", "ratio"
	Doc     string
}

// Role of a predicate.
type Role uint8

// Roles of a predicate: necessary, supporting, contradicting, or context that
// carries no weight.
const (
	Need Role = iota + 1
	Sup
	Con
	Context
)

// Weights of F.4; rules use these names so that the whole table can be read and
// calibrated in one place.
const (
	WeightLiteral    = 0.90 // unique text that names the cause
	WeightTwoPoints  = 0.85 // located by two capture points
	WeightState      = 0.50 // state change within one period
	WeightStateLoose = 0.30 // state change within three periods
	WeightClass      = 0.30 // text class only
	WeightSmell      = 0.15 // configuration smell
	WeightDirect     = 0.80 // direct contradiction
	WeightSoft       = 0.40 // soft contradiction
)

// Evidence source groups. Facts of one group describe the same observation and
// count once (the strongest).
const (
	GroupKubelet   = "kubelet" // kubelet lines and the events that repeat them
	GroupSpec      = "spec"    // what objects declare
	GroupStatus    = "status"  // what object status says
	GroupNodePcap  = "node-packets"
	GroupPodPcap   = "pod-packets"
	GroupTwoPoints = "two-points" // node and pod capture set side by side
	GroupARP       = "arp"
	GroupRuntime   = "runtime" // containerd, CRI-O, CNI, IPAM
	GroupKernel    = "kernel"
	GroupHost      = "host" // command outputs, cgroup counters
	GroupAppLog    = "app-log"
	GroupAPI       = "api" // audit, managed fields
	GroupTiming    = "timing"
)

// Predicate is one fact that speaks for or against a rule in a case. A
// predicate without a reference does not count, unless it states an absence:
// then Refs cite the stream that would hold it.
type Predicate struct {
	Role   Role
	Group  string
	Weight float64
	Claim  string // a sentence; one line
	At     event.Nanos
	Refs   []event.Ref
}

// Verdict is what a rule says about a case. A rule that does not apply returns
// the zero Verdict.
type Verdict struct {
	Predicates []Predicate
	// Satisfied is set when the need set is complete; else the score is at most 0.35.
	Satisfied bool
	// Gated names the gate that excludes the rule ("no mesh marker"), "" if none.
	Gated string
	// NotEvaluable says which input is missing for the rule to be judged, "" if none.
	NotEvaluable string
	// Cap is the highest confidence the available inputs can prove (0 = no claim),
	// CapWhy the reason.
	Cap    float64
	CapWhy string
	// SubReason refines the cause ("pleg", "exit-code").
	SubReason string
	// OnlyContributes marks a smell: it may be listed as contributing, is never the
	// primary cause and never makes a verdict ambiguous.
	OnlyContributes bool
	// Missing lists ids of missing observations that would settle more.
	Missing []string
}

// Add appends a predicate and returns the verdict for chaining.
func (v *Verdict) Add(role Role, group string, weight float64, at event.Nanos, refs []event.Ref, claim string) {
	v.Predicates = append(v.Predicates, Predicate{Role: role, Group: group, Weight: weight, Claim: claim, At: at, Refs: refs})
}

// Limit lowers the cap.
func (v *Verdict) Limit(most float64, why string) {
	if v.Cap == 0 || most < v.Cap {
		v.Cap, v.CapWhy = most, why
	}
}
