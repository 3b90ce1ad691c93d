package endure_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/e2e/endure"
	"packtree.dev/e2e/live"
	"packtree.dev/e2e/placement"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// good is a world with a gang of two pods in one rack, made by a Job that is as its spec says.
func good() *endure.World {
	w := &endure.World{
		Topologies: placement.Topologies{"racks": {Keys: []string{"rack"}}},
		Bound:      map[types.UID]time.Time{}, Moved: map[string]time.Time{},
		Groups: []scheduling.PodGroup{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "endure-a", Name: "gang", UID: "gang", Generation: 2, ResourceVersion: "1"},
			Spec: scheduling.PodGroupSpec{MinMember: new(int32(2)), TopologyConstraint: &scheduling.TopologyConstraint{
				Topology: "racks", RequiredTopologyLevel: "rack"}},
			Status: scheduling.PodGroupStatus{Conditions: []metav1.Condition{{Type: scheduling.ConditionScheduled,
				Status: metav1.ConditionTrue, Reason: scheduling.ReasonPlaced, ObservedGeneration: 2}}},
		}},
		Objects: []unstructured.Unstructured{{Object: map[string]any{
			"apiVersion": "batch/v1", "kind": "Job",
			"metadata": map[string]any{"namespace": "endure-a", "name": "job", "uid": "job", "generation": int64(3)},
			"spec": map[string]any{"parallelism": int64(2), "template": map[string]any{"spec": map[string]any{
				"containers": []any{map[string]any{"image": "image:1"}}}}},
			"status": map[string]any{"conditions": []any{
				map[string]any{"type": "Ready", "status": "True", "observedGeneration": int64(3)}}},
		}}},
	}
	for name, rack := range map[string]string{"node-0": "left", "node-1": "left", "node-2": "right"} {
		node := live.FakeNode(name, map[string]string{"rack": rack}, 8)
		node.UID = types.UID(name)
		w.Nodes, w.Moved[node.Name] = append(w.Nodes, *node), start
	}
	for _, name := range []string{"job-0", "job-1"} {
		w.Pods = append(w.Pods, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "endure-a", Name: name, UID: types.UID(name), ResourceVersion: "1",
				Labels:          map[string]string{"batch.kubernetes.io/job-name": "job"},
				Annotations:     map[string]string{scheduling.AnnotationPodGroupName: "gang"},
				OwnerReferences: []metav1.OwnerReference{{Kind: "Job", Name: "job", UID: "job"}}},
			Spec: corev1.PodSpec{NodeName: strings.Replace(name, "job", "node", 1), Containers: []corev1.Container{{
				Image: "image:1", Resources: corev1.ResourceRequirements{
					Limits: corev1.ResourceList{live.GPU: resource.MustParse("2")}}}}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning},
		})
		w.Bound[types.UID(name)] = start.Add(time.Hour)
	}
	return w
}

func says(w *endure.World, reason, message string) {
	condition := &w.Groups[0].Status.Conditions[0]
	condition.Reason, condition.Message = reason, message
}

func unbound(w *endure.World, pods ...int) {
	for _, i := range pods {
		w.Pods[i].Spec.NodeName, w.Pods[i].Status.Phase = "", corev1.PodPending
		w.Pods[i].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Message: "no room"}}
	}
}

// Each rule is broken by one change of a good world, and allows another one.
func TestEachRuleFails(t *testing.T) {
	const (
		half, domain, full, silent = "a gang is half bound", "a pod is outside of its domain", "a node is over-committed",
			"a pod waits without a sentence"
		orphan, vain, spec, status = "an object outlives its owner", "room is reserved in vain",
			"the pods differ from the spec", "a status is not true"
	)
	broken := map[string]bool{}
	for name, test := range map[string]struct {
		change func(*endure.World)
		breaks []string
	}{
		"a good world":               {func(*endure.World) {}, nil},
		"one of two pods has a node": {func(w *endure.World) { unbound(w, 1) }, []string{half, status}},
		"none has a node, and it says why": {func(w *endure.World) {
			unbound(w, 0, 1)
			says(w, scheduling.ReasonInfeasible, "no room")
			w.Objects[0].Object["status"] = nil
		}, nil},
		"one of two pods is lost, and the gang goes on": {func(w *endure.World) {
			unbound(w, 1)
			says(w, scheduling.ReasonBelowMinimum, "no room")
		}, nil},
		"the pods are in two racks": {func(w *endure.World) { w.Pods[1].Spec.NodeName = "node-2" }, []string{domain}},
		"the label of a node changed": {func(w *endure.World) {
			w.Pods[1].Spec.NodeName = "node-2"
			w.Moved["node-2"] = start.Add(2 * time.Hour)
		}, nil},
		"a node has too many GPUs in use": {func(w *endure.World) {
			w.Pods[0].Spec.Containers[0].Resources.Limits[live.GPU] = resource.MustParse("9")
		}, []string{full}},
		"a pod waits and says nothing": {func(w *endure.World) {
			unbound(w, 0, 1)
			says(w, scheduling.ReasonInfeasible, "no room")
			w.Pods[0].Status.Conditions, w.Objects[0].Object["status"] = nil, nil
		}, []string{silent}},
		"a pod says what was so before one was lost": {func(w *endure.World) {
			unbound(w, 0)
			says(w, scheduling.ReasonIncomplete, "waiting for pods to be created")
			w.Pods, w.Objects = w.Pods[:1], nil
		}, []string{silent}},
		"the Job is gone": {func(w *endure.World) { w.Objects[0].SetUID("another") }, []string{orphan}},
		"room is kept for a gang that has all": {func(w *endure.World) {
			unbound(w, 0, 1)
			says(w, scheduling.ReasonInfeasible, "the rest is reserved for gang endure-a/other, which waits longer")
			w.Objects[0].Object["status"] = nil
		}, []string{vain}},
		"a scale is lost": {func(w *endure.World) {
			w.Objects[0].Object["spec"].(map[string]any)["parallelism"] = int64(1)
		}, []string{spec}},
		"an update is lost":       {func(w *endure.World) { w.Pods[1].Spec.Containers[0].Image = "image:0" }, []string{spec}},
		"a condition is outdated": {func(w *endure.World) { w.Groups[0].Generation = 3 }, []string{status}},
		"a workload is Ready without pods that run": {func(w *endure.World) {
			unbound(w, 0, 1)
			says(w, scheduling.ReasonInfeasible, "no room")
		}, []string{status}},
	} {
		t.Run(name, func(t *testing.T) {
			w := good()
			test.change(w)
			var found []string
			for _, rule := range endure.Rules {
				if len(rule.Broken(w)) > 0 {
					found = append(found, rule.Name)
					broken[rule.Name] = true
				}
			}
			slices.Sort(found)
			slices.Sort(test.breaks)
			if !reflect.DeepEqual(found, test.breaks) {
				t.Errorf("it breaks %q, not %q: %v", found, test.breaks, endure.Wrong(w))
			}
		})
	}
	for _, rule := range endure.Rules {
		if !broken[rule.Name] {
			t.Errorf("no case breaks the rule %q", rule.Name)
		}
	}
}

