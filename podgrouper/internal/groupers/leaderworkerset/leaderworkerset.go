// Package leaderworkerset groups the pods of a LeaderWorkerSet: a leaf for each of its groups of a leader and its
// workers, which starts as a whole, or a parent with a leaf for each of the group's subgroups. The groups serve
// independently, so one of them is enough.
package leaderworkerset

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/podgrouper/internal/grouping"
)

// Labels that the LeaderWorkerSet controller puts on pods. The leader is worker 0.
const (
	labelGroupIndex    = "leaderworkerset.sigs.k8s.io/group-index"
	labelSubGroupIndex = "leaderworkerset.sigs.k8s.io/subgroup-index"
	labelWorkerIndex   = "leaderworkerset.sigs.k8s.io/worker-index"
)

// annotationExclusive gives each group a domain for itself. The workers are then made when their leader has a node.
const annotationExclusive = "leaderworkerset.sigs.k8s.io/exclusive-topology"

// Grouper groups LeaderWorkerSets.
var Grouper = grouping.Grouper{Group: group, Leaf: leaf, Index: index}

func group(w grouping.Workload) grouping.Group {
	constraint, problems := grouping.FromOwners(w)
	tree := grouping.Group{Constraint: constraint, Problems: problems}
	set := read(w.Owner)
	tree.Templates = []grouping.Template{set.leader, set.worker}
	groups, parts, wrong := set.constraints()
	tree.Problems = append(tree.Problems, wrong...)
	for i := range set.groups() {
		tree.SubGroups = append(tree.SubGroups, set.group(i, groups, parts)...)
		if tree.TooLarge() {
			break
		}
	}
	if len(tree.SubGroups) > 0 {
		tree.MinSubGroup = new(int32(1))
	}
	return tree.OrLeaf()
}

// set has the fields of a LeaderWorkerSet about its groups.
type set struct {
	grouping.Fields
	leader, worker grouping.Template
	size           int32
	// leaderFirst reports whether a group's workers are made only when its leader is ready, or has a node.
	leaderFirst bool
}

func read(owner grouping.Owner) set {
	base := field.NewPath("spec", "leaderWorkerTemplate")
	fields := owner.Content.Map("spec", "leaderWorkerTemplate")
	_, exclusive := owner.GetAnnotations()[annotationExclusive]
	return set{
		Fields:      owner.Content.Map("spec"),
		leader:      grouping.TemplateAt(fields, base, "leaderTemplate"),
		worker:      grouping.TemplateAt(fields, base, "workerTemplate"),
		size:        fields.Count(1, "size"),
		leaderFirst: exclusive || owner.Content.Text("spec", "startupPolicy") == "LeaderReady",
	}
}

// groups returns the largest number of groups: during a rollout there are more than the set has replicas.
func (s set) groups() int32 {
	replicas := min(s.Count(1, "replicas"), grouping.MostSubGroups+1)
	surge := s.Share(replicas, "rolloutStrategy", "rollingUpdateConfiguration", "maxSurge")
	return replicas + min(surge, replicas)
}

// constraints returns the constraint of each group and that of each of its subgroups. In a set with subgroups, the
// group's constraint is in the template of leaders. In a set without subgroups, it can be in either template.
func (s set) constraints() (groups, parts grouping.Constraint, wrong field.ErrorList) {
	leader, problems := grouping.FromTemplates(s.leader)
	worker, more := grouping.FromTemplates(s.worker)
	problems = append(problems, more...)
	switch {
	case s.partSize() > 0:
		return leader, worker, problems
	case leader.Empty():
		return worker, grouping.Constraint{}, problems
	case !worker.Empty() && !worker.Same(leader):
		problems = append(problems, field.Forbidden(s.worker.Path.Child("annotations"),
			"a group stands as the leaderTemplate says: say it there alone, or give the group a subGroupPolicy"))
	}
	return leader, grouping.Constraint{}, problems
}

func (s set) group(index int32, constraint, ofParts grouping.Constraint) []grouping.SubGroup {
	name := groupName(number(index))
	parts := s.parts()
	if len(parts) == 0 {
		return []grouping.SubGroup{{
			Name:       name,
			MinMember:  new(s.needed(s.size, true)),
			Expected:   new(s.expected(index, s.size)),
			Constraint: constraint,
			Templates:  []grouping.Template{s.leader, s.worker},
			Indexed:    &grouping.Indexed{Pods: s.size, InTurn: s.leaderFirst},
		}}
	}
	groups := []grouping.SubGroup{{Name: name, Constraint: constraint}}
	for i, part := range parts {
		leaf := grouping.SubGroup{
			Name:      name + part.suffix,
			Parent:    name,
			MinMember: new(s.needed(part.size, i == 0)),
			Expected:  new(s.expected(index, part.size)),
			Templates: []grouping.Template{s.leader, s.worker},
			Indexed: &grouping.Indexed{
				Obstacle: "the groups are divided by spec.leaderWorkerTemplate.subGroupPolicy already: remove " +
					"one of the two",
			},
		}
		if part.suffix != leaderSuffix {
			leaf.Constraint = ofParts
		}
		groups = append(groups, leaf)
	}
	return groups
}

// expected returns how many of the pods of a group, or of a part of it, are to exist: none of the groups that exist
// only during a rollout.
func (s set) expected(index, pods int32) int32 {
	if index >= s.Count(1, "replicas") {
		return 0
	}
	return pods
}

// needed returns how many of the pods start together. The leader is among the first pods of a group.
func (s set) needed(pods int32, withLeader bool) int32 {
	switch {
	case !s.leaderFirst:
		return pods
	case withLeader:
		return min(pods, 1)
	default:
		return 0
	}
}

func index(_ grouping.Workload, pod *corev1.Pod) (int32, bool) {
	return grouping.ParseIndex(pod.Labels[labelWorkerIndex])
}

func leaf(w grouping.Workload, pod *corev1.Pod) (string, bool) {
	index := pod.Labels[labelGroupIndex]
	if index == "" {
		return "", false
	}
	set := read(w.Owner)
	if set.partSize() == 0 {
		return groupName(index), true
	}
	part := pod.Labels[labelSubGroupIndex]
	switch {
	case part != "":
		return groupName(index) + partSuffix(part), true
	case set.leaderExcluded() && pod.Labels[labelWorkerIndex] == "0":
		return groupName(index) + leaderSuffix, true
	default:
		return "", false
	}
}
