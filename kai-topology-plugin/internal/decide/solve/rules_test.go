package solve_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

const (
	zone     = "zone"
	rack     = "rack"
	hostname = corev1.LabelHostname
)

// nodes makes the nodes of racks, written as "zone/rack" times the number of nodes, each with room for so many pods.
func nodes(room int, racks ...string) []*corev1.Node {
	var made []*corev1.Node
	for _, written := range racks {
		var path string
		var count int
		path, times, _ := strings.Cut(written, "*")
		if _, err := fmt.Sscan(times, &count); err != nil {
			panic(err)
		}
		inZone, inRack, _ := strings.Cut(path, "/")
		for i := range count {
			name := fmt.Sprintf("%s-%s-%d", inZone, inRack, i)
			node := &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{zone: inZone, rack: inRack, hostname: name}},
			}
			node.Status.Allocatable = corev1.ResourceList{
				corev1.ResourceCPU:  *resource.NewQuantity(int64(room), resource.DecimalSI),
				corev1.ResourcePods: resource.MustParse("110"),
			}
			made = append(made, node)
		}
	}
	return made
}

type change func(*corev1.Pod)

func leafPods(leaf string, count int, changes ...change) []*corev1.Pod {
	var made []*corev1.Pod
	for i := range count {
		name := fmt.Sprintf("%s-%02d", leaf, i)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name),
			Labels: map[string]string{
				"role": leaf, "index": fmt.Sprint(i), kai.LabelSubGroupName: leaf,
			}}}
		pod.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
		}}}
		for _, change := range changes {
			change(pod)
		}
		made = append(made, pod)
	}
	return made
}

func onNode(node string) change { return func(pod *corev1.Pod) { pod.Spec.NodeName = node } }

func stranger(pod *corev1.Pod) { delete(pod.Labels, kai.LabelSubGroupName) }

func nameless(pod *corev1.Pod) { pod.Name, pod.UID = "", "" }

func terms(role, key string) []corev1.PodAffinityTerm {
	return []corev1.PodAffinityTerm{{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"role": role}}, TopologyKey: key,
	}}
}

func affinityOf(pod *corev1.Pod) *corev1.Affinity {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	return pod.Spec.Affinity
}

func apartFrom(role, key string) change {
	return func(pod *corev1.Pod) {
		affinityOf(pod).PodAntiAffinity = &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: terms(role, key),
		}
	}
}

func near(role, key string) change {
	return func(pod *corev1.Pod) {
		affinityOf(pod).PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms(role, key)}
	}
}

func spread(role, key string, skew int32) change {
	return func(pod *corev1.Pod) {
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			MaxSkew: skew, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"role": role}},
		})
	}
}

func required(level string) *scheduling.TopologyConstraint {
	return &scheduling.TopologyConstraint{Topology: "t", RequiredTopologyLevel: level}
}

func subGroup(name string, minMember int32, constraint *scheduling.TopologyConstraint) scheduling.SubGroup {
	return scheduling.SubGroup{Name: name, MinMember: &minMember, TopologyConstraint: constraint}
}

type scenario struct {
	nodes    []*corev1.Node
	standing []*corev1.Pod
	spec     scheduling.PodGroupSpec
	pods     []*corev1.Pod
	reserved map[string][]*corev1.Pod
	budget   int
}

func (s scenario) question(t testing.TB) solve.Request {
	t.Helper()
	topology := &kai.Topology{ObjectMeta: metav1.ObjectMeta{Name: "t"}}
	topology.Spec.Levels = []kai.TopologyLevel{{NodeLabel: zone}, {NodeLabel: rack}}
	assembled, hold := gang.Assemble(
		&scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g"}, Spec: s.spec}, s.pods,
		func(string) (podgrouptree.Hierarchy, bool) {
			return podgrouptree.Hierarchy{{Key: zone}, {Key: rack}}, true
		})
	require.Nil(t, hold)
	cluster, err := kubeframework.NewOffline(t.Context(), s.nodes, slices.Concat(s.standing, assembled.Standing))
	require.NoError(t, err)
	infos, err := cluster.Nodes()
	require.NoError(t, err)
	return solve.Request{
		Gang: assembled, Topologies: map[string]*kai.Topology{"t": topology}, Nodes: infos, View: clusterview.New(cluster),
		Reserved: s.reserved, Budget: s.budget,
	}
}

