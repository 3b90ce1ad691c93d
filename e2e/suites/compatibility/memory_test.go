package compatibility_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// memory is what must not change: the UID of each object, and for a pod its node, images, and how often it was started.
type memory map[string]string

func memoryOf(objects []*unstructured.Unstructured) memory {
	all := memory{}
	for _, object := range objects {
		known := string(object.GetUID())
		if deleted := object.GetDeletionTimestamp(); deleted != nil {
			known += ", being deleted"
		}
		if object.GetKind() == "Pod" {
			node, _, _ := unstructured.NestedString(object.Object, "spec", "nodeName")
			phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
			containers, _, _ := unstructured.NestedSlice(object.Object, "status", "containerStatuses")
			restarts := ""
			for _, container := range containers {
				count, _, _ := unstructured.NestedInt64(container.(map[string]any), "restartCount")
				image, _, _ := unstructured.NestedString(container.(map[string]any), "image")
				restarts += fmt.Sprintf(" %s started %d times again", image, count)
			}
			known += fmt.Sprintf(" on %q, %s,%s", node, phase, restarts)
		}
		all[object.GetKind()+" "+object.GetName()] = known
	}
	return all
}

// difference describes the differences from the remembered state. New objects are no difference.
func (m memory) difference(now memory) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		switch known, there := now[name]; {
		case !there:
			lines = append(lines, name+" is gone")
		case known != m[name]:
			lines = append(lines, fmt.Sprintf("%s was %s and is %s", name, m[name], known))
		}
	}
	return strings.Join(lines, "\n")
}

// without drops objects that a test changes on purpose.
func (m memory) without(names ...string) memory {
	rest := maps.Clone(m)
	for _, name := range names {
		delete(rest, name)
	}
	return rest
}
