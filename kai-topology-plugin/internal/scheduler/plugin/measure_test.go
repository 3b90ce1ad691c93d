package plugin

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"packtree.dev/kai-topology-plugin/internal/scheduler/capacity"
)

func TestProfilesNameShapesTogether(t *testing.T) {
	var all profiles
	all.name([]capacity.Shape{{Name: "a", Pods: 1}, {Name: "b", Pods: 1}})
	all.name([]capacity.Shape{{Name: "b", Pods: 2}, {Name: "c", Pods: 1}})
	var names []string
	for _, shape := range all.now().shapes {
		names = append(names, shape.Name)
		assert.EqualValues(t, 1, shape.Pods, "shape %s is the second of its name", shape.Name)
	}
	assert.Equal(t, []string{"a", "b", "c"}, names, "the shapes")
}
