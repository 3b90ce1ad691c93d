// Package refute finds the certificate for a gang that does not fit. It is asked
// only when somebody wants to see it: what it finds, package certificate judges.
//
// It hands in the rules that prove something about most gangs, and has the
// verifier drop those that are of no use to this one.
package refute

import (
	"slices"

	"packtree.dev/shared/packing/certificate"
)

// Prove returns a proof that no placement satisfies the gang, or nil if it finds
// none, which means nothing.
func Prove(in *certificate.Input) *certificate.Proof {
	if len(in.Groups) == 0 {
		return nil
	}
	for _, proof := range append(plain(in), thorough(in)) {
		if completed, err := certificate.Complete(in, proof); err == nil {
			return smaller(in, completed)
		}
	}
	return nil
}

// plain are proofs that people understand at once: one sum over all nodes, or one
// in each domain where a single group could go.
func plain(in *certificate.Input) []*certificate.Proof {
	cuts := podCuts(in)
	proofs := []*certificate.Proof{{Start: from(0, len(cuts)), Rules: cuts}}
	for _, group := range confined(in)[:min(len(confined(in)), measuredGroups)] {
		rules := append([]certificate.Rule{branch(in, group, from(1, len(cuts)), []int{1})}, cuts...)
		proofs = append(proofs, &certificate.Proof{Start: []int{0}, Rules: rules})
	}
	return proofs
}

// confined are the groups that require a level.
func confined(in *certificate.Input) []int {
	var groups []int
	for i := range in.Groups {
		if in.Groups[i].Required != "" {
			groups = append(groups, i)
		}
	}
	return groups
}

// smaller leaves out what a proof can do without.
func smaller(in *certificate.Input, proof *certificate.Proof) *certificate.Proof {
	for i := range proof.Rules {
		for k := 0; proof.Rules[i].Cut != nil && k < len(proof.Rules[i].Cut.By); {
			without := *proof
			without.Rules = slices.Clone(proof.Rules)
			cut := *proof.Rules[i].Cut
			cut.By = slices.Delete(slices.Clone(cut.By), k, k+1)
			without.Rules[i].Cut = &cut
			if completed, err := certificate.Complete(in, &without); err == nil && len(completed.Rules) == len(proof.Rules) {
				proof = completed
			} else {
				k++
			}
		}
	}
	return proof
}

// thorough has all rules: groups are set aside that cannot be satisfied, one
// group after the other is followed into each domain, and at last the nodes are
// searched.
func thorough(in *certificate.Input) *certificate.Proof {
	confined := confined(in)
	var below []string
	for i := 1; i < len(in.Groups); i++ {
		if in.Groups[i].Required != "" || len(in.Groups[i].Follow) > 0 {
			below = append(below, in.Groups[i].Name)
		}
	}
	slices.Reverse(below)
	cuts := append(podCuts(in), groupCuts(in)...)
	few := 1 + len(confined)
	anywhere := from(few, len(cuts)+1) // with the search, which stands last
	start := append(slices.Clone(anywhere), from(1, len(confined))...)
	rules := []certificate.Rule{{Without: &certificate.Without{Groups: below, Each: start, Then: start}}}
	for i, group := range confined {
		next := slices.Clone(anywhere)
		if i+1 < len(confined) {
			next = append(next, i+2)
		}
		rules = append(rules, branch(in, group, next, next))
	}
	rules = append(append(rules, cuts...), certificate.Rule{Search: &certificate.Search{}})
	if len(confined) > 0 {
		start = append(slices.Clone(anywhere), 0, 1)
	}
	return &certificate.Proof{Start: start, Rules: rules}
}

// branch follows a group into each domain of the level that it requires.
func branch(in *certificate.Input, group int, each, none []int) certificate.Rule {
	g := &in.Groups[group]
	return certificate.Rule{Branch: &certificate.Branch{Group: g.Name, Topology: g.Topology, Level: g.Required, Each: each, None: none}}
}

// from are so many numbers from the first on.
func from(first, count int) []int {
	numbers := make([]int, count)
	for i := range numbers {
		numbers[i] = first + i
	}
	return numbers
}
