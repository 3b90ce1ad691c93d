package kueue

import (
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// The resources of Kueue that are read and written.
var (
	groupVersion    = schema.GroupVersion{Group: "kueue.x-k8s.io", Version: "v1beta2"}
	Workloads       = groupVersion.WithResource("workloads")
	AdmissionChecks = groupVersion.WithResource("admissionchecks")
	WorkloadKind    = groupVersion.WithKind("Workload")
)

// ControllerFits is the spec.controllerName of an AdmissionCheck that asks whether a gang fits.
const ControllerFits = "packtree.dev/fits"

// States of a check of a workload.
const (
	CheckPending = "Pending"
	CheckReady   = "Ready"
	CheckRetry   = "Retry"
)

// Workload is what is read of a Workload.
type Workload struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		PodSets []struct {
			Name  string `json:"name"`
			Count int32  `json:"count"`
		} `json:"podSets"`
	} `json:"spec"`
	Status struct {
		Conditions      []metav1.Condition `json:"conditions"`
		AdmissionChecks []struct {
			Name  string `json:"name"`
			State string `json:"state"`
		} `json:"admissionChecks"`
	} `json:"status"`
}

// ReadWorkload reads a Workload; one that cannot be read asks for nothing.
func ReadWorkload(object *unstructured.Unstructured) *Workload {
	workload := &Workload{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, workload); err != nil {
		return &Workload{}
	}
	return workload
}

// Pods is how many pods are counted.
func (w *Workload) Pods() (pods int32) {
	for _, set := range w.Spec.PodSets {
		pods += set.Count
	}
	return pods
}

// PodsOf is how many pods with a value of AnnotationRole are counted.
func (w *Workload) PodsOf(role string) int32 {
	for _, set := range w.Spec.PodSets {
		if set.Name == role {
			return set.Count
		}
	}
	return 0
}

// Recounted is the JSON patch by which a workload without quota counts so many pods of each role; nil if there is no
// workload, if it has quota, or if it counts them.
func Recounted(w *Workload, roles map[string]int32) []byte {
	if w == nil || w.is("QuotaReserved") {
		return nil
	}
	var operations []map[string]any
	for i, set := range w.Spec.PodSets {
		if wanted := roles[set.Name]; wanted != set.Count {
			path := fmt.Sprintf("/spec/podSets/%d/", i)
			operations = append(operations, map[string]any{"op": "test", "path": path + "name", "value": set.Name},
				map[string]any{"op": "replace", "path": path + "count", "value": wanted})
		}
	}
	if len(operations) == 0 {
		return nil
	}
	patch, _ := json.Marshal(operations) // Strings and numbers.
	return patch
}

// IsOwnedBy reports whether an object is an owner of the workload.
func (w *Workload) IsOwnedBy(uid types.UID) bool {
	return slices.ContainsFunc(w.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.UID == uid })
}

// OwnedBy is the apply configuration that adds an owner to a workload, if that is there.
func OwnedBy(workload *Workload, owner metav1.OwnerReference) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(WorkloadKind)
	object.SetNamespace(workload.Namespace)
	object.SetName(workload.Name)
	object.SetUID(workload.UID)
	object.SetOwnerReferences([]metav1.OwnerReference{owner})
	return object
}

// Pending returns which of some checks the workload waits for, now that quota is reserved for it. One that is being
// evicted waits for none: Kueue resets its checks before it takes the quota back, and would not reset them once more.
func (w *Workload) Pending(checks []string) (pending []string) {
	asks := w.is("QuotaReserved") && !w.is("Evicted")
	for _, check := range w.Status.AdmissionChecks {
		if asks && check.State == CheckPending && slices.Contains(checks, check.Name) {
			pending = append(pending, check.Name)
		}
	}
	return pending
}

func (w *Workload) is(kind string) bool {
	return slices.ContainsFunc(w.Status.Conditions, func(condition metav1.Condition) bool {
		return condition.Type == kind && condition.Status == metav1.ConditionTrue
	})
}

// CheckStates is the apply configuration that gives checks of a workload a state, if it has not changed since it was
// read. A workload that is to be retried is tried again after some seconds.
func CheckStates(
	workload *Workload, checks []string, state, message string, retryAfter int64, now metav1.Time,
) *unstructured.Unstructured {
	var states []any
	for _, check := range checks {
		said := map[string]any{
			"name": check, "state": state, "message": message, "lastTransitionTime": written(now),
		}
		if state == CheckRetry {
			said["requeueAfterSeconds"] = retryAfter
		}
		states = append(states, said)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": groupVersion.String(), "kind": "Workload",
		"metadata": map[string]any{
			"name": workload.Name, "namespace": workload.Namespace, "resourceVersion": workload.ResourceVersion,
		},
		"status": map[string]any{"admissionChecks": states},
	}}
}

// IsCheckOf reports whether an AdmissionCheck is for a controller.
func IsCheckOf(check *unstructured.Unstructured, controller string) bool {
	name, _, _ := unstructured.NestedString(check.Object, "spec", "controllerName")
	return name == controller
}

// IsActive reports whether the controller of an AdmissionCheck has said that it works.
func IsActive(check *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(check.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(condition any) bool {
		fields, _ := condition.(map[string]any)
		return fields["type"] == "Active" && fields["status"] == string(metav1.ConditionTrue)
	})
}

// ActiveCheck is the apply configuration that says so.
func ActiveCheck(check *unstructured.Unstructured, now metav1.Time) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": groupVersion.String(), "kind": "AdmissionCheck",
		"metadata": map[string]any{"name": check.GetName()},
		"status": map[string]any{"conditions": []any{map[string]any{
			"type": "Active", "status": string(metav1.ConditionTrue), "reason": "Active",
			"message": "the scheduler answers", "observedGeneration": check.GetGeneration(),
			"lastTransitionTime": written(now),
		}}},
	}}
}

// written is a time as JSON has it.
func written(now metav1.Time) string { return now.UTC().Format("2006-01-02T15:04:05Z") }
