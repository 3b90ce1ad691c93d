package topology_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/util/validation/field"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/testsupport/fixture"
	"packtree.dev/grove-operator/internal/topology"
)

func TestWrongLevelsAreReportedOnceEach(t *testing.T) {
	level := func(domain grovev1alpha1.TopologyDomain, key string) grovev1alpha1.TopologyLevel {
		return grovev1alpha1.TopologyLevel{Domain: domain, Key: key}
	}
	for name, c := range map[string]struct {
		levels          []grovev1alpha1.TopologyLevel
		levelsAt, order []string
	}{
		"right ones": {
			levels: []grovev1alpha1.TopologyLevel{level("zone", "a/z"), level("rack", "a/r")},
		},
		"each that is there a second time": {
			[]grovev1alpha1.TopologyLevel{level("zone", "k"), level("rack", "a/r"), level("zone", "k"),
				level("zone", "a/b")},
			[]string{"l[2].domain", "l[2].key", "l[3].domain"}, nil,
		},
		"an unknown one, twice": {[]grovev1alpha1.TopologyLevel{level("row", "a"), level("row", "b")},
			[]string{"l[0].domain", "l[1].domain"}, nil},
		"those below a narrower one": {
			[]grovev1alpha1.TopologyLevel{level("host", "a"), level("row", "b"), level("rack", "c"),
				level("zone", "d")},
			[]string{"l[1].domain"}, []string{"l[2].domain", "l[3].domain"},
		},
		"a key that is none, once": {[]grovev1alpha1.TopologyLevel{level("zone", "a b"), level("rack", "a b")},
			[]string{"l[0].key", "l[1].key"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := [][]string{fields(topology.ValidateLevels(field.NewPath("l"), c.levels)),
				fields(topology.ValidateOrder(field.NewPath("l"), c.levels))}
			assert.Empty(t, cmp.Diff([][]string{c.levelsAt, c.order}, got), "findings (-want +got)")
		})
	}
}

func TestNothingIsNarrowerThanNUMAZones(t *testing.T) {
	halls := fixture.Topology("t", "hall", "numa", "rack").Spec.Levels
	assert.Equal(t, []string{"l"}, fields(topology.ValidateFreeLevels(field.NewPath("l"), halls)),
		"a rack inside of NUMA zones: errors at")
	halls[1], halls[2] = halls[2], halls[1]
	assert.Empty(t, topology.ValidateFreeLevels(field.NewPath("l"), halls), "NUMA zones last")
}

func fields(errs field.ErrorList) []string {
	var paths []string
	for _, err := range errs {
		paths = append(paths, err.Field)
	}
	return paths
}
