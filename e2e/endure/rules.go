package endure

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/live"
	"packtree.dev/e2e/placement"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Rule is something that has to hold.
type Rule struct {
	Name string
	// Always is set if it holds at each moment; otherwise it does at rest, once everything is repaired.
	Always bool
	// Broken says what is wrong, by the object. The rule does not change the world.
	Broken func(*World) map[string]string
}

// Rules are all that a world alone can break.
var Rules = []Rule{
	{"a gang is half bound", false, halfBound},
	{"a pod is outside of its domain", true, outside},
	{"a node is over-committed", true, overcommitted},
	{"a pod waits without a sentence", false, silent},
	{"an object outlives its owner", false, orphaned},
	{"room is reserved in vain", false, keptInVain},
	{"the pods differ from the spec", false, different},
	{"a status is not true", false, untrue},
}

// halfBound are gangs with some of their pods. One that was whole, and has no time after which it is stopped, goes on
// below its minimum, and says so.
func halfBound(w *World) map[string]string {
	broken := map[string]string{}
	for _, g := range w.gangs() {
		goesOn := g.group.Spec.StalenessGracePeriod == nil && g.says().Reason == scheduling.ReasonBelowMinimum
		if total(g.bound) > 0 && !g.whole() && !goesOn {
			broken["PodGroup "+name(g.group)] = g.String()
		}
	}
	return broken
}

// late is by how much a scheduler that was stopped may act on an old label of a node.
const late = time.Minute

// outside judges pods by the labels that their nodes had when they were bound. A pod is left out if its node does not
// exist, or changed its labels since then, or shortly before: what the scheduler knows of such a pod is no place. The
// rule knows what PodGroups ask for, and at rest what users do.
func outside(w *World) map[string]string {
	exists, broken := map[string]bool{}, map[string]string{}
	for i := range w.Nodes {
		exists[w.Nodes[i].Name] = true
	}
	pods := slices.DeleteFunc(slices.Clone(w.Pods), func(pod corev1.Pod) bool {
		moved, has := w.Moved[pod.Spec.NodeName]
		return !exists[pod.Spec.NodeName] || !counts(&pod) || has && moved.Add(late).After(w.Bound[pod.UID])
	})
	judge := func(object *unstructured.Unstructured) {
		workload, _, err := placement.Read(object, w.Topologies)
		if err != nil {
			return // The Topology does not exist at the moment.
		}
		for _, finding := range workload.Judge(pods, w.Nodes) {
			if !finding.Preferred && (len(finding.Domains) > 1 || len(finding.Outside) > 0) {
				broken[object.GetKind()+" "+name(object)] = finding.String()
			}
		}
	}
	for i := range w.Groups {
		if content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&w.Groups[i]); err == nil {
			group := &unstructured.Unstructured{Object: content}
			group.SetGroupVersionKind(scheduling.SchemeGroupVersion.WithKind("PodGroup"))
			judge(group)
		}
	}
	for i := range w.Objects {
		judge(&w.Objects[i])
	}
	return broken
}

func overcommitted(w *World) map[string]string {
	broken, used := map[string]string{}, map[string]int64{}
	for i := range w.Pods {
		if pod := &w.Pods[i]; counts(pod) {
			for _, container := range pod.Spec.Containers {
				used[pod.Spec.NodeName] += container.Resources.Limits.Name(live.GPU, "").Value()
			}
		}
	}
	for i := range w.Nodes {
		node := &w.Nodes[i]
		if has := node.Status.Allocatable.Name(live.GPU, "").Value(); used[node.Name] > has {
			broken["Node "+node.Name] = fmt.Sprintf("pods with %d GPUs on the %d of it", used[node.Name], has)
		}
	}
	return broken
}

