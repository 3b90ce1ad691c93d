package spares

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/packing"
)

func topology(said string) *kai.Topology {
	made := &kai.Topology{ObjectMeta: metav1.ObjectMeta{Name: "t", Annotations: map[string]string{kai.AnnotationSpares: said}}}
	made.Spec.Levels = []kai.TopologyLevel{{NodeLabel: "l/block"}, {NodeLabel: "l/rack"}}
	return made
}

func TestOf(t *testing.T) {
	for said, want := range map[string]string{
		`[{"level":"l/rack","nodes":2,"yieldBelow":100}]`:              "l/rack 2 100",
		`[{"level":"l/rack","nodes":1},{"level":"l/block","nodes":3}]`: "l/block 3 0, l/rack 1 0",
		`[{"level":"l/rack","nodes":0}]`:                               "",
	} {
		wanted, wrong := Of(topology(said))
		var got []string
		for _, w := range wanted {
			got = append(got, fmt.Sprintf("%s %d %d", w.Level(), w.Nodes, w.YieldBelow))
		}
		if wrong != nil || strings.Join(got, ", ") != want {
			t.Errorf("%s: %v, %v, want %s", said, got, wrong, want)
		}
	}
	for _, said := range []string{"two", `[{"level":"l/rack","nodes":1},{"level":"l/row","nodes":1}]`} {
		if wanted, wrong := Of(topology(said)); wanted != nil || wrong == nil {
			t.Errorf("%s: %v, %v", said, wanted, wrong)
		}
	}
	if wanted, wrong := Of(&kai.Topology{}); wanted != nil || wrong != nil {
		t.Errorf("a Topology that says nothing: %v, %v", wanted, wrong)
	}
}

// rackNode is a node of a block and a rack.
func rackNode(block, rack, name string, pods ...*corev1.Pod) fwk.NodeInfo {
	return kubeframework.NodeWith(&corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"l/block": block, "l/rack": rack, corev1.LabelHostname: name},
	}}, pods)
}

func podOf(priority int32) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Spec.Priority = &priority
	return pod
}

func ofDaemonSet() *corev1.Pod {
	pod := podOf(0)
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", UID: "d", Controller: ptr.To(true)}}
	return pod
}

func names(nodes []Node) (all []string) {
	for _, node := range nodes {
		all = append(all, node.name())
	}
	return all
}

func TestWhichNodesAreFreeForRepair(t *testing.T) {
	cordoned, notReady := rackNode("b", "r", "cordoned"), rackNode("b", "r", "not-ready")
	cordoned.Node().Spec.Unschedulable = true
	notReady.Node().Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	unlabelled := rackNode("b", "r", "unlabelled")
	delete(unlabelled.Node().Labels, "l/rack")
	wanted, _ := Of(topology(`[{"level":"l/rack","nodes":2,"yieldBelow":5}]`))
	all := All(wanted, Cluster{
		Nodes: []fwk.NodeInfo{
			rackNode("b", "r", "empty"), rackNode("b", "r", "with-daemons", ofDaemonSet(), ofDaemonSet()),
			rackNode("b", "r", "yielding", ofDaemonSet(), podOf(4)), rackNode("b", "r", "used", podOf(4), podOf(5)),
			rackNode("b", "r", "promised"), cordoned, notReady, unlabelled,
		},
		Taken: func(node string) bool { return node == "promised" },
	})
	if len(all) != 1 || all[0].Size != 7 || !slices.Equal(names(all[0].There), []string{"yielding", "empty", "with-daemons"}) {
		t.Fatalf("%d domains, the first of %d nodes with %v", len(all), all[0].Size, names(all[0].There))
	}
	if got := all.Closed(); !slices.Equal(got, []string{"empty", "yielding"}) {
		t.Errorf("closed are %v", got)
	}
	if note := all.Note(nil); note != "kept as spares: 2 of 7 nodes in l/rack b/r" {
		t.Error(note)
	}
	if levels := all.Levels(); len(levels) != 1 || levels[0] != (Level{Topology: "t", Level: "l/rack", Wanted: 2, There: 2, Domains: 1}) {
		t.Errorf("%+v", levels)
	}
}

