package overtaking

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

const gpus = "nvidia.com/gpu"

var start = time.Unix(1000, 0)

// starved is a cluster of three racks of nodes with four GPUs, r1 and r2 of two nodes and r3 of one. On each node a
// gang of its name has taken three of them, in r1 and r3 while a big gang waited.
type starved struct {
	Reserver
	offline *kubeframework.Offline
	big     *gang.Gang
}

func newStarved(t *testing.T, change func(big *gang.Gang)) *starved {
	t.Helper()
	var nodes []*corev1.Node
	var pods []*corev1.Pod
	for _, name := range []string{"r1-a", "r1-b", "r2-a", "r2-b", "r3-a"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			"rack": name[:2], "node": name,
		}}}
		node.Status.Allocatable = asks(map[string]string{gpus: "4", "pods": "9"}).Spec.Containers[0].Resources.Requests
		nodes = append(nodes, node)
		pods = append(pods, standing("on-"+name, name))
	}
	offline, err := kubeframework.NewOffline(t.Context(), nodes, pods)
	require.NoError(t, err)
	s := &starved{offline: offline, big: gangOf(t, "big", 2, 4, change)}
	topology := &kai.Topology{ObjectMeta: metav1.ObjectMeta{Name: "t"}}
	topology.Spec.Levels = []kai.TopologyLevel{{NodeLabel: "rack"}}
	view := clusterview.New(offline)
	s.Reserver = Reserver{
		Gangs: gangstate.New(func(string) bool { return true }, nil), For: DefaultReserveFor,
		Snapshot: func() fwk.NodeInfoLister { return offline.SnapshotSharedLister().NodeInfos() },
		Request: func(gang.Key) (*solve.Request, error) {
			infos, err := offline.Nodes()
			return &solve.Request{
				Gang: s.big, Topologies: map[string]*kai.Topology{"t": topology}, View: view, Nodes: infos,
			}, err
		},
	}
	s.Gangs.DidNotFit(s.big, ClaimOf(s.big, &solve.Answer{}), 0, s.Gangs.Now(), nil)
	for i := range gangstate.MaxOvertakes {
		by := "on-" + []string{"r1-a", "r1-b", "r3-a"}[i%3]
		s.Gangs.Placed(taking(t, by), nil)
	}
	return s
}

// standing is the pod of a gang of the same name.
func standing(name, node string) *corev1.Pod {
	pod := asks(map[string]string{gpus: "3"})
	pod.Namespace, pod.Name, pod.UID, pod.Spec.NodeName = "ns", name, types.UID(name), node
	pod.Annotations = map[string]string{scheduling.AnnotationPodGroupName: name}
	return pod
}

// taking is that of a gang of lower priority.
func taking(t *testing.T, name string) gangstate.Taking {
	small := gangOf(t, name, 1, 3, func(small *gang.Gang) {
		small.Pending[0].Spec.Priority = new(int32)
		*small.Pending[0].Spec.Priority = -1
	})
	return TakingOf(small, &solve.Answer{Nodes: map[string]string{"p": "n"}})
}

// gangOf is one of so many pods that each ask for GPUs, all in one rack.
func gangOf(t *testing.T, name string, pods, each int, change func(*gang.Gang)) *gang.Gang {
	t.Helper()
	number := int32(pods)
	podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Generation: 1}}
	podGroup.Spec.MinMember = &number
	podGroup.Spec.TopologyConstraint = &scheduling.TopologyConstraint{Topology: "t", RequiredTopologyLevel: "rack"}
	var members []*corev1.Pod
	for i := range pods {
		pod := asks(map[string]string{gpus: fmt.Sprint(each)})
		pod.Namespace, pod.Name = "ns", fmt.Sprint(name, "-", i)
		pod.UID = types.UID(pod.Name)
		members = append(members, pod)
	}
	assembled, hold := gang.Assemble(podGroup, members, func(string) (podgrouptree.Hierarchy, bool) {
		return podgrouptree.Hierarchy{{Key: "rack"}}, true
	})
	require.Nil(t, hold)
	if change != nil {
		change(assembled)
	}
	return assembled
}

// kept is the room that a gang of the lowest rank has to leave alone.
func (s *starved) kept() gangstate.Reserved {
	return s.Gangs.Reserved(gang.Rank{Priority: math.MinInt32}, nil)
}

