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
	for _, proof := range []*certificate.Proof{plain(in), thorough(in)} {
		if completed, err := certificate.Complete(in, proof); err == nil {
			return completed
		}
	}
	return nil
}

// plain has the rules that cost little: sums over all groups in each domain of
// the level that the gang requires.
func plain(in *certificate.Input) *certificate.Proof {
	cuts := podCuts(in)
	if in.Groups[0].Required == "" {
		return &certificate.Proof{Start: from(0, len(cuts)), Rules: cuts}
	}
	rules := append([]certificate.Rule{branch(in, 0, from(1, len(cuts)), []int{1})}, cuts...)
	return &certificate.Proof{Start: append(from(1, len(cuts)), 0), Rules: rules}
}

// thorough has all rules: groups are set aside that cannot be satisfied, one
// group after the other is followed into each domain, and at last the nodes are
// searched.
func thorough(in *certificate.Input) *certificate.Proof {
	var confined []int
	var below []string
	for i := range in.Groups {
		if in.Groups[i].Required != "" {
			confined = append(confined, i)
		}
		if i > 0 && (in.Groups[i].Required != "" || len(in.Groups[i].Follow) > 0) {
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