func (s scenario) decide(t *testing.T) (*solve.Answer, *gang.Gang) {
	t.Helper()
	question := s.question(t)
	answer, err := solve.Solve(t.Context(), question)
	require.NoError(t, err)
	for _, node := range question.Nodes {
		for _, pod := range node.GetPods() {
			assert.Empty(t, answer.Nodes[pod.GetPod().Name], "pod %s is still assumed", pod.GetPod().Name)
		}
	}
	return answer, question.Gang
}

// enact puts the pods on their nodes one after the other, in a cluster of its own, and has all filters look at each.
func (s scenario) enact(t *testing.T, answer *solve.Answer) {
	t.Helper()
	cluster, err := kubeframework.NewOffline(t.Context(), s.nodes, slices.Concat(s.standing, bound(s.pods)))
	require.NoError(t, err)
	order := answer.Order
	if order == nil {
		order = slices.Sorted(maps.Keys(answer.Nodes))
		slices.Reverse(order) // Any order has to do.
	}
	require.Len(t, order, len(answer.Nodes), "the order has %d pods of %d", len(order), len(answer.Nodes))
	for _, name := range order {
		i := slices.IndexFunc(s.pods, func(pod *corev1.Pod) bool { return pod.Name == name })
		placed := s.pods[i].DeepCopy()
		infos, err := cluster.Nodes()
		require.NoError(t, err)
		state := kubeframework.Simulation()
		_, status, _ := cluster.RunPreFilterPlugins(t.Context(), state, placed)
		require.True(t, status.IsSuccess(), "pod %s: %v", name, status)
		for _, info := range infos {
			if info.Node().Name != answer.Nodes[name] {
				continue
			}
			status := cluster.RunFilterPlugins(t.Context(), state, placed, info)
			assert.True(t, status.IsSuccess(), "pod %s is turned away on its node %s: %v", name, info.Node().Name, status)
		}
		placed.Spec.NodeName = answer.Nodes[name]
		require.NoError(t, cluster.Change(kubeframework.Change{Stand: []*corev1.Pod{placed}}))
	}
}

func bound(pods []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return pod.Spec.NodeName == "" })
}

