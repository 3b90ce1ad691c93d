// Package refute finds the certificate for a gang that does not fit. It proposes rules that prove something about most
// gangs; the verifier of package certificate judges them and drops the rules that do not help with this gang.
package refute

import (
	"slices"

	"packtree.dev/shared/packing/certificate"
)

// Hints say what a search has met.
type Hints struct {
	// Scarce are resources in order: the first of equally short ones is named.
	Scarce []string
	// Tight returns a pod of each kind that fills all of its nodes; it takes a while.
	Tight func() []string
}

// Prove returns a proof that no placement satisfies the gang, or nil if it finds
// none within so many steps of the verifier, which means nothing.
func Prove(m *certificate.Model, steps int, hints Hints) *certificate.Proof {
	in, try := asking(m, steps, hints)
	if len(in.Groups) == 0 {
		return nil
	}
	if proof := try(&certificate.Proof{Start: []int{0},
		Rules: []certificate.Rule{{Deficit: &certificate.Deficit{}}}}); proof != nil {
		return proof
	}
	if cuts := relationCuts(in); len(cuts) > 0 {
		if proof := try(&certificate.Proof{Start: from(0, len(cuts)), Rules: cuts}); proof != nil {
			return proof
		}
	}
	if proof := sums(in, hints, try); proof != nil {
		return proof
	}
	for _, group := range distinct(in) {
		if in.left < steps/2 {
			break // What is left is for proofs about all groups.
		}
		if proof := try(alone(in, group)); proof != nil {
			return proof
		}
	}
	proof := try(thorough(in))
	if proof == nil {
		in.measures = append(podMeasures(in), combined(in)...)
		proof = try(thorough(in))
	}
	if proof == nil {
		return nil
	}
	return smaller(proof, try)
}

// sums weighs what all nodes offer before groups are looked at, since there may be too many groups: all pods as one
// group in one domain, then pods of kinds that have too few nodes.
func sums(in *question, hints Hints, try try) *certificate.Proof {
	if len(in.Groups) > manyGroups {
		for _, cut := range wholeCuts(in) {
			if proof := try(&certificate.Proof{Start: []int{0}, Rules: []certificate.Rule{cut}}); proof != nil {
				return proof
			}
		}
	}
	return tight(hints, try)
}

// tight counts pods of kinds that fill all of their nodes.
func tight(hints Hints, try try) *certificate.Proof {
	if hints.Tight == nil {
		return nil
	}
	m := certificate.Measure{Pods: map[string]int64{}}
	for _, pod := range hints.Tight() {
		m.Pods[pod] = 1
	}
	if len(m.Pods) == 0 {
		return nil
	}
	return try(&certificate.Proof{Start: []int{0}, Rules: []certificate.Rule{{Cut: &certificate.Cut{Measure: m}}}})
}

// try completes a proof; nil if it proves nothing.
type try func(*certificate.Proof) *certificate.Proof

// asking is what is to be proved, and what completes a proof of it within so many steps.
func asking(m *certificate.Model, steps int, hints Hints) (*question, try) {
	in := &question{Input: m.Input(), scarce: hints.Scarce, left: steps}
	return in, func(proof *certificate.Proof) *certificate.Proof {
		completed, taken, err := m.Complete(proof, in.left)
		in.left -= taken
		if err != nil {
			return nil
		}
		return completed
	}
}

// alone proves that one group, and each that is like it, fits into none of the domains
// where it could go, and that the others do not suffice.
func alone(in *question, group groups) *certificate.Proof {
	first := group[0]
	cuts := cutsIn(in, first)
	if first == 0 {
		deficit := certificate.Rule{Deficit: &certificate.Deficit{}}
		rules := append([]certificate.Rule{branch(in, 0, from(2, len(cuts)), []int{1}), deficit}, cuts...)
		return &certificate.Proof{Start: []int{0}, Rules: rules}
	}
	without := &certificate.Without{Groups: group.names(in), Each: []int{1}, Then: []int{2}}
	deficit := certificate.Rule{Deficit: &certificate.Deficit{}}
	branch := branch(in, first, from(3, len(cuts)), []int{2})
	rules := append([]certificate.Rule{{Without: without}, branch, deficit}, cuts...)
	return &certificate.Proof{Start: []int{0}, Rules: rules}
}

// smaller leaves out what a proof can do without.
func smaller(proof *certificate.Proof, try try) *certificate.Proof {
	for i := range proof.Rules {
		for k := 0; proof.Rules[i].Cut != nil && k < len(proof.Rules[i].Cut.By); {
			cut := *proof.Rules[i].Cut
			cut.By = slices.Delete(slices.Clone(cut.By), k, k+1)
			without := *proof
			without.Rules = slices.Clone(proof.Rules)
			without.Rules[i].Cut = &cut
			if completed := try(&without); completed != nil && len(completed.Rules) == len(proof.Rules) {
				proof = completed
			} else {
				k++
			}
		}
	}
	return proof
}

// thorough has all rules: groups are set aside that cannot be satisfied, and one
// group after the other is followed into each domain.
func thorough(in *question) *certificate.Proof {
	confined := confined(in)
	var below []string
	for i := 1; i < len(in.Groups); i++ {
		if g := &in.Groups[i]; g.Required != "" || len(g.Follow)+len(g.Relations) > 0 {
			below = append(below, in.Groups[i].Name)
		}
	}
	slices.Reverse(below)
	cuts := slices.Concat(podCuts(in), groupCuts(in), relationCuts(in))
	anywhere := from(1+len(confined), len(cuts))
	start := append(slices.Clone(anywhere), from(1, len(confined))...)
	rules := []certificate.Rule{{Without: &certificate.Without{Groups: below, Each: start, Then: start}}}
	for i, group := range confined {
		next := slices.Clone(anywhere)
		if i+1 < len(confined) {
			next = append(next, i+2)
		}
		rules = append(rules, branch(in, group, next, next))
	}
	rules = append(rules, cuts...)
	start = slices.Clip(anywhere)
	if len(below) > 0 {
		start = append(start, 0)
	}
	if len(confined) > 0 {
		start = append(start, 1)
	}
	return &certificate.Proof{Start: start, Rules: rules}
}

// branch follows a group into each domain of the level that it requires.
func branch(in *question, group int, each, none []int) certificate.Rule {
	g := &in.Groups[group]
	return certificate.Rule{Branch: &certificate.Branch{Group: g.Name, Topology: g.Topology, Level: g.Required, Each: each,
		None: none}}
}

// from are so many numbers from the first on.
func from(first, count int) []int {
	numbers := make([]int, count)
	for i := range numbers {
		numbers[i] = first + i
	}
	return numbers
}