func TestAWriteAtRestAndGrowthAreFound(t *testing.T) {
	before, after := good(), good()
	if changed := endure.Unrest(before, after); len(changed) > 0 {
		t.Errorf("nothing was written, and it finds %v", changed)
	}
	after.Pods[0].ResourceVersion = "2"
	changed := slices.Collect(maps.Keys(endure.Unrest(before, after)))
	if !slices.Equal(changed, []string{"Pod endure-a/job-0"}) {
		t.Errorf("it finds %v", changed)
	}
	idle := map[string]float64{"go_goroutines": 100}
	for figure, value := range map[string]float64{"go_goroutines": 300, "packtree_grove_podgangs": 1} {
		if len(endure.Growth("program", idle, map[string]float64{figure: value})) != 1 {
			t.Errorf("%s of %.0f is not found", figure, value)
		}
	}
	if grown := endure.Growth("program", idle, idle); len(grown) > 0 {
		t.Errorf("it finds %v", grown)
	}
}

func TestAGangThatWaitsForNothingIsFound(t *testing.T) {
	const finds = `{"podGroups": [{"namespace": "endure-a", "name": "gang", "verdict": "Placed",
		"assignments": {"job-0": "node-0", "job-1": "node-1"}}]}`
	waits := good()
	unbound(waits, 0, 1)
	for _, test := range []struct {
		world *endure.World
		said  string
		found int
	}{
		{good(), finds, 0}, {waits, finds, 1},
		{good(), strings.Replace(finds, "Placed", "Infeasible", 1), 1},
		{waits, `{"podGroups": [{"namespace": "endure-a", "name": "gang", "verdict": "Infeasible"}]}`, 0},
	} {
		if found, err := endure.Overlooked([]byte(test.said), test.world); err != nil || len(found) != test.found {
			t.Errorf("%s: it finds %v, error %v", test.said, found, err)
		}
	}
}

func TestTheJudgeSeesWhatIsNeverAllowedAtOnceAndTheRestAtRest(t *testing.T) {
	judge, wrong := endure.NewJudge(), good()
	unbound(wrong, 1)
	wrong.Pods[0].Spec.Containers[0].Resources.Limits[live.GPU] = resource.MustParse("9")
	for range 2 {
		judge.See(start, wrong)
	}
	if found := judge.Found(); len(found) != 1 || found[0].Object != "Node node-0" {
		t.Fatalf("it finds %v", found)
	}
	judge.Rest(start, wrong)
	found := judge.Found()
	if len(found) != 3 || !strings.Contains(found[1].String(), "PodGroup endure-a/gang: ") || len(found[1].History) == 0 {
		t.Errorf("it finds %v", found)
	}
}

func TestAScriptIsThatOfItsSeed(t *testing.T) {
	weights := map[string]int{"a": 1, "b": 9}
	script := endure.Script(1, time.Hour, time.Second, weights, 1)
	if !reflect.DeepEqual(script, endure.Script(1, time.Hour, time.Second, weights, 1)) {
		t.Error("the same seed has another script")
	}
	if reflect.DeepEqual(script, endure.Script(2, time.Hour, time.Second, weights, 1)) {
		t.Error("another seed has the same script")
	}
	often := 0
	for _, act := range script {
		if act.Name == "b" {
			often++
		}
	}
	if len(script) < 3000 || often < len(script)*8/10 {
		t.Errorf("%d acts, %d of them of nine tenths of the weight", len(script), often)
	}
}
