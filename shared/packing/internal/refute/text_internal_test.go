package refute

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"packtree.dev/shared/packing/certificate"
)

// yard asks about a gang of a team, a lone group and a loose one. The team needs a zone, and has two halves that need
// a rack each; the lone group needs a feed; the loose one needs no pods. All pods are of one kind.
func yard() *question {
	in := &certificate.Input{
		Topologies: []certificate.Topology{{Name: "net", Levels: []string{"zone", "rack"}},
			{Name: "power", Levels: []string{"feed"}}},
		Kinds: []certificate.Kind{{Requests: map[string]int64{"gpu": 4}}},
		Groups: []certificate.Group{
			{Name: "all", Parent: -1, MinSubGroups: 2},
			{Name: "team", Parent: 0, MinSubGroups: 2, Topology: "net", Required: "zone"},
			{Name: "left", Parent: 1, MinMember: 2, Topology: "net", Required: "rack", Pending: some("l", 2)},
			{Name: "right", Parent: 1, MinMember: 1, Topology: "net", Required: "rack", Pending: some("r", 2)},
			{Name: "lone", Parent: 0, MinMember: 1, Topology: "power", Required: "feed", Pending: some("o", 1)},
			{Name: "loose", Parent: 0, Pending: some("s", 1)},
		},
	}
	return &question{Input: in}
}

// The groups of yard, by index.
const (
	all, team, left, right, lone, loose = 0, 1, 2, 3, 4, 5
)

// some are so many pods of the first kind.
func some(name string, count int) []certificate.Pods {
	var pods certificate.Pods
	for i := range count {
		pods.Names = append(pods.Names, fmt.Sprint(name, "-", i))
	}
	return []certificate.Pods{pods}
}

// apart has at most one item in a rack.
func apart() certificate.Relation {
	return certificate.Relation{Name: "apart", Topology: "net", Level: "rack", Max: 1}
}

// texts writes rules down, one each, with what they refer to.
func texts(rules []certificate.Rule) []string {
	var lines []string
	for _, rule := range rules {
		lines = append(lines, textOf(rule))
	}
	return lines
}

func textOf(r certificate.Rule) string {
	switch {
	case r.Deficit != nil:
		return "deficit"
	case r.Cut != nil:
		return "cut " + measureText(r.Cut.Measure)
	case r.Branch != nil:
		return fmt.Sprintf("branch %s in %s/%s each %v none %v", r.Branch.Group, r.Branch.Topology, r.Branch.Level,
			r.Branch.Each, r.Branch.None)
	case r.Without != nil:
		return fmt.Sprintf("without %v each %v then %v", r.Without.Groups, r.Without.Each, r.Without.Then)
	}
	return "nothing"
}

func measureText(m certificate.Measure) string {
	var text string
	switch {
	case m.Resource != "":
		text = m.Resource
	case m.Relation != "":
		text = "relation " + m.Relation
	case m.Pods != nil:
		text = "pods " + weightsText(m.Pods)
	default:
		text = weightsText(m.Groups) + " in " + m.Topology + "/" + m.Level
	}
	if len(m.Of) > 0 {
		text += fmt.Sprint(" of ", m.Of)
	}
	return text + byText(m.By)
}

func byText(by []certificate.Measure) string {
	if len(by) == 0 {
		return ""
	}
	var measures []string
	for _, m := range by {
		measures = append(measures, measureText(m))
	}
	return " by (" + strings.Join(measures, ", ") + ")"
}

// weightsText leaves weights of 1 out.
func weightsText(weights map[string]int64) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		if weights[name] != 1 {
			name += fmt.Sprint("*", weights[name])
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}
