package placement

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulingv2alpha2 "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Read returns what a user asked for in an object, and false for an object that is no workload. The object needs a
// namespace.
func Read(object *unstructured.Unstructured, topologies Topologies) (Workload, bool, error) {
	switch object.GetKind() {
	case "DynamoGraphDeployment":
		workload, err := readDeployment(object, topologies)
		return workload, true, err
	case "PodCliqueSet":
		return readTyped(object, topologies, &grovev1alpha1.PodCliqueSet{}, readPodCliqueSet)
	case "PodGroup":
		return readTyped(object, topologies, &schedulingv2alpha2.PodGroup{}, readPodGroup)
	case "Job":
		return readTyped(object, topologies, &batchv1.Job{}, readJob)
	default:
		return Workload{}, false, nil
	}
}

func readTyped[T any](object *unstructured.Unstructured, topologies Topologies, typed *T,
	read func(*T, Topologies) (Workload, error),
) (Workload, bool, error) {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
		return Workload{}, true, fmt.Errorf("reading %s: %w", nameOf(object), err)
	}
	workload, err := read(typed, topologies)
	if err != nil {
		return Workload{}, true, fmt.Errorf("reading %s: %w", nameOf(object), err)
	}
	workload.Object = nameOf(object)
	return workload, true, nil
}

func nameOf(object *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
}