// silent are pods that wait without a sentence in their own condition. If their gang lacks pods, none of them is tried,
// and they say what it says.
func silent(w *World) map[string]string {
	broken, sentence := map[string]string{}, map[types.UID]string{}
	for _, g := range w.gangs() {
		for i := range g.pods {
			if g.says().Reason == scheduling.ReasonIncomplete && len(g.pods[i].Spec.SchedulingGates) == 0 {
				sentence[g.pods[i].UID] = g.says().Message
			}
		}
	}
	for i := range w.Pods {
		pod := &w.Pods[i]
		said := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Message != "" &&
				(sentence[pod.UID] == "" || sentence[pod.UID] == c.Message)
		})
		if pod.Spec.NodeName == "" && counts(pod) && !said {
			broken["Pod "+name(pod)] = fmt.Sprintf("it waits with the conditions %v", pod.Status.Conditions)
		}
	}
	return broken
}

func orphaned(w *World) map[string]string {
	broken, exists := map[string]string{}, map[types.UID]bool{}
	w.each(func(_ string, object client.Object) { exists[object.GetUID()] = true })
	w.each(func(kind string, object client.Object) {
		for _, owner := range object.GetOwnerReferences() {
			if len(w.Objects) > 0 && !exists[owner.UID] && (kind != "Pod" || object.GetDeletionTimestamp() == nil) {
				broken[kind+" "+name(object)] = fmt.Sprintf("%s %s is gone", owner.Kind, owner.Name)
			}
		}
	})
	return broken
}

// keptFor matches, in the message of a gang, the gang for which room is reserved.
var keptFor = regexp.MustCompile(`is reserved for gang ([^/ ]+/[^ ,]+),`)

// keptInVain has gangs that wait for the sake of another one which does not wait itself, or for two at once.
func keptInVain(w *World) map[string]string {
	broken, waiting := map[string]string{}, map[string]bool{}
	for _, g := range w.gangs() {
		waiting[name(g.group)] = !g.whole()
	}
	for _, g := range w.gangs() {
		if kept := keptFor.FindStringSubmatch(g.says().Message); kept != nil && !g.whole() && !waiting[kept[1]] {
			broken["PodGroup "+name(g.group)] = g.String()
		}
	}
	return broken
}

// different compares the pods of each user's object with its spec: their number and their images.
func different(w *World) map[string]string {
	broken := map[string]string{}
	for i := range w.Objects {
		object := &w.Objects[i]
		owns, wanted, is := w.pods(object)
		if !is {
			continue
		}
		images, have := map[string]bool{}, 0
		imagesIn(object.Object["spec"], images)
		for j := range w.Pods {
			pod := &w.Pods[j]
			if !counts(pod) || !owns(pod) {
				continue
			}
			have++
			if image := pod.Spec.Containers[0].Image; !images[image] {
				broken[object.GetKind()+" "+name(object)] = fmt.Sprintf("pod %s has %s, and the spec %v", pod.Name,
					image, slices.Sorted(maps.Keys(images)))
			}
		}
		if have != wanted {
			broken[object.GetKind()+" "+name(object)] = fmt.Sprintf("it has %d pods of %d", have, wanted)
		}
	}
	return broken
}

// pods are those of a user's object, and how many it asks for; false for objects of other kinds.
func (w *World) pods(object *unstructured.Unstructured) (owns func(*corev1.Pod) bool, wanted int, is bool) {
	if len(object.GetOwnerReferences()) > 0 {
		return nil, 0, false
	}
	if object.GetKind() == "ReplicaSet" {
		replicas, _, _ := unstructured.NestedInt64(object.Object, "spec", "replicas")
		return func(pod *corev1.Pod) bool {
			return len(pod.OwnerReferences) > 0 && pod.OwnerReferences[0].UID == object.GetUID()
		}, int(replicas), true
	}
	workload, is, err := placement.Read(object, w.Topologies)
	return workload.Owns, workload.Pods, is && err == nil
}

func imagesIn(value any, images map[string]bool) {
	switch value := value.(type) {
	case map[string]any:
		if image, is := value["image"].(string); is {
			images[image] = true
		}
		for _, below := range value {
			imagesIn(below, images)
		}
	case []any:
		for _, below := range value {
			imagesIn(below, images)
		}
	}
}

