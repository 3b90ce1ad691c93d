package replacement_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/replacement"
	"packtree.dev/kai-topology-plugin/internal/testsupport"
	"packtree.dev/kai-topology-plugin/internal/turns"
	"packtree.dev/shared/successors"
)

const topology = `
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: t}
spec: {levels: [{nodeLabel: l/rack}]}
`

// nodes have the name of their rack in theirs: r1-a.
func nodes(gpus int, names ...string) string {
	var all strings.Builder
	for _, name := range names {
		fmt.Fprintf(&all, `---
apiVersion: v1
kind: Node
metadata: {name: %[1]s, labels: {l/rack: %[2]s, kubernetes.io/hostname: %[1]s}}
status: {allocatable: {nvidia.com/gpu: "%[3]d", pods: "9"}}
`, name, strings.Split(name, "-")[0], gpus)
	}
	return all.String()
}

func podGroup(name, spec string, annotations ...string) string {
	return fmt.Sprintf("---\napiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\n"+
		"metadata: {name: %s, namespace: ns, creationTimestamp: \"2026-01-01T00:00:00Z\", annotations: {%s}}\nspec: {%s}\n",
		name, strings.Join(annotations, ", "), spec)
}

const (
	oneRack = `topologyConstraint: {topology: t, requiredTopologyLevel: l/rack}`
	two     = `minMember: 2, ` + oneRack
)

// pods and read are short: many tests are made of them.
var pods, read = testsupport.Pods, testsupport.Inventory

// template is of successors that ask for GPUs; more is YAML of their spec.
func template(t testing.TB, gpus int, more string) corev1.PodTemplateSpec {
	t.Helper()
	pod := &corev1.Pod{}
	if err := yaml.UnmarshalStrict([]byte("spec: {"+more+"}"), pod); err != nil {
		t.Fatal(err)
	}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
		Limits: corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(int64(gpus), resource.DecimalSI)},
	}}}
	return successors.TemplateOf(pod)
}

// ask is about pods of a gang, by their numbers, whose successors ask for GPUs.
func ask(t testing.TB, name, leaf string, gpus int, more string, numbers ...int) successors.Group {
	t.Helper()
	group := successors.Group{PodGroup: name, SubGroup: leaf, Template: template(t, gpus, more)}
	for _, number := range numbers {
		group.Pods = append(group.Pods, fmt.Sprintf("%s%s-%d", name, leaf, number))
	}
	return group
}