func (s *starved) reserved(t *testing.T) string {
	t.Helper()
	_, _, err := s.Before(t.Context(), taking(t, "next"), start)
	require.NoError(t, err)
	return strings.Join(s.kept().Nodes, " ")
}

func selecting(node string) func(*gang.Gang) {
	return func(big *gang.Gang) {
		for _, pod := range big.Pending {
			pod.Spec.NodeSelector = map[string]string{"node": node}
		}
	}
}

func TestRoomIsReservedWhereTheGangFitsWithoutItsOvertakers(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*gang.Gang)
		want   string
	}{
		"the rack that would hold it": {want: "r1-a r1-b"},
		"one node where that is enough": {
			change: func(big *gang.Gang) {
				for _, pod := range big.Pending {
					pod.Spec.Containers[0].Resources.Requests = asks(map[string]string{gpus: "2"}).Spec.Containers[0].Resources.Requests
				}
			}, want: "r1-a",
		},
		"nothing where other gangs stand":         {change: selecting("r2-a")},
		"nothing on nodes that its selector bars": {change: selecting("r1-a")},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStarved(t, c.change)
			assert.Equal(t, c.want, s.reserved(t))
			got := s.reserved(t)
			assert.Equal(t, c.want, got, "reserved is %q once it was asked twice, want %q", got, c.want)
		})
	}
}

func TestNothingIsReserved(t *testing.T) {
	for name, change := range map[string]func(*starved){
		"where that is switched off":          func(s *starved) { s.For = 0 },
		"for a gang that cannot be planned":   func(s *starved) { s.Request = func(gang.Key) (*solve.Request, error) { return nil, nil } },
		"for a gang that waits no more":       func(s *starved) { s.Gangs.PodGroupChanged(s.big.PodGroup, nil, start) },
		"for gangs that the next ranks above": func(s *starved) { s.Gangs = gangstate.New(func(string) bool { return true }, nil) },
	} {
		s := newStarved(t, nil)
		change(s)
		assert.Empty(t, s.reserved(t), "%s: reserved", name)
	}
	s := newStarved(t, nil)
	s.Request = func(gang.Key) (*solve.Request, error) { return nil, errors.New("no answer") }
	_, _, err := s.Before(t.Context(), taking(t, "next"), start)
	assert.ErrorContains(t, err, "ns/big")
}

func TestReservedRoomLastsWhilePodsLeaveIt(t *testing.T) {
	s := newStarved(t, nil)
	s.reserved(t)
	half, all := start.Add(DefaultReserveFor/2), start.Add(DefaultReserveFor)
	leaves := standing("on-r1-a", "r1-a")
	require.NoError(t, s.offline.Change(kubeframework.Change{Leave: []*corev1.Pod{leaves}}))
	s.Extend(s.big.Key(), half)
	if s.Gangs.Tick(all); len(s.kept().Nodes) == 0 {
		t.Error("it ended although a pod left")
	}
	s.Extend(s.big.Key(), all)
	if s.Gangs.Tick(half.Add(DefaultReserveFor)); len(s.kept().Nodes) > 0 {
		t.Error("it lasts although no further pod left")
	}
	s.Extend(s.big.Key(), all)
	assert.Zero(t, s.Gangs.Tick(all.Add(time.Hour)).Again, "what has ended is extended")
}

func TestTheNoteNamesNodesAndTheGang(t *testing.T) {
	s := newStarved(t, nil)
	assert.Empty(t, Note(s.kept()), "before it")
	s.reserved(t)
	const want = "room on r1-a, r1-b is reserved for gang ns/big, which ranks higher and has been overtaken too often"
	assert.Equal(t, want, Note(s.kept()))
	var placements []gangstate.Placement
	for i, node := range []string{"e", "d", "c", "b", "a"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint(i))}}
		placements = append(placements, gangstate.Placement{Pod: pod, Node: node})
	}
	s.Gangs.PodGroupChanged(s.big.PodGroup, nil, start)
	s.Gangs.DidNotFit(s.big, ClaimOf(s.big, &solve.Answer{}), 0, s.Gangs.Now(), nil)
	s.Gangs.ReserveOverdue(s.big.Key(), slices.Clone(placements), func([]string) int { return 0 }, start, time.Hour)
	got := Note(s.kept())
	assert.True(t, strings.HasPrefix(got, "room on a, b, c and 2 more nodes is reserved"), "it says %q", got)
}