// untrue compares what statuses say with the pods: gangs are placed, below their minimum, infeasible, or lack pods. An
// object of a user is Ready if all its pods run, and not if none has a node.
func untrue(w *World) map[string]string {
	broken := map[string]string{}
	for _, g := range w.gangs() {
		said, wanted := g.says(), scheduling.ReasonInfeasible
		switch {
		case g.whole():
			wanted = scheduling.ReasonPlaced
		case total(g.bound) > 0:
			wanted = scheduling.ReasonBelowMinimum
		case !g.reached(g.present):
			wanted = scheduling.ReasonIncomplete
		}
		if said.Reason != wanted || said.ObservedGeneration != g.group.Generation {
			broken["PodGroup "+name(g.group)] = g.String()
		}
	}
	for i := range w.Objects {
		if lie := w.lie(&w.Objects[i]); lie != "" {
			broken[w.Objects[i].GetKind()+" "+name(&w.Objects[i])] = lie
		}
	}
	return broken
}

// lie says what is wrong with the condition Ready of a user's object; empty if nothing is.
func (w *World) lie(object *unstructured.Unstructured) string {
	owns, wanted, is := w.pods(object)
	ready, err := live.ConditionOf(object, "Ready")
	switch ours := object.GetKind() == "DynamoGraphDeployment" || object.GetKind() == "PodCliqueSet"; {
	case is && ready == nil && ours:
		return fmt.Sprintf("it does not say whether it is ready: %v", err)
	case !is || ready == nil:
		return ""
	}
	bound, runs := w.running(owns)
	is = ready.Status == metav1.ConditionTrue
	if ready.ObservedGeneration == object.GetGeneration() && (runs != wanted || is) && (bound > 0 || !is) {
		return ""
	}
	return fmt.Sprintf("it says Ready=%s of generation %d, which is %d; of %d pods %d are bound, and %d run", ready.Status,
		ready.ObservedGeneration, object.GetGeneration(), wanted, bound, runs)
}

// running counts pods that have a node, and those of them that run.
func (w *World) running(owns func(pod *corev1.Pod) bool) (bound, runs int) {
	for i := range w.Pods {
		if pod := &w.Pods[i]; counts(pod) && owns(pod) && pod.Spec.NodeName != "" {
			bound++
			if pod.Status.Phase == corev1.PodRunning {
				runs++
			}
		}
	}
	return bound, runs
}

// Unrest compares two worlds at rest: an object that was written meanwhile, though nothing happened.
func Unrest(before, after *World) map[string]string {
	versions, changed := map[types.UID]string{}, map[string]string{}
	before.each(func(_ string, object client.Object) { versions[object.GetUID()] = object.GetResourceVersion() })
	after.each(func(kind string, object client.Object) {
		if was := versions[object.GetUID()]; was != object.GetResourceVersion() {
			changed[kind+" "+name(object)] = "it was written at rest, after version " + was
		}
	})
	return changed
}

const (
	goroutines = "go_goroutines"
	heap       = "go_memstats_heap_inuse_bytes"
)

// Growth compares figures of a program with nothing to do, before and after a campaign: what a rule finds has not been
// let go.
func Growth(program string, before, after map[string]float64) map[string]string {
	grown := map[string]string{}
	for figure, bound := range map[string]float64{
		goroutines: 1.5*before[goroutines] + 50, heap: 2*before[heap] + 64<<20,
		"packtree_grove_podcliquesets": 0, "packtree_grove_podgangs": 0, "packtree_podgrouper_podgroups": 0,
		"packtree_dynamo_deployments": 0, "packtree_scheduler_gangs_waiting": 0, "packtree_scheduler_seats_held": 0,
	} {
		if after[figure] > bound {
			grown[program+" "+figure] = fmt.Sprintf("%.0f before, and %.0f when all is gone", before[figure], after[figure])
		}
	}
	return grown
}
