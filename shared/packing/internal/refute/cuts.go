package refute

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"packtree.dev/shared/packing/certificate"
)

const (
	// measuredKinds is up to how many kinds pods of single kinds, and of two of them, are counted, and combinedKinds
	// those of any of them.
	measuredKinds, combinedKinds = 12, 6
	// manyGroups are so many that to go through them for each domain takes long.
	manyGroups = 256
)

// podCuts are few and the cuts by pods.
func podCuts(in *question) []certificate.Rule { return cutsOf(podMeasures(in)) }

// cutsIn are the cuts about one group alone, for each measure of pods: by its pods, and by the groups inside it that
// each need one domain.
func cutsIn(in *question, group int) []certificate.Rule {
	input := *in.Input
	input.Groups = in.Groups[group:end(in, group)]
	measures := podMeasures(&question{Input: &input, scarce: in.scarce})
	rules := append(cutsOf(measures), relationCuts(in)...)
	for _, topology := range in.Topologies {
		by := measures
		for depth := len(topology.Levels) - 1; depth >= 0; depth-- {
			groups := outermost(in, group, topology, depth)
			if len(groups) == 0 {
				continue
			}
			m := certificate.Measure{Topology: topology.Name, Level: topology.Levels[depth], Groups: map[string]int64{}}
			for _, group := range groups {
				m.Groups[in.Groups[group].Name] = 1
			}
			counted := relationMeasures(in, topology, depth)
			for i := range by {
				m.By = append(by[i:i+1:i+1], counted...)
				rules = append(rules, certificate.Rule{Cut: &certificate.Cut{Measure: m}})
			}
			// What the narrower domains take bounds what the broader ones do.
			inner := by
			for i := range inner {
				m.By = append(inner[i:i+1:i+1], counted...)
				by = append(slices.Clip(by), m)
			}
			if len(inner) > 1 {
				m.By = slices.Concat(measures, counted)
				by = append(slices.Clip(by), m)
			}
		}
	}
	return rules
}

// relationCuts count the items of each relation.
func relationCuts(in *question) []certificate.Rule {
	var rules []certificate.Rule
	for i := range in.Relations {
		if !bounds(&in.Relations[i]) {
			continue
		}
		m := certificate.Measure{Relation: in.Relations[i].Name}
		rules = append(rules, certificate.Rule{Cut: &certificate.Cut{Measure: m}})
	}
	return rules
}

// bounds reports whether a relation bounds how many items a domain takes.
func bounds(r *certificate.Relation) bool { return r.Near == nil }

// relationMeasures are the relations that count in domains of a level or narrower ones.
func relationMeasures(in *question, topology certificate.Topology, depth int) []certificate.Measure {
	var measures []certificate.Measure
	for i := range in.Relations {
		r := &in.Relations[i]
		if bounds(r) && r.Topology == topology.Name && slices.Index(topology.Levels, r.Level) >= depth {
			measures = append(measures, certificate.Measure{Relation: r.Name})
		}
	}
	return measures
}

func cutsOf(measures []certificate.Measure) []certificate.Rule {
	rules := []certificate.Rule{{Deficit: &certificate.Deficit{}}}
	for _, m := range measures {
		rules = append(rules, certificate.Rule{Cut: &certificate.Cut{Measure: m}})
	}
	return rules
}

// podMeasures are the resources, the number of pods, and of pods that ask for
// much.
func podMeasures(in *question) []certificate.Measure {
	if in.measures == nil {
		in.measures = slices.Clip(measuresOf(in))
	}
	return in.measures
}

func measuresOf(in *question) []certificate.Measure {
	var measures []certificate.Measure
	all := map[string]int64{}
	amounts := map[string][]int64{}
	first := firstPods(in)
	for _, pod := range first {
		all[pod.name] = 1
		for resource, amount := range in.Kinds[pod.kind].Requests {
			if amount > 0 {
				amounts[resource] = append(amounts[resource], amount)
			}
		}
	}
	resources := slices.SortedFunc(maps.Keys(amounts), in.byScarcity)
	for _, resource := range resources {
		measures = append(measures, certificate.Measure{Resource: resource})
	}
	measures = append(measures, certificate.Measure{Pods: all})
	if len(all) > measuredKinds || len(all) < 2 {
		return measures
	}
	for _, pod := range first {
		measures = append(measures, certificate.Measure{Pods: map[string]int64{pod.name: 1}})
	}
	for _, resource := range resources {
		for _, size := range slices.Compact(slices.Sorted(slices.Values(amounts[resource]))) {
			if large := largest(in, first, resource, size); len(large) > 1 && len(large) < len(all) {
				measures = append(measures, certificate.Measure{Pods: large})
			}
		}
	}
	return measures
}

// byScarcity sorts resources: those first that are scarce.
func (q *question) byScarcity(a, b string) int {
	rank := func(name string) int {
		if at := slices.Index(q.scarce, name); at >= 0 {
			return at
		}
		return len(q.scarce)
	}
	return cmp.Or(rank(a)-rank(b), strings.Compare(a, b))
}

// largest counts pods that ask for at least so much of a resource.
func largest(in *question, first []podOf, resource string, size int64) map[string]int64 {
	large := map[string]int64{}
	for _, pod := range first {
		if in.Kinds[pod.kind].Requests[resource] >= size {
			large[pod.name] = 1
		}
	}
	return large
}