func TestGangsWithRulesAmongTheirPods(t *testing.T) {
	one := func(minimum int32, constraint *scheduling.TopologyConstraint) scheduling.PodGroupSpec {
		return scheduling.PodGroupSpec{MinMember: &minimum, TopologyConstraint: constraint}
	}
	two := func(constraint *scheduling.TopologyConstraint, groups ...scheduling.SubGroup) scheduling.PodGroupSpec {
		return scheduling.PodGroupSpec{TopologyConstraint: constraint, SubGroups: groups}
	}
	for name, test := range map[string]struct {
		scenario
		// placed is how many pods get a node; 0 means that the gang waits.
		placed  int
		verdict string
		message string
	}{
		"pods that repel each other share no node": {
			scenario: scenario{nodes: nodes(8, "z/r*4"), spec: one(4, nil), pods: leafPods("", 4, apartFrom("", hostname))},
			placed:   4,
		},
		"and take the rack that has nodes enough, not the one with the least room": {
			scenario: scenario{nodes: nodes(8, "z/a*2", "z/b*4"), spec: one(3, required(rack)),
				pods: leafPods("", 3, apartFrom("", hostname))}, placed: 3,
		},
		"pods that repel each other by rack": {
			scenario: scenario{nodes: nodes(8, "z/a*2", "z/b*2", "z/c*2"), spec: one(3, required(zone)),
				pods: leafPods("", 3, apartFrom("", rack))}, placed: 3,
		},
		"leaders keep workers off their nodes": {
			scenario: scenario{nodes: nodes(4, "z/a*3"),
				spec: two(required(rack), subGroup("leader", 1, nil), subGroup("worker", 8, nil)),
				pods: slices.Concat(leafPods("leader", 1, apartFrom("worker", hostname)), leafPods("worker", 8))}, placed: 9,
		},
		"workers follow a leader that comes after them by name": {
			scenario: scenario{nodes: nodes(4, "z/a*2", "z/b*2"),
				spec: two(nil, subGroup("xleader", 1, nil), subGroup("worker", 7, nil)),
				pods: slices.Concat(leafPods("xleader", 1), leafPods("worker", 7, near("xleader", rack)))}, placed: 8,
		},
		"pods that are near each other choose the domain that takes all": {
			scenario: scenario{nodes: nodes(4, "z/a*1", "z/b*2", "z/c*1"), spec: one(8, nil), pods: leafPods("", 8, near("", rack))},
			placed:   8,
		},
		"pods near a pod of somebody else go there": {
			scenario: scenario{nodes: nodes(4, "z/a*2", "z/b*2"), standing: leafPods("db", 1, stranger, onNode("z-b-1")),
				spec: one(4, nil),
				pods: leafPods("", 4, near("db", rack))}, placed: 4,
		},
		"a spread over zones is levelled out": {
			scenario: scenario{nodes: nodes(4, "x/a*3", "y/a*3", "z/a*3"), spec: one(9, nil),
				pods: leafPods("", 9, spread("", zone, 1))}, placed: 9,
		},
		"a spread over nodes fills them evenly": {
			scenario: scenario{nodes: nodes(4, "z/a*4"), spec: one(12, required(rack)),
				pods: leafPods("", 12, spread("", hostname, 1))}, placed: 12,
		},
		"a spread that starts uneven": {
			scenario: scenario{nodes: nodes(8, "x/a*1", "y/a*1"),
				standing: leafPods("", 3, stranger, onNode("x-a-0"),
					func(pod *corev1.Pod) { pod.Name, pod.UID = "old-"+pod.Name, "old-"+pod.UID }),
				spec: one(5, nil), pods: leafPods("", 5, spread("", zone, 1))}, placed: 5,
		},
		"two levels, repelling inside": {
			scenario: scenario{nodes: nodes(4, "y/a*1", "y/b*4", "z/a*3", "z/b*3"),
				spec: two(required(zone), subGroup("decode", 3, required(rack)), subGroup("prefill", 3, required(rack))),
				pods: slices.Concat(leafPods("decode", 3, apartFrom("decode", hostname)),
					leafPods("prefill", 3, apartFrom("prefill", hostname)))}, placed: 6,
		},
		"a pod above the minimum that has no place holds nobody up": {
			scenario: scenario{nodes: nodes(4, "z/a*2"), spec: one(2, nil), pods: leafPods("", 3, apartFrom("", hostname))},
			placed:   2,
		},
		"room that is kept for others, by name or not, is left alone": {
			scenario: scenario{nodes: nodes(1, "z/a*3"), spec: one(1, nil), pods: leafPods("", 1, near("", rack)),
				reserved: map[string][]*corev1.Pod{"z-a-0": leafPods("other", 1, nameless), "z-a-1": leafPods("other", 1, nameless)}},
			placed: 1,
		},
		"who is kept room for repels as if he stood there": {
			scenario: scenario{nodes: nodes(2, "z/a*2"), spec: one(1, nil), pods: leafPods("w", 1, stranger, near("w", rack)),
				reserved: map[string][]*corev1.Pod{"z-a-0": leafPods("other", 1, apartFrom("w", hostname))}}, placed: 1,
		},
		"more pods that repel each other than nodes": {
			scenario: scenario{nodes: nodes(8, "z/a*2"), spec: one(3, nil), pods: leafPods("", 3, apartFrom("", hostname))},
			verdict:  scheduling.ReasonInfeasible,
			message:  "2 of 3 pods fit into the cluster, short of 1 node by pod anti-affinity",
		},
		"without room the rules do not matter": {
			scenario: scenario{nodes: nodes(1, "z/a*2"), spec: one(3, nil), pods: leafPods("", 3, apartFrom("", hostname))},
			verdict:  scheduling.ReasonInfeasible,
		},
		"a pod that is to be near one that nobody is": {
			scenario: scenario{nodes: nodes(8, "z/a*2"), spec: one(2, nil), pods: leafPods("", 2, near("nobody", rack))},
			message:  "pod affinity or anti-affinity",
		},
	} {
		t.Run(name, func(t *testing.T) {
			answer, _ := test.decide(t)
			if len(answer.Nodes) != test.placed || (test.placed > 0) != (answer.Verdict == scheduling.ReasonPlaced) {
				t.Fatalf("%d pods get a node, want %d: %s: %s", len(answer.Nodes), test.placed, answer.Verdict, answer.Message)
			}
			if test.verdict != "" && answer.Verdict != test.verdict || !strings.Contains(answer.Message, test.message) {
				t.Errorf("verdict %s: %s", answer.Verdict, answer.Message)
			}
			test.enact(t, answer)
			for node := range test.reserved {
				for pod, chosen := range answer.Nodes {
					assert.NotEqual(t, node, chosen, "pod %s is on node %s", pod, node)
				}
			}
		})
	}
}

