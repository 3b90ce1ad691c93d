package gangstate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

// Two gangs that are planned one after the other obey the relation that counts them both, though no pod stands yet.
func TestARelationCountsWherePodsOfOtherGangsAreToGo(t *testing.T) {
	replica := func(key gang.Key, gangs string) *scheduling.PodGroup {
		return &scheduling.PodGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Annotations: map[string]string{
				scheduling.AnnotationRelations: `[{"name":"r","gangs":"` + gangs +
					`","topology":"t","level":"zone","maxPerDomain":1}]`,
			}},
			Spec: scheduling.PodGroupSpec{MinMember: ptr.To[int32](1)},
		}
	}
	member := func(name, node string) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: other.Namespace, Name: name, UID: types.UID(name),
			Annotations: map[string]string{scheduling.AnnotationPodGroupName: other.Name},
		}}
		pod.Spec.NodeName = node
		return pod
	}
	state := New(anyone, nil)
	state.TopologyChanged("t", podgrouptree.Hierarchy{{Key: "zone"}}, start)
	state.PodGroupChanged(nil, replica(mine, "service"), start)
	state.PodGroupChanged(nil, replica(other, "service"), start)
	state.PodGroupChanged(nil, replica(gang.Key{Namespace: "default", Name: "third"}, "another"), start)
	state.added(member("planned", ""), start)
	state.added(member("standing", "n2"), start)
	counted := func() (nodes [][]string) {
		assembled, hold := gang.Assemble(replica(mine, "service"), nil, state.levels)
		require.NotNil(t, assembled.Tree, "%v", hold)
		require.False(t, hold != nil && hold.Reason == scheduling.ReasonInvalid, "%v", hold)
		assembled.Relate(state.Related)
		for _, other := range assembled.Relations[0].Others {
			nodes = append(nodes, other.Nodes...)
		}
		return nodes
	}
	assert.Empty(t, cmp.Diff([][]string{{"n2"}}, counted()), "before the plan")
	state.open(other, 1, false, Placement{Pod: member("planned", ""), Node: "n1"})
	assert.Empty(t, cmp.Diff([][]string{{"n1", "n2"}}, counted()), "with the plan")
	state.groupDeleted(replica(other, "service"), start)
	assert.Empty(t, counted(), "a gang without PodGroup counts")
}

// Whichever gang of a circle comes last, the one that need not wait any more tries again, though it is not near that
// gang.
func TestAGangThatClosesACircleLetsTheFirstTryAgain(t *testing.T) {
	circle := []string{"a", "b", "c", "d", "e"}
	of := func(i int) *scheduling.PodGroup {
		name, next := circle[i], circle[(i+1)%len(circle)]
		return &scheduling.PodGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Annotations: map[string]string{
				scheduling.AnnotationRelations: `[{"name":"r","near":"` + next + `","topology":"t","level":"zone"}]`,
			}},
			Spec: scheduling.PodGroupSpec{MinMember: ptr.To[int32](1)},
		}
	}
	pod := func(i int) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: circle[i] + "-0", UID: types.UID(circle[i]),
			Annotations: map[string]string{scheduling.AnnotationPodGroupName: circle[i]},
		}}
	}
	for last := range circle {
		state := New(anyone, nil)
		state.TopologyChanged("t", podgrouptree.Hierarchy{{Key: "zone"}}, start)
		for i := range circle {
			if i != last {
				state.PodGroupChanged(nil, of(i), start)
			}
			state.added(pod(i), start)
		}
		state.Opened(start)
		woken := sets.New[string]()
		for _, one := range state.PodGroupChanged(nil, of(last), start).Activate {
			woken.Insert(one.Name)
		}
		assert.True(t, woken.Has("a-0"), "%s comes last and wakes %v", circle[last], sets.List(woken))
		assembled, hold := gang.Assemble(of(0), []*corev1.Pod{pod(0)}, state.levels)
		require.Nil(t, hold)
		assembled.Relate(state.Related)
		assert.True(t, assembled.Relations[0].First, "%s comes last, and a still waits", circle[last])
	}
}

// A gang is near another one from the moment in which that has its nodes, by whatever scheduler. It has no other reason
// to try again.
func TestAGangThatHasItsNodesLetsThoseTryAgainThatAreToBeNearIt(t *testing.T) {
	follower := gang.Key{Namespace: "default", Name: "follower"}
	member := func(key gang.Key, node string) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name + "-0", UID: types.UID(key.Name),
			Annotations: map[string]string{scheduling.AnnotationPodGroupName: key.Name},
		}}
		pod.Spec.NodeName = node
		return pod
	}
	for name, get := range map[string]func(*State) Effects{
		"by a plan": func(state *State) Effects {
			state.open(mine, 1, false, Placement{Pod: member(mine, ""), Node: "n1"})
			state.assumedOn(member(mine, "n1"))
			permission, effects := state.Permit(mine, "mine", version(1), "")
			assert.Equal(t, Go, permission, "the gang may not go")
			return effects
		},
		"by somebody else": func(state *State) Effects {
			return state.PodChanged(member(mine, ""), member(mine, "n1"), start)
		},
	} {
		t.Run(name, func(t *testing.T) {
			state := New(anyone, nil)
			state.TopologyChanged("t", podgrouptree.Hierarchy{{Key: "zone"}}, start)
			for key, relations := range map[gang.Key]string{mine: "",
				follower: `[{"name":"r","near":"mine","topology":"t","level":"zone"}]`} {
				podGroup := &scheduling.PodGroup{
					ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
					Spec:       scheduling.PodGroupSpec{MinMember: ptr.To[int32](1)},
				}
				if relations != "" {
					podGroup.Annotations = map[string]string{scheduling.AnnotationRelations: relations}
				}
				state.PodGroupChanged(nil, podGroup, start)
				state.added(member(key, ""), start)
			}
			state.Opened(start)
			woken := names(get(state).Activate)
			assert.True(t, sets.New(woken...).Has("follower-0"), "it lets try again %v", woken)
		})
	}
}
