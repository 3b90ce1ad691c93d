package refute

import (
	"fmt"
	"slices"
	"strconv"

	"packtree.dev/shared/packing/certificate"
)

// question is what is to be proved about, the resources that are scarce, the steps that are
// left, and the measures of pods; nil until asked for.
type question struct {
	*certificate.Input
	scarce   []string
	left     int
	measures []certificate.Measure
}

// groups are some groups of a gang, by index.
type groups []int

func (g groups) names(in *question) []string {
	var names []string
	for _, i := range g {
		names = append(names, in.Groups[i].Name)
	}
	return names
}

// confined are the groups that require a level.
func confined(in *question) groups {
	var groups groups
	for i := range in.Groups {
		if in.Groups[i].Required != "" {
			groups = append(groups, i)
		}
	}
	return groups
}

// distinct are the groups that require a level, each with the groups equal to it, where the parent can do without some
// of them; the innermost first.
func distinct(in *question) []groups {
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
		own := fmt.Append(nil, len(g.Topology), g.Topology, g.Required)
		if len(g.Follow)+len(g.Running) > 0 {
			own = fmt.Appendf(own, " %v %q", g.Follow, g.Running)
		}
		if len(g.Relations) > 0 {
			own = fmt.Appendf(own, " of %q", g.Relations)
		}
		if g.Parent >= 0 {
			own = strconv.AppendInt(append(own, " in "...), int64(around[g.Parent]), 10)
			children[g.Parent]++
		}
		around[i] = numberOf(own)
	}
	like := make([]int, len(in.Groups))
	for i := len(in.Groups) - 1; i >= 0; i-- {
		g := &in.Groups[i]
		text := subtree[i]
		for _, n := range []int{around[i], g.MinSubGroups, g.MinMember} {
			text = strconv.AppendInt(append(text, ' '), int64(n), 10)
		}
		for _, pods := range g.Pending {
			text = strconv.AppendInt(append(text, '*'), int64(len(pods.Names)), 10)
			text = strconv.AppendInt(append(text, ' '), int64(pods.Kind), 10)
		}
		like[i] = numberOf(text)
		if g.Parent >= 0 {
			subtree[g.Parent] = strconv.AppendInt(append(subtree[g.Parent], ','), int64(like[i]), 10)
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
