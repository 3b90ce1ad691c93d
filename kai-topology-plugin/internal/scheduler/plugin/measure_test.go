package plugin

import (
	"slices"
	"testing"

	"packtree.dev/kai-topology-plugin/internal/scheduler/capacity"
)

func TestProfilesNameShapesTogether(t *testing.T) {
	var all profiles
	all.name([]capacity.Shape{{Name: "a", Pods: 1}, {Name: "b", Pods: 1}})
	all.name([]capacity.Shape{{Name: "b", Pods: 2}, {Name: "c", Pods: 1}})
	var names []string
	for _, shape := range all.now().shapes {
		names = append(names, shape.Name)
		if shape.Pods != 1 {
			t.Errorf("shape %s is the second of its name", shape.Name)
		}
	}
	if !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("the shapes are %q", names)
	}
}
