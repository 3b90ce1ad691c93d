// Package explanation says of a pod or a gang why it waits, or where it went: from the workload that a user wrote, over
// the objects that were made of it, down to the pods, with the gang decided again.
package explanation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/brief"
)

// Kinds that can be explained.
const (
	KindDGD          = "DynamoGraphDeployment"
	KindPodCliqueSet = "PodCliqueSet"
	KindPodGang      = "PodGang"
	KindPodGroup     = "PodGroup"
	KindPod          = "Pod"
)

// Object is one of the objects on the way from a workload to its pods.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Conditions are those of its status.
	Conditions []Condition `json:"conditions,omitempty"`
	// Objects were made of it.
	Objects []*Object `json:"objects,omitempty"`

	parent *Object
	// unknown objects are only known from owner references.
	unknown  bool
	podGroup *scheduling.PodGroup
	pod      *corev1.Pod
}

// Condition is what people read of a condition.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// forest has the objects of one namespace.
type forest struct {
	objects map[string]*Object
	order   []*Object
}

func id(kind, name string) string { return kind + "/" + name }

// grow links the objects of a namespace by their owner references, and gangs by their names.
func grow(cluster *inventory.Inventory, namespace string) *forest {
	f := &forest{objects: map[string]*Object{}}
	owners := map[*Object][]metav1.OwnerReference{}
	for _, workload := range cluster.Workloads {
		if workload.GetNamespace() == namespace ||
			workload.GetNamespace() == "" && namespace == metav1.NamespaceDefault {
			object := f.add(workload.GetKind(), namespace, workload.GetName())
			object.Conditions = conditionsIn(workload)
			owners[object] = workload.GetOwnerReferences()
		}
	}
	for _, podGroup := range cluster.PodGroups {
		if podGroup.Namespace == namespace {
			object := f.add(KindPodGroup, namespace, podGroup.Name)
			object.podGroup = podGroup
			for i := range podGroup.Status.Conditions {
				object.Conditions = append(object.Conditions, conditionOf(&podGroup.Status.Conditions[i]))
			}
			object.Conditions = append(object.Conditions, refusals(podGroup)...)
			owners[object] = podGroup.OwnerReferences
		}
	}
	for _, pod := range cluster.Pods {
		if pod.Namespace == namespace {
			object := f.add(KindPod, namespace, pod.Name)
			object.pod = pod
			object.Conditions = podConditions(pod)
		}
	}
	for _, object := range slices.Clone(f.order) {
		f.link(object, owners[object])
	}
	return f
}

func (f *forest) add(kind, namespace, name string) *Object {
	object := &Object{Kind: kind, Namespace: namespace, Name: name}
	f.objects[id(kind, name)] = object
	f.order = append(f.order, object)
	return object
}

// link hangs an object below the object that it was made from. A pod belongs to its gang, whatever its owner is.
func (f *forest) link(object *Object, owners []metav1.OwnerReference) {
	var parent *Object
	switch {
	case object.pod != nil:
		key, _ := gang.KeyOf(object.pod) // No PodGroup has the empty name.
		parent = f.objects[id(KindPodGroup, key.Name)]
	case object.podGroup != nil:
		parent = f.objects[id(KindPodGang, object.Name)]
	}
	for _, owner := range owners {
		if parent != nil {
			break
		}
		parent = f.objects[id(owner.Kind, owner.Name)]
		if parent == nil && owner.Controller != nil && *owner.Controller {
			parent = f.add(owner.Kind, object.Namespace, owner.Name)
			parent.unknown = true
		}
	}
	if parent != nil && !parent.within(object) {
		object.parent = parent
		parent.Objects = append(parent.Objects, object)
	}
}

// within reports whether an object is another one, or was made of it: owners that make a circle have no outermost one.
func (o *Object) within(other *Object) bool {
	for up := o; up != nil; up = up.parent {
		if up == other {
			return true
		}
	}
	return false
}

func conditionsIn(workload *unstructured.Unstructured) []Condition {
	var status struct {
		Conditions []metav1.Condition `json:"conditions"`
	}
	fields, _, _ := unstructured.NestedMap(workload.Object, "status")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &status); err != nil {
		return nil // Conditions of another shape are of another version: there is nothing to say.
	}
	var conditions []Condition
	for i := range status.Conditions {
		conditions = append(conditions, conditionOf(&status.Conditions[i]))
	}
	return conditions
}