// podOf is the first pod of some of a kind.
type podOf struct {
	kind, at int
	name     string
}

// combined count the pods of some kinds together: of any two, or of any where there are few. Kinds that are kept to the
// same nodes may be too many there, although no resource is short.
func combined(in *question) []certificate.Measure {
	first := firstPods(in)
	most := 2
	if len(first) <= combinedKinds {
		most = len(first) - 1
	}
	var measures []certificate.Measure
	for set := uint(0); len(first) <= measuredKinds && set < 1<<len(first); set++ {
		if kinds := bits.OnesCount(set); kinds < 2 || kinds > most {
			continue
		}
		m := certificate.Measure{Pods: map[string]int64{}}
		for i, pod := range first {
			if set&(1<<i) != 0 {
				m.Pods[pod.name] = 1
			}
		}
		measures = append(measures, m)
	}
	return measures
}

// firstPods has one pod of each kind that has pods, by kind.
func firstPods(in *question) []podOf {
	var first []podOf
	for i := range in.Groups {
		for _, pods := range in.Groups[i].Pending {
			if len(pods.Names) > 0 {
				first = append(first, podOf{pods.Kind, len(first), pods.Names[0]})
			}
		}
	}
	slices.SortFunc(first, func(a, b podOf) int { return cmp.Or(a.kind-b.kind, a.at-b.at) })
	return slices.CompactFunc(first, func(a, b podOf) bool { return a.kind == b.kind })
}

// groupCuts count the groups that must each stand in one domain of a level.
func groupCuts(in *question) []certificate.Rule {
	var rules []certificate.Rule
	for _, topology := range in.Topologies {
		for depth := len(topology.Levels) - 1; depth >= 0; depth-- {
			m, groups := groupMeasure(in, topology, depth)
			if len(groups) == 0 {
				continue
			}
			rules = append(rules, certificate.Rule{Cut: &certificate.Cut{Measure: m}})
			sized := m
			sized.Groups = map[string]int64{}
			for _, group := range groups {
				if pods := fewest(in, group); pods > 0 {
					sized.Groups[in.Groups[group].Name] = pods
				}
			}
			if len(sized.Groups) > 0 {
				rules = append(rules, certificate.Rule{Cut: &certificate.Cut{Measure: sized}})
			}
		}
	}
	return rules
}

// wholeCuts are about the gang as one group that must stand in one domain: by each measure of
// pods alone, so that what does not suffice is named.
func wholeCuts(in *question) []certificate.Rule {
	g := &in.Groups[0]
	if g.Required == "" {
		return nil
	}
	var rules []certificate.Rule
	for _, by := range podMeasures(in) {
		m := certificate.Measure{Topology: g.Topology, Level: g.Required, Groups: map[string]int64{g.Name: 1},
			By: []certificate.Measure{by}}
		rules = append(rules, certificate.Rule{Cut: &certificate.Cut{Measure: m}})
	}
	return rules
}

// groupMeasure counts the outermost groups that must each stand in one domain of a level.
func groupMeasure(in *question, topology certificate.Topology, depth int) (m certificate.Measure, groups []int) {
	m = certificate.Measure{Topology: topology.Name, Level: topology.Levels[depth], Groups: map[string]int64{},
		By: measuresIn(in, topology, depth)}
	groups = outermost(in, 0, topology, depth)
	for _, group := range groups {
		m.Groups[in.Groups[group].Name] = 1
	}
	return m, groups
}

// measuresIn bound what a domain of a level takes: by pods, relations, and the groups that
// must each stand in one domain of a narrower level.
func measuresIn(in *question, topology certificate.Topology, depth int) []certificate.Measure {
	by := podMeasures(in)
	for below := len(topology.Levels) - 1; below > depth; below-- {
		if m, groups := groupMeasure(in, topology, below); len(groups) > 0 {
			by = append(by, m)
		}
	}
	return append(by, relationMeasures(in, topology, depth)...)
}

// outermost are the groups inside one that require a level, or a narrower one, and
// have none around them there that does.
func outermost(in *question, group int, topology certificate.Topology, depth int) []int {
	requires := func(i int) bool {
		g := &in.Groups[i]
		return g.Required != "" && g.Topology == topology.Name && slices.Index(topology.Levels, g.Required) >= depth
	}
	last := end(in, group)
	inside := make([]bool, last-group)
	var groups []int
	for i := group + 1; i < last; i++ {
		parent := in.Groups[i].Parent
		inside[i-group] = inside[parent-group] || parent > group && requires(parent)
		if requires(i) && !inside[i-group] {
			groups = append(groups, i)
		}
	}
	return groups
}

// end is the index after the groups below one, which stand behind it.
func end(in *question, group int) int {
	i := group + 1
	for i < len(in.Groups) && in.Groups[i].Parent >= group {
		i++
	}
	return i
}

// fewest is how many new pods a group needs at least, by its minima alone.
func fewest(in *question, group int) int64 {
	var children []int64
	for i, last := group+1, end(in, group); i < last; i++ {
		if in.Groups[i].Parent == group {
			children = append(children, fewest(in, i))
		}
	}
	g := &in.Groups[group]
	if len(children) == 0 {
		return int64(max(0, g.MinMember-len(g.Running)))
	}
	slices.Sort(children)
	sum := int64(0)
	for _, n := range children[:min(len(children), max(0, g.MinSubGroups))] {
		sum += n
	}
	return sum
}