func question(t testing.TB, of string, granted bool, groups ...successors.Group) replacement.Asked {
	t.Helper()
	asked, err := successors.New(groups, metav1.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return replacement.Asked{Gang: gang.Key{Namespace: "ns", Name: of}, Question: &asked, Granted: granted}
}

func tableOf(t testing.TB, cluster *inventory.Inventory) *turns.Table {
	t.Helper()
	table, err := turns.Set(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// answers are in words; kept are nodes on which the scheduler keeps room for a pod of 4 GPUs.
func answers(t testing.TB, text string, kept []string, asked ...replacement.Asked) []string {
	t.Helper()
	room := clusterview.Reserved{}
	for _, node := range kept {
		seat := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "seat-" + node, UID: types.UID("seat-" + node)}, Spec: template(t, 4, "").Spec}
		room[node] = append(room[node], seat)
	}
	got, err := replacement.Answers(t.Context(), tableOf(t, read(t, text)), func(gang.Key, int32) clusterview.Reserved { return room }, asked)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for i, answer := range got {
		if answer.ID != asked[i].Question.ID {
			t.Errorf("answer %d is to %s, and the question is %s", i, answer.ID, asked[i].Question.ID)
		}
		words = append(words, fmt.Sprintf("%s %s: %s", answer.Fits, answer.Reason, answer.Sentence))
	}
	return words
}

const fits = "True RoomForAll: each of the new pods would have a node"

// adding is about pods that come beside those that a gang has.
func adding(t testing.TB, name, leaf string, gpus int, more string, added int32) successors.Group {
	t.Helper()
	return successors.Group{PodGroup: name, SubGroup: leaf, Added: added, Template: template(t, gpus, more)}
}

func TestWhetherPodsFitBesideTheOthers(t *testing.T) {
	// A rack of three nodes of 8 GPUs, the pods of the gang on two of them, and a gang without pods beside it.
	const beside = `packtree.dev/base-gang: g, packtree.dev/shared-topology: t, packtree.dev/shared-required-level: l/rack`
	rack := topology + nodes(8, "r1-a", "r1-b", "r1-c") + podGroup("g", two, beside) + podGroup("next", two, beside) +
		pods("g", "", 8, "", "r1-a", "r1-b")
	const more = "\n---\n"
	for name, c := range map[string]struct {
		cluster string
		asked   []successors.Group
		want    string
	}{
		"all have room": {cluster: rack, asked: []successors.Group{adding(t, "next", "", 4, "", 2)}, want: fits},
		"one has":       {cluster: rack, asked: []successors.Group{adding(t, "next", "", 8, "", 2)}, want: "False Infeasible"},
		"there is room in another rack alone": {
			cluster: rack + more + nodes(8, "r2-a", "r2-b"), asked: []successors.Group{adding(t, "next", "", 8, "", 2)},
			want: "False Infeasible",
		},
		"the room of those that leave afterwards is none": {
			cluster: rack,
			asked:   []successors.Group{adding(t, "next", "", 8, "", 2), ask(t, "g", "", 8, "", 0, 1)}, want: "False Infeasible",
		},
		"those that leave afterwards are followed": {
			cluster: rack,
			asked:   []successors.Group{adding(t, "next", "", 4, "", 2), ask(t, "g", "", 8, "", 0)}, want: fits,
		},
		"whoever follows them has no room beside those that come": {
			cluster: strings.Replace(rack, "status: {", "spec: {unschedulable: true}\nstatus: {", 1),
			asked:   []successors.Group{adding(t, "next", "", 4, "", 2), ask(t, "g", "", 8, "", 0)}, want: "False Infeasible",
		},
		"and would have it without these": {
			cluster: strings.Replace(rack, "status: {", "spec: {unschedulable: true}\nstatus: {", 1),
			asked:   []successors.Group{ask(t, "g", "", 8, "", 0)}, want: fits,
		},
		"those that are there already come no more": {
			cluster: rack + pods("next", "", 4, "", "r1-c", ""), asked: []successors.Group{adding(t, "next", "", 9, "", 2)}, want: fits,
		},
		"all but the minimum are to have room too": {
			cluster: strings.Replace(rack, `metadata: {name: next, namespace: ns, creationTimestamp: "2026-01-01T00:00:00Z", annotations: {`,
				`metadata: {name: next, namespace: ns, creationTimestamp: "2026-01-01T00:00:00Z", annotations: {packtree.dev/expected-pods: '{"":3}', `, 1),
			asked: []successors.Group{adding(t, "next", "", 4, "", 3)}, want: "False NoRoomForAll",
		},
		"they are of the priority of those that leave, and lower ones yield": {
			cluster: strings.Replace(rack, "spec: {nodeName: ", "spec: {priority: 5, nodeName: ", 2) +
				podGroup("low", "minMember: 1") + pods("low", "", 8, "priority: 3,", "r1-c"),
			asked: []successors.Group{adding(t, "next", "", 4, "", 2), ask(t, "g", "", 8, "", 0)}, want: fits,
		},
		"higher ones do not": {
			cluster: rack + podGroup("high", "minMember: 1") + pods("high", "", 8, "priority: 3,", "r1-c"),
			asked:   []successors.Group{adding(t, "next", "", 4, "", 2), ask(t, "g", "", 8, "", 0)}, want: "False Infeasible",
		},
		"nobody knows their gang": {
			cluster: rack, asked: []successors.Group{adding(t, "none", "", 4, "", 2)}, want: "Unknown NotAnswered: there is no PodGroup ns/none",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := answers(t, c.cluster, nil, question(t, "next", false, c.asked...))[0]; !strings.HasPrefix(got, c.want) {
				t.Errorf("the answer is %q, want %q", got, c.want)
			}
		})
	}
}