// Of a block those racks keep spares that have the fewest empty nodes, and what racks keep counts for their block.
func TestABlockKeepsWhatGangsCouldUseLeast(t *testing.T) {
	cluster := Cluster{Nodes: []fwk.NodeInfo{
		rackNode("b", "r1", "a1"), rackNode("b", "r1", "a2"), rackNode("b", "r1", "a3"), rackNode("b", "r2", "b1"), rackNode("b", "r2", "b2"),
	}}
	for said, want := range map[string][]string{
		`[{"level":"l/block","nodes":3}]`:                              {"a1", "b1", "b2"},
		`[{"level":"l/block","nodes":3},{"level":"l/rack","nodes":1}]`: {"a1", "b1", "b2"},
		`[{"level":"l/block","nodes":2},{"level":"l/rack","nodes":1}]`: {"a1", "b1"},
		`[{"level":"l/block","nodes":9},{"level":"l/rack","nodes":1}]`: {"a1", "a2", "a3", "b1", "b2"},
		`[{"level":"l/block","nodes":1},{"level":"l/rack","nodes":2}]`: {"a1", "a2", "b1", "b2"},
	} {
		wanted, wrong := Of(topology(said))
		if wrong != nil {
			t.Fatal(wrong)
		}
		if got := All(wanted, cluster).Closed(); !slices.Equal(got, want) {
			t.Errorf("%s: closed are %v, want %v", said, got, want)
		}
	}
}

func TestProved(t *testing.T) {
	selecting := podOf(0)
	selecting.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "a1"}
	large := rackNode("b", "r1", "large")
	large.Node().Labels["size"] = "large"
	for name, c := range map[string]struct {
		said  string
		nodes []fwk.NodeInfo
		pod   *corev1.Pod
		want  []string
		all   bool
	}{
		"of alike nodes some": {`[{"level":"l/rack","nodes":1}]`,
			[]fwk.NodeInfo{rackNode("b", "r1", "a1"), rackNode("b", "r1", "a2")}, podOf(0), []string{"a1"}, true},
		"not if a pod can tell them apart": {`[{"level":"l/rack","nodes":1}]`,
			[]fwk.NodeInfo{rackNode("b", "r1", "a1"), rackNode("b", "r1", "a2")}, selecting, nil, false},
		"not of nodes that differ": {`[{"level":"l/rack","nodes":1}]`,
			[]fwk.NodeInfo{rackNode("b", "r1", "a1"), large}, podOf(0), nil, false},
		"not of several racks": {`[{"level":"l/block","nodes":1}]`,
			[]fwk.NodeInfo{rackNode("b", "r1", "a1"), rackNode("b", "r2", "b1"), rackNode("b", "r2", "b2")}, podOf(0), nil, false},
		"whatever they are like if there are no more": {`[{"level":"l/rack","nodes":2}]`,
			[]fwk.NodeInfo{rackNode("b", "r1", "a1"), large}, selecting, []string{"a1", "large"}, true},
	} {
		wanted, _ := Of(topology(c.said))
		got, all := All(wanted, Cluster{Nodes: c.nodes}).Proved(Reads([]*corev1.Pod{c.pod}))
		if !slices.Equal(got, c.want) || all != c.all {
			t.Errorf("%s: %v %t, want %v %t", name, got, all, c.want, c.all)
		}
	}
}

