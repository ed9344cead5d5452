package cli

import (
	"io"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/rules"
)

// familyTitles says what the causes of a family have in common.
var familyTitles = map[rules.Family]string{
	rules.FamilyMeta:     "verdicts about the verdict",
	rules.FamilyNode:     "the node: kubelet, runtime, processor, memory, clock",
	rules.FamilyCNI:      "setting up the pod's network",
	rules.FamilyIdentity: "which stack owns which address, and when",
	rules.FamilyL2:       "ARP and the bridge",
	rules.FamilyPath:     "packets between the node and the pod",
	rules.FamilyMesh:     "a service mesh between probe and application",
	rules.FamilyApp:      "the application in the container",
	rules.FamilyConfig:   "what the probe declares",
	rules.FamilyControl:  "the API's view of the pod",
}

// writeCauseIndex writes the index of the pages in docs/causes.
func writeCauseIndex(w io.Writer) error {
	s := &scriptWriter{w: w}
	s.line("# Causes\n\nWhat `probe-forensics` can name as the cause of failed probes: one page a cause, the same text as")
	s.line("`probe-forensics explain ID`. Tier 1 causes are the frequent ones. How sure a verdict can be depends on the inputs:")
	s.line("every page says with which ones. [evaluation.md](../evaluation.md) tells how often verdicts were right.")
	var ofFamily = map[rules.Family][]*rules.Rule{}
	var order []rules.Family
	for _, r := range rules.Rules() {
		ofFamily[r.Family] = append(ofFamily[r.Family], r)
		order = append(order, r.Family)
	}
	slices.Sort(order)
	for _, family := range slices.Compact(order) {
		s.line("\n## %s: %s\n\n| cause | what it is | tier |\n|---|---|---|", family, familyTitles[family])
		for _, r := range ofFamily[family] {
			s.line("| [%s](%s.md) | %s | %d |", r.ID, r.ID, cell(upperFirst(r.Title)), r.Tier)
		}
	}
	s.line("\n## Advice\n\nThe ids that `recommendations` of a report carry, and the causes that give them.\n\n| id | advice | given by |\n|---|---|---|")
	for _, id := range rules.RecommendationIDs() {
		var by []string
		for _, r := range rules.Rules() {
			if slices.Contains(r.Recommend, id) {
				by = append(by, r.ID)
			}
		}
		s.line("| `%s` | %s | %s |", id, cell(rules.Recommendation(id)), strings.TrimSpace(causeLinks(by)))
	}
	return s.err
}