func conditionOf(condition *metav1.Condition) Condition {
	return Condition{Type: condition.Type, Status: string(condition.Status), Reason: condition.Reason,
		Message: brief.Plain(condition.Message)}
}

// refusals are the node pools in which a gang does not fit, as KAI's scheduler says. Ours says it in the condition
// Scheduled too.
func refusals(podGroup *scheduling.PodGroup) []Condition {
	if meta.FindStatusCondition(podGroup.Status.Conditions, scheduling.ConditionScheduled) != nil {
		return nil
	}
	var refused []Condition
	for _, pool := range podGroup.Status.SchedulingConditions {
		if pool.Type == scheduling.UnschedulableOnNodePool && pool.Status == corev1.ConditionTrue {
			refused = append(refused, Condition{
				Type: string(pool.Type), Status: string(pool.Status), Reason: pool.Reason,
				Message: brief.Plain(pool.Message),
			})
		}
	}
	return refused
}

func podConditions(pod *corev1.Pod) []Condition {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled {
			return []Condition{{
				Type: string(condition.Type), Status: string(condition.Status),
				Reason: brief.Plain(condition.Reason), Message: brief.Plain(condition.Message),
			}}
		}
	}
	return nil
}

// aliases are what users call the kinds.
var aliases = map[string]string{
	"dgd": KindDGD, "dynamographdeployment": KindDGD, "dynamographdeployments": KindDGD,
	"pcs": KindPodCliqueSet, "podcliqueset": KindPodCliqueSet, "podcliquesets": KindPodCliqueSet,
	"pg": KindPodGang, "podgang": KindPodGang, "podgangs": KindPodGang,
	"podgrp": KindPodGroup, "podgroup": KindPodGroup, "podgroups": KindPodGroup,
	"po": KindPod, "pod": KindPod, "pods": KindPod,
}

// searched is the order in which a bare name is looked for: the whole of a workload says more than its parts.
var searched = []string{KindDGD, KindPodCliqueSet, KindPodGang, KindPodGroup, KindPod}

// Target is what a user asks about.
type Target struct {
	// Kind is empty where only a name was given.
	Kind, Name string
}

// ParseTarget reads KIND/NAME, NAME, or KIND and NAME as two words.
func ParseTarget(words []string) (Target, error) {
	kind, name, split := strings.Cut(strings.Join(words, "/"), "/")
	if !split {
		return Target{Name: kind}, nil
	}
	// podgroups.scheduling.run.ai is a kind too.
	short, _, _ := strings.Cut(strings.ToLower(kind), ".")
	known, ok := aliases[short]
	if !ok || name == "" || strings.Contains(name, "/") {
		return Target{}, fmt.Errorf(
			"%q: give NAME or KIND/NAME, where KIND is pod, podgroup, podgang, pcs or dgd; for a Job or the like, "+
				"name one of its pods", strings.Join(words, " "))
	}
	return Target{Kind: known, Name: name}, nil
}

// find returns the object that is asked about.
func (f *forest) find(target Target, namespace string) (*Object, error) {
	kinds := searched
	if target.Kind != "" {
		kinds = []string{target.Kind}
	}
	for _, kind := range kinds {
		if object := f.objects[id(kind, target.Name)]; object != nil && !object.unknown {
			return object, nil
		}
	}
	wanted := cmp.Or(target.Kind, "object")
	return nil, fmt.Errorf("namespace %s has no %s %q%s", namespace, wanted, target.Name,
		f.suggestions(kinds, target.Name))
}

// suggestions names some existing objects, names that contain the given one first.
func (f *forest) suggestions(kinds []string, name string) string {
	const most = 5
	var similar, others []string
	for _, object := range f.order {
		if object.unknown || !slices.Contains(kinds, object.Kind) {
			continue
		}
		text := strings.ToLower(object.Kind) + "/" + object.Name
		if strings.Contains(object.Name, name) || strings.Contains(name, object.Name) {
			similar = append(similar, text)
		} else {
			others = append(others, text)
		}
	}
	all := append(similar, others...)
	switch {
	case len(all) == 0:
		return ": it has none that could be explained. Is it the right namespace (-n)?"
	case len(all) > most:
		return fmt.Sprintf(": it has %s and %d more", strings.Join(all[:most], ", "), len(all)-most)
	default:
		return ": it has " + strings.Join(all, ", ")
	}
}