// Of two nodes one is kept, and which of them does not matter if nobody tells them apart.
func TestWhichNodesAreAlike(t *testing.T) {
	agent := func(of string, milliCPU int64) *corev1.Pod {
		pod := ofDaemonSet()
		pod.OwnerReferences[0].UID = types.UID(of)
		pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: *resource.NewMilliQuantity(milliCPU, resource.DecimalSI),
		}}}}
		return pod
	}
	taint := func(value string, effect corev1.TaintEffect) func(*corev1.Node) {
		return func(node *corev1.Node) {
			node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "team", Value: value, Effect: effect})
		}
	}
	gpus := func(number int64) func(*corev1.Node) {
		return func(node *corev1.Node) {
			node.Status.Allocatable = corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(number, resource.DecimalSI)}
		}
	}
	label := func(key, value string) func(*corev1.Node) {
		return func(node *corev1.Node) { node.Labels[key] = value }
	}
	type offer struct {
		changed []func(*corev1.Node)
		agents  []*corev1.Pod
	}
	of := func(changed ...func(*corev1.Node)) offer { return offer{changed: changed} }
	running := func(agents ...*corev1.Pod) offer { return offer{agents: agents} }
	for name, c := range map[string]struct {
		one, other offer
		want       bool
	}{
		"nothing but names":                 {of(), of(), true},
		"as many GPUs":                      {of(gpus(8)), of(gpus(8)), true},
		"fewer GPUs":                        {of(gpus(8)), of(gpus(4)), false},
		"GPUs and none":                     {of(), of(gpus(4)), false},
		"the same taint":                    {of(taint("a", "NoSchedule")), of(taint("a", "NoSchedule")), true},
		"a taint and none":                  {of(), of(taint("a", "NoSchedule")), false},
		"a taint of another value":          {of(taint("a", "NoSchedule")), of(taint("b", "NoSchedule")), false},
		"a taint of another effect":         {of(taint("a", "NoSchedule")), of(taint("a", "NoExecute")), false},
		"a taint more":                      {of(taint("a", "NoSchedule")), of(taint("a", "NoSchedule"), taint("b", "NoSchedule")), false},
		"a label of the same value":         {of(label("disk", "ssd")), of(label("disk", "ssd")), true},
		"a label of two values":             {of(label("disk", "ssd")), of(label("disk", "nvme")), true}, // Each has its own.
		"a label that one has not":          {of(label("disk", "ssd")), of(), false},
		"as many labels of other keys":      {of(label("disk", "ssd")), of(label("size", "xl")), false},
		"the same DaemonSet":                {running(agent("d", 100)), running(agent("d", 100)), true},
		"another DaemonSet of the same use": {running(agent("d", 100)), running(agent("e", 100)), false},
		"another use by the same DaemonSet": {running(agent("d", 100)), running(agent("d", 200)), false},
		"a DaemonSet and none":              {running(agent("d", 0)), running(), false},
	} {
		var nodes []fwk.NodeInfo
		for i, offered := range []offer{c.one, c.other} {
			node := rackNode("b", "r1", fmt.Sprint("n", i), offered.agents...)
			for _, change := range offered.changed {
				change(node.Node())
			}
			nodes = append(nodes, kubeframework.NodeWith(node.Node(), offered.agents))
		}
		wanted, _ := Of(topology(`[{"level":"l/rack","nodes":1}]`))
		if _, alike := All(wanted, Cluster{Nodes: nodes}).Proved(Reads([]*corev1.Pod{podOf(0)})); alike != c.want {
			t.Errorf("%s: alike is %t", name, alike)
		}
	}
}

func TestLeaveAndBeside(t *testing.T) {
	wanted, _ := Of(topology(`[{"level":"l/rack","nodes":1}]`))
	all := All(wanted, Cluster{Nodes: []fwk.NodeInfo{rackNode("b", "r1", "a1"), rackNode("b", "r1", "a2"), rackNode("b", "r2", "b1")}})
	for name, c := range map[string]struct {
		used   sets.Set[string]
		leaves bool
		closed []string
	}{
		"nothing is used":       {sets.New[string](), true, []string{"a1", "b1"}},
		"one of two":            {sets.New("a1"), true, []string{"a2", "b1"}},
		"the last of its rack":  {sets.New("b1"), false, []string{"a1", "b1"}},
		"both":                  {sets.New("a1", "a2"), false, []string{"a1", "b1"}},
		"one that is none here": {sets.New("x"), true, []string{"a1", "b1"}},
	} {
		if got := all.Leave(c.used); got != c.leaves {
			t.Errorf("%s: enough are left: %t", name, got)
		}
		if got := all.Beside(c.used).Closed(); !slices.Equal(got, c.closed) {
			t.Errorf("%s: closed are %v, want %v", name, got, c.closed)
		}
	}
	if got := all.Note(packing.Path{"b", "r2"}); got != "kept as spares: 1 of 1 nodes in l/rack b/r2, and nodes in 1 more" {
		t.Error(got)
	}
	if got := all.Needed(); len(got) != 1 || got["b1"] == "" {
		t.Errorf("needed are %v", got)
	}
}
