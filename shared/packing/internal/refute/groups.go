package refute

import (
	"fmt"
	"slices"

	"packtree.dev/shared/packing/certificate"
)

// groups are some groups of a gang, by index.
type groups []int

func (g groups) names(in *certificate.Input) []string {
	var names []string
	for _, i := range g {
		names = append(names, in.Groups[i].Name)
	}
	return names
}

// confined are the groups that require a level.
func confined(in *certificate.Input) groups {
	var groups groups
	for i := range in.Groups {
		if in.Groups[i].Required != "" {
			groups = append(groups, i)
		}
	}
	return groups
}

// distinct are the groups that require a level, with those that are like them, if
// their parent could do without some; the innermost first.
func distinct(in *certificate.Input) []groups {
	numbers := map[string]int{}
	numberOf := func(text []byte) int {
		if _, known := numbers[string(text)]; !known {
			numbers[string(text)] = len(numbers)
		}
		return numbers[string(text)]
	}
	around, subtree, children := make([]int, len(in.Groups)), make([][]byte, len(in.Groups)), make([]int, len(in.Groups))
	for i := range in.Groups {
		g := &in.Groups[i]
		own := fmt.Appendf(nil, "%q %q %v %q", g.Topology, g.Required, g.Follow, g.Running)
		if g.Parent >= 0 {
			own = fmt.Appendf(own, " in %d", around[g.Parent])
			children[g.Parent]++
		}
		around[i] = numberOf(own)
	}
	like := make([]int, len(in.Groups))
	for i := len(in.Groups) - 1; i >= 0; i-- {
		g := &in.Groups[i]
		text := fmt.Appendf(subtree[i], "around %d: %d %d", around[i], g.MinSubGroups, g.MinMember)
		for _, pods := range g.Pending {
			text = fmt.Appendf(text, " %d*%d", len(pods.Names), pods.Kind)
		}
		like[i] = numberOf(text)
		if g.Parent >= 0 {
			subtree[g.Parent] = fmt.Appendf(subtree[g.Parent], "%d,", like[i])
		}
	}
	at := map[int]int{}
	var found []groups
	for i := len(in.Groups) - 1; i >= 0; i-- {
		if in.Groups[i].Required == "" {
			continue
		}
		k, known := at[like[i]]
		if !known {
			k = len(found)
			at[like[i]] = k
			found = append(found, nil)
		}
		if parent := in.Groups[i].Parent; !known || in.Groups[parent].MinSubGroups < children[parent] {
			found[k] = append(found[k], i)
		}
	}
	for _, alike := range found {
		slices.Reverse(alike)
	}
	return found
}
