// Package replacement decides whether pods of gangs can be replaced: whether successors, which may ask for more than
// they do, would all have a node if these pods left. Every answer is a decision of the scheduler's own code on a copy
// of the cluster, and nothing is reserved by it.
package replacement

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/turns"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/successors"
)

// Asked is a question about successors.
type Asked struct {
	// Gang is the one whose PodGroup has the question, in whose namespace all gangs are that it is about.
	Gang gang.Key
	// Question is what is asked.
	Question *successors.Question
	// Granted is set if the last answer to this very question was yes. Such questions are answered before the others:
	// whoever asked may be about to act on it.
	Granted bool
}

// Kept returns the room that the scheduler keeps from a gang of some priority.
type Kept func(asking gang.Key, priority int32) clusterview.Reserved

// Answers answers all questions: each as if the pods of those before it that were answered with yes were replaced
// already. Thus no two get the same room. The answers are in the order of the questions. The table has the
// cluster as it is.
func Answers(ctx context.Context, table *turns.Table, kept Kept, asked []Asked) ([]successors.Answer, error) {
	cluster := table.Inventory()
	s := &scene{
		cluster: cluster, table: table.Respecting(kept), members: cluster.Members(),
		podGroups: map[gang.Key]*scheduling.PodGroup{}, nodes: sets.New[string](),
	}
	for _, podGroup := range cluster.PodGroups {
		s.podGroups[gang.KeyOfPodGroup(podGroup)] = podGroup
	}
	for _, node := range cluster.Nodes {
		s.nodes.Insert(node.Name)
	}
	answers := make([]successors.Answer, len(asked))
	for _, i := range s.order(asked) {
		answer, err := s.answer(ctx, asked[i])
		if err != nil {
			return nil, err
		}
		answers[i] = answer
	}
	return answers, nil
}

// scene is a cluster in which the pods of some questions have been replaced.
type scene struct {
	cluster   *inventory.Inventory
	table     *turns.Table
	members   map[gang.Key][]*corev1.Pod
	podGroups map[gang.Key]*scheduling.PodGroup
	nodes     sets.Set[string]
	// gone are pods that have left their nodes, and placed those that stand where these made room.
	gone, placed []*corev1.Pod
}

// order returns the indexes of questions in the order in which they are answered.
func (s *scene) order(asked []Asked) []int {
	type place struct {
		index   int
		granted bool
		rank    gang.Rank
	}
	var places []place
	for i := range asked {
		next := place{index: i, granted: asked[i].Granted, rank: gang.Rank{Gang: asked[i].Gang}}
		if podGroup := s.podGroups[asked[i].Gang]; podGroup != nil {
			assembled, _ := gang.Assemble(podGroup, s.members[asked[i].Gang], s.cluster.Levels)
			next.rank = assembled.Rank()
		}
		places = append(places, next)
	}
	slices.SortFunc(places, func(a, b place) int {
		switch {
		case a.granted && !b.granted:
			return -1
		case b.granted && !a.granted:
			return 1
		}
		return cmp.Or(a.rank.Compare(b.rank), cmp.Compare(a.index, b.index))
	})
	indexes := make([]int, len(places))
	for i := range places {
		indexes[i] = places[i].index
	}
	return indexes
}

// answer answers one question, and keeps what would be if the answer is yes.
func (s *scene) answer(ctx context.Context, asked Asked) (successors.Answer, error) {
	answer := successors.Answer{
		ID: asked.Question.ID, Fits: metav1.ConditionTrue, Reason: scheduling.ReasonRoomForAll, Sentence: roomForAll,
	}
	replaced, unknown := s.read(asked)
	if unknown != "" {
		answer.Fits, answer.Reason, answer.Sentence = metav1.ConditionUnknown, scheduling.ReasonNotAnswered, unknown
		return answer, nil
	}
	change := turns.Change{Gone: slices.Clone(s.gone), Stand: slices.Clone(s.placed), Explained: true}
	for i := range replaced {
		if !replaced[i].added && (i == 0 || replaced[i-1].added) {
			for _, leaves := range replaced[i:] {
				change.Gone = append(change.Gone, s.standing(leaves.leaving)...)
			}
		}
		refused, err := s.place(ctx, &replaced[i], &change)
		if err != nil {
			return answer, err
		}
		if refused != nil {
			answer.Fits, answer.Reason, answer.Sentence = metav1.ConditionFalse, refused.Reason, refused.Message
			return answer, nil
		}
	}
	s.gone, s.placed = change.Gone, change.Stand
	return answer, nil
}

const (
	roomForAll = "each of the new pods would have a node"
	noRoom     = "no node has room for a further pod of the gang"
)

// standing leaves out the pods that are on no node that there is.
func (s *scene) standing(pods []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(inventory.Standing(pods)), func(pod *corev1.Pod) bool {
		return !s.nodes.Has(pod.Spec.NodeName)
	})
}

// place decides a gang whose pods have left, and adds to the change where its pods would stand, and who would leave for
// them. It returns why some successor would have no node; nil if each has one.
func (s *scene) place(ctx context.Context, replaced *replaced, change *turns.Change) (refused *gang.Hold, err error) {
	if len(replaced.successors) == 0 {
		return nil, nil // They are there already.
	}
	err = s.table.Under(*change, func(table *turns.Table) error {
		answer, err := table.Decide(ctx, replaced.turn, 0)
		if err != nil {
			return err
		}
		nodes := answer.Nodes
		if !turns.Placed(answer) {
			choice, err := table.PreemptLower(ctx, replaced.turn, s.podGroup)
			if err != nil || choice == nil || len(choice.Victims) == 0 {
				refused = &gang.Hold{Reason: answer.Verdict, Message: cmp.Or(answer.Message, noRoom)}
				return err
			}
			nodes = choice.Nodes
			for _, victim := range choice.Victims {
				change.Gone = append(change.Gone, victim.Pod)
			}
		}
		for _, successor := range replaced.successors {
			if nodes[successor.Name] == "" {
				refused = &gang.Hold{Reason: scheduling.ReasonNoRoomForAll, Message: cmp.Or(answer.Message, noRoom)}
				return nil
			}
		}
		for _, pod := range replaced.turn.Gang.Pending {
			if node := nodes[pod.Name]; node != "" {
				change.Stand = append(change.Stand, gang.On(node, pod))
			}
		}
		return nil
	})
	return refused, err
}

func (s *scene) podGroup(key gang.Key) (*scheduling.PodGroup, error) {
	if podGroup := s.podGroups[key]; podGroup != nil {
		return podGroup, nil
	}
	return s.cluster.PodGroup(key)
}
