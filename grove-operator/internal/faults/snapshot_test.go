package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
)

// kinds are all kinds of a set's objects.
var kinds = []schema.GroupVersionKind{
	grovev1alpha1.GroupVersion.WithKind("PodCliqueSet"),
	grovev1alpha1.GroupVersion.WithKind("PodCliqueScalingGroup"),
	grovev1alpha1.GroupVersion.WithKind("PodClique"),
	schedulerv1alpha1.GroupVersion.WithKind("PodGang"),
	corev1.SchemeGroupVersion.WithKind("Pod"),
	corev1.SchemeGroupVersion.WithKind("Service"),
	corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
	rbacv1.SchemeGroupVersion.WithKind("Role"),
	rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
	autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"),
}

// snapshot has all objects of a namespace, without the fields that differ from run to run: identities, versions and
// times.
func (w *world) snapshot(ctx context.Context) (string, error) {
	var objects []unstructured.Unstructured
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := w.List(ctx, list, client.InNamespace(w.namespace), client.UnsafeDisableDeepCopy); err != nil {
			return "", fmt.Errorf("listing %s: %w", kind.Kind, err)
		}
		objects = append(objects, list.Items...)
	}
	rename := []string{w.namespace, "NAMESPACE"}
	for i := range objects {
		rename = append(rename, string(objects[i].GetUID()), "UID")
		if objects[i].GetKind() == "Pod" {
			rename = append(rename, objects[i].GetName(), w.births.nameOf(&objects[i]))
		}
	}
	var texts []string
	names := strings.NewReplacer(rename...)
	for i := range objects {
		content, err := json.MarshalIndent(stripped(objects[i].Object), "", " ")
		if err != nil {
			return "", err
		}
		texts = append(texts, names.Replace(string(content)))
	}
	slices.Sort(texts)
	return strings.Join(texts, "\n"), nil
}

// passing are fields that differ from run to run. Generations count the writes until the same end; which pods were
// chosen for replacement depends on which were seen while they were deleted.
var passing = []string{
	"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "lastTransitionTime",
	"managedFields",
	"observedAt", "observedGeneration", "readyPodsSelectedToUpdate", "resourceVersion", "startTime", "uid",
}

// moments are times for which it matters whether they are set.
var moments = []string{"startedAt", "updateStartedAt", "updateEndedAt"}

func stripped(value any) any {
	switch value := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, inner := range value {
			switch {
			case slices.Contains(passing, key):
			case slices.Contains(moments, key):
				kept[key] = "some time"
			default:
				kept[key] = stripped(inner)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(value))
		for i, inner := range value {
			kept[i] = stripped(inner)
		}
		return kept
	}
	return value
}
