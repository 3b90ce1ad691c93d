package admission

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/apply"
)

// ownPrefix is the prefix of labels, annotations, finalizers and scheduling gates which only the operator sets.
const ownPrefix = grovev1alpha1.GroupName + "/"

// ownLabels are the operator's labels without ownPrefix.
var ownLabels = []string{
	grovev1alpha1.LabelManagedBy, grovev1alpha1.LabelPartOf, grovev1alpha1.LabelName, grovev1alpha1.LabelComponent,
	grovev1alpha1.LabelStandsForCopy, grovev1alpha1.LabelStandsForReplica,
}

// ownAnnotations are the operator's annotations without ownPrefix.
var ownAnnotations = []string{
	apply.AnnotationFields, grovev1alpha1.AnnotationTemplateReplicas, grovev1alpha1.AnnotationGenerationHash,
	grovev1alpha1.AnnotationPodTemplate,
}

// content are the fields of an object that only the operator may change.
func content(object *unstructured.Unstructured) map[string]any {
	kept := object.DeepCopy().Object
	for _, shared := range []string{"metadata", "status", "apiVersion"} {
		delete(kept, shared)
	}
	spec, _ := kept["spec"].(map[string]any)
	switch object.GetKind() {
	case "PodClique", "PodCliqueScalingGroup":
		delete(spec, "replicas") // kubectl scale and autoscalers change them.
	case "Pod":
		keepOwnGates(spec)
	case "ServiceAccount":
		// Tokens and image pull secrets: controllers of some distributions add them.
		kept = map[string]any{}
	}
	kept["metadata"] = ownMetadata(object)
	return kept
}

// keepOwnGates drops the scheduling gates of other controllers, which remove them themselves.
func keepOwnGates(spec map[string]any) {
	gates, _, _ := unstructured.NestedSlice(spec, "schedulingGates")
	gates = slices.DeleteFunc(gates, func(gate any) bool {
		fields, _ := gate.(map[string]any)
		name, _ := fields["name"].(string)
		return !strings.HasPrefix(name, ownPrefix)
	})
	if spec != nil {
		delete(spec, "schedulingGates")
	}
	if len(gates) > 0 {
		spec["schedulingGates"] = gates
	}
}

// ownMetadata is the operator's part of the metadata. Others may add their own labels, annotations and finalizers.
func ownMetadata(object *unstructured.Unstructured) map[string]any {
	owners, _, _ := unstructured.NestedSlice(object.Object, "metadata", "ownerReferences")
	var finalizers []any
	for _, finalizer := range object.GetFinalizers() {
		if strings.HasPrefix(finalizer, ownPrefix) {
			finalizers = append(finalizers, finalizer)
		}
	}
	return map[string]any{
		"labels":          ownOf(object.GetLabels(), ownLabels),
		"annotations":     ownOf(object.GetAnnotations(), ownAnnotations),
		"finalizers":      finalizers,
		"ownerReferences": owners,
	}
}

func ownOf(all map[string]string, own []string) map[string]any {
	kept := map[string]any{}
	for key, value := range all {
		if strings.HasPrefix(key, ownPrefix) || slices.Contains(own, key) {
			kept[key] = value
		}
	}
	return kept
}

// firstDifference is the path of the first field, in alphabetical order, that differs; empty if there is none.
func firstDifference(path string, before, after any) string {
	if reflect.DeepEqual(before, after) {
		return ""
	}
	beforeMap, isMap := before.(map[string]any)
	afterMap, isStill := after.(map[string]any)
	if !isMap || !isStill {
		return path
	}
	keys := maps.Clone(beforeMap)
	maps.Copy(keys, afterMap)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if found := firstDifference(step(path, key), beforeMap[key], afterMap[key]); found != "" {
			return found
		}
	}
	return path
}

func step(path, key string) string {
	switch {
	case strings.ContainsAny(key, "./"):
		return fmt.Sprintf("%s[%s]", path, key)
	case path == "":
		return key
	}
	return path + "." + key
}