func TestWhetherSuccessorsFit(t *testing.T) {
	// A rack of two nodes of 8 GPUs, one pod of 4 on each.
	small := topology + nodes(8, "r1-a", "r1-b") + podGroup("g", two) + pods("g", "", 4, "", "r1-a", "r1-b")
	wide := small + nodes(8, "r2-a", "r2-b", "r2-c")
	for name, c := range map[string]struct {
		cluster string
		kept    []string
		asked   []successors.Group
		want    string
	}{
		"there is room beside what stands": {cluster: small, asked: []successors.Group{ask(t, "g", "", 4, "", 0)}, want: fits},
		"only the room of the pod itself is left": {
			cluster: small + pods("other", "", 4, "", "r1-a", "r1-b") + podGroup("other", "minMember: 2"),
			asked:   []successors.Group{ask(t, "g", "", 4, "", 0)}, want: fits,
		},
		"the successor is larger and has room where the pod was": {
			cluster: small, asked: []successors.Group{ask(t, "g", "", 8, "", 1)}, want: fits,
		},
		"both leave for larger ones": {cluster: small, asked: []successors.Group{ask(t, "g", "", 8, "", 0, 1)}, want: fits},
		"the successor is larger than any node": {
			cluster: small, asked: []successors.Group{ask(t, "g", "", 9, "", 0)},
			want: "False Infeasible: the gang needs one l/rack, and running pods tie it to r1: 0 of 1 pods fit, " +
				"one asking for 9 nvidia.com/gpu, no node having more than 8",
		},
		"it would have room, in a rack without its gang": {
			cluster: wide + pods("other", "", 4, "", "r1-a", "r1-b") + podGroup("other", "minMember: 2"),
			asked:   []successors.Group{ask(t, "g", "", 8, "", 0)},
			want: "False Infeasible: the gang needs one l/rack, and running pods tie it to r1: 0 of 1 pods fit, " +
				"one asking for 8 nvidia.com/gpu, no node having more than 4",
		},
		"the whole gang leaves, and goes to another rack": {
			cluster: wide + pods("other", "", 4, "", "r1-a", "r1-b") + podGroup("other", "minMember: 2"),
			asked:   []successors.Group{ask(t, "g", "", 8, "", 0, 1)}, want: fits,
		},
		"its node is cordoned, and the other is full": {
			cluster: strings.Replace(small, `status: {`, "spec: {unschedulable: true}\nstatus: {", 1) +
				pods("other", "", 4, "", "r1-b") + podGroup("other", "minMember: 1"),
			asked: []successors.Group{ask(t, "g", "", 4, "", 0)}, want: "False Infeasible",
		},
		"its selector matches nothing": {
			cluster: small, asked: []successors.Group{ask(t, "g", "", 4, "nodeSelector: {gpu: h100}", 0)}, want: "False Infeasible",
		},
		"room is kept for somebody's successor": {
			cluster: small, kept: []string{"r1-a", "r1-b"}, asked: []successors.Group{ask(t, "g", "", 8, "", 0)}, want: "False Infeasible",
		},
		"room is kept, and it needs none of it": {
			cluster: small, kept: []string{"r1-a", "r1-b"}, asked: []successors.Group{ask(t, "g", "", 4, "", 0)}, want: fits,
		},
		"room is kept on a node that is gone": {
			cluster: small, kept: []string{"r9-a"}, asked: []successors.Group{ask(t, "g", "", 8, "", 0)}, want: fits,
		},
		"it has all that it needs without the pod, and no room for another": {
			cluster: topology + nodes(8, "r1-a", "r1-b") + podGroup("g", "minMember: 1, "+oneRack, `packtree.dev/expected-pods: '{"":2}'`) +
				pods("g", "", 4, "", "r1-a", "r1-b") + podGroup("other", "minMember: 2") + pods("other", "", 4, "", "r1-a", "r1-b"),
			asked: []successors.Group{ask(t, "g", "", 8, "", 0)},
			want:  "False NoRoomForAll",
		},
		"a lower gang would leave for it": {
			cluster: small + podGroup("low", "minMember: 2") + pods("low", "", 4, "priority: -1,", "r1-a", "r1-b"),
			asked:   []successors.Group{ask(t, "g", "", 8, "", 0)}, want: fits,
		},
		"which it must not ask for": {
			cluster: small + podGroup("low", "minMember: 2") + pods("low", "", 4, "priority: -1,", "r1-a", "r1-b"),
			asked:   []successors.Group{ask(t, "g", "", 8, "preemptionPolicy: Never", 0)}, want: "False Infeasible",
		},
		"a PodGroup that does not exist": {
			cluster: small, asked: []successors.Group{ask(t, "h", "", 4, "", 0)}, want: "Unknown NotAnswered: there is no PodGroup ns/h",
		},
		"a relation that its successor would break": {
			cluster: topology + nodes(8, "r1-a", "r1-b") +
				podGroup("g", `minMember: 2`, `packtree.dev/relations: '[{"name": "apart", "topology": "t", "level": "l/rack", "maxPerDomain": 1}]'`) +
				pods("g", "", 4, "", "r1-a", "r1-b"),
			asked: []successors.Group{ask(t, "g", "", 4, "", 0)}, want: "False Infeasible",
		},
		"and one that it keeps": {
			cluster: topology + nodes(8, "r1-a", "r2-b") +
				podGroup("g", `minMember: 2`, `packtree.dev/relations: '[{"name": "apart", "topology": "t", "level": "l/rack", "maxPerDomain": 1}]'`) +
				pods("g", "", 4, "", "r1-a", "r2-b"),
			asked: []successors.Group{ask(t, "g", "", 8, "", 0)}, want: fits,
		},
		"two gangs at once, for which there is room": {
			cluster: small + nodes(8, "r2-a") + podGroup("h", "minMember: 1, "+oneRack) + pods("h", "", 4, "", "r2-a"),
			asked:   []successors.Group{ask(t, "g", "", 8, "", 0), ask(t, "h", "", 8, "", 0)}, want: fits,
		},
		"two gangs at once, each of which would fit alone": {
			cluster: topology + nodes(8, "r1-a") + podGroup("g", "minMember: 1, "+oneRack) + podGroup("h", "minMember: 1, "+oneRack) +
				pods("g", "", 2, "", "r1-a") + pods("h", "", 2, "", "r1-a"),
			asked: []successors.Group{ask(t, "g", "", 5, "", 0), ask(t, "h", "", 5, "", 0)}, want: "False Infeasible",
		},
		"it was replaced already": {
			cluster: topology + nodes(8, "r1-a", "r1-b") + podGroup("g", two) + pods("g", "", 4, "", "r1-a", "r1-b"),
			asked:   []successors.Group{ask(t, "g", "", 9, "", 7)}, want: fits,
		},
		"it has left, and its successor, which waits in vain, is somebody else's business": {
			cluster: topology + nodes(8, "r1-a", "r1-b") + podGroup("g", two) + pods("g", "", 4, "", "r1-a") +
				strings.ReplaceAll(pods("g", "", 9, "", ""), "g-0", "g-1"),
			asked: []successors.Group{ask(t, "g", "", 9, "", 7)}, want: fits,
		},
		"it has left, and nobody has made its successor": {
			cluster: topology + nodes(8, "r1-a", "r1-b") + podGroup("g", two) + pods("g", "", 4, "", "r1-a"),
			asked:   []successors.Group{ask(t, "g", "", 9, "", 7)}, want: "False Infeasible",
		},
		"a leaf, of which another one has no room to spare": {
			cluster: topology + nodes(8, "r1-a", "r1-b") +
				podGroup("g", oneRack+", subGroups: [{name: a, minMember: 1}, {name: b, minMember: 1}]") +
				pods("g", "a", 4, "", "r1-a") + pods("g", "b", 8, "", "r1-b"),
			asked: []successors.Group{ask(t, "g", "a", 8, "", 0)}, want: fits,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := answers(t, c.cluster, c.kept, question(t, "g", false, c.asked...))
			if len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestNoTwoAreToldOfTheSameRoom(t *testing.T) {
	// Two gangs of one pod on a node that has room for one larger pod, not for two.
	cluster := topology + nodes(8, "r1-a") + podGroup("g", "minMember: 1") + podGroup("h", "minMember: 1") +
		pods("g", "", 2, "", "r1-a") + pods("h", "", 2, "", "r1-a")
	g := func(granted bool) replacement.Asked { return question(t, "g", granted, ask(t, "g", "", 6, "", 0)) }
	h := func(granted bool) replacement.Asked { return question(t, "h", granted, ask(t, "h", "", 6, "", 0)) }
	refused := func(asks, free int) string {
		return fmt.Sprintf("False Infeasible: the gang: 0 of 1 pods fit into the cluster, one asking for %d nvidia.com/gpu, no node having more than %d", asks, free)
	}
	for name, c := range map[string]struct {
		asked []replacement.Asked
		want  []string
	}{
		"the first in rank":        {[]replacement.Asked{h(false), g(false)}, []string{refused(6, 2), fits}},
		"one that was told before": {[]replacement.Asked{g(false), h(true)}, []string{refused(6, 2), fits}},
		"one alone":                {[]replacement.Asked{h(false)}, []string{fits}},
		"what was refused leaves its room": {
			[]replacement.Asked{question(t, "g", false, ask(t, "g", "", 7, "", 0)), h(false)}, []string{refused(7, 6), fits},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, answers(t, cluster, nil, c.asked...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestQuestionsLeaveTheClusterAsItIs(t *testing.T) {
	text := topology + nodes(8, "r1-a", "r1-b") + podGroup("g", two) + pods("g", "", 4, "", "r1-a", "r1-b")
	cluster, before := read(t, text), read(t, text)
	none := func(gang.Key, int32) clusterview.Reserved { return nil }
	for range 2 {
		got, err := replacement.Answers(t.Context(), tableOf(t, cluster), none, []replacement.Asked{question(t, "g", false, ask(t, "g", "", 8, "", 0, 1))})
		if err != nil || got[0].Fits != metav1.ConditionTrue {
			t.Fatal(got, err)
		}
	}
	if diff := cmp.Diff(before.Pods, cluster.Pods); diff != "" {
		t.Errorf("the pods are not as before:\n%s", diff)
	}
}