// counting are filters that count how often they are prepared.
type counting struct {
	*kubeframework.Offline

	prepared int
}

func (c *counting) RunPreFilterPlugins(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod,
) (*fwk.PreFilterResult, *fwk.Status, sets.Set[string]) {
	c.prepared++
	return c.Offline.RunPreFilterPlugins(ctx, state, pod)
}

func TestFiltersArePreparedForKindsNotForPods(t *testing.T) {
	for name, change := range map[string]change{
		"spread by hostname": spread("", hostname, 1), "apart by hostname": apartFrom("", hostname),
		"near by rack": near("", rack),
	} {
		t.Run(name, func(t *testing.T) {
			asked, all := leafPods("", 40, change), nodes(40, "z/r*50")
			assembled, hold := gang.Assemble(
				&scheduling.PodGroup{Spec: scheduling.PodGroupSpec{MinMember: ptr.To[int32](40)}}, asked,
				func(string) (podgrouptree.Hierarchy, bool) { return nil, true })
			require.Nil(t, hold)
			offline, err := kubeframework.NewOffline(t.Context(), all, nil)
			require.NoError(t, err)
			infos, err := offline.Nodes()
			require.NoError(t, err)
			filters := &counting{Offline: offline}
			answer, err := solve.Solve(t.Context(),
				solve.Request{Gang: assembled, Nodes: infos, View: clusterview.New(filters)})
			require.NoError(t, err)
			require.Len(t, answer.Nodes, 40)
			assert.LessOrEqual(t, filters.prepared, 8,
				"the filters were prepared %d times for 40 pods of one kind", filters.prepared)
		})
	}
}

// 24 pods fit that are to be spread evenly, but no plan of the engine has them so.
func TestTheBudgetHoldsForMovesToo(t *testing.T) {
	budgets := scenario{nodes: nodes(8, "z/r*8"), spec: scheduling.PodGroupSpec{MinMember: ptr.To[int32](24)},
		pods: leafPods("", 24, spread("", hostname, 1))}
	for budget, placed := range map[int]bool{0: true, 3: false} {
		budgets.budget = budget
		answer, _ := budgets.decide(t)
		assert.Equal(t, placed, answer.Verdict == scheduling.ReasonPlaced, "with a budget of %d: %s", budget, answer.Message)
		assert.NotEqual(t, scheduling.ReasonInfeasible, answer.Verdict, "with a budget of %d: %s", budget, answer.Message)
		if budget > 0 && answer.Steps > 2*budget {
			t.Errorf("with a budget of %d it takes %d steps", budget, answer.Steps)
		}
	}
}
