package topology_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation/field"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/testsupport/fixture"
	"packtree.dev/grove-operator/internal/topology"
)

func TestWrongLevelsAreReportedOnceEach(t *testing.T) {
	level := func(domain grovev1alpha1.TopologyDomain, key string) grovev1alpha1.TopologyLevel {
		return grovev1alpha1.TopologyLevel{Domain: domain, Key: key}
	}
	const all, noKey = "region, zone, datacenter, block, rack, host, numa", ": must be the key of a node label: "
	const again = " must be unique across all levels, and l[0] has this one: remove one of the two levels"
	for name, c := range map[string]struct {
		levels []grovev1alpha1.TopologyLevel
		want   []string
	}{
		"right ones": {[]grovev1alpha1.TopologyLevel{level("zone", "a/z"), level("rack", "a/r")}, nil},
		"each that is there a second time": {
			[]grovev1alpha1.TopologyLevel{level("zone", "k"), level("rack", "a/r"), level("zone", "k"),
				level("zone", "a/b")},
			[]string{`l[2].domain: Duplicate value: "zone": domain` + again, `l[2].key: Duplicate value: "k": key` + again,
				`l[3].domain: Duplicate value: "zone": domain` + again}},
		"an unknown one, twice": {[]grovev1alpha1.TopologyLevel{level("racks", "a"), level("racks", "b")},
			[]string{`l[0].domain: Invalid value: "racks": must be one of ` + all + `; did you mean "rack"?`,
				`l[1].domain: Invalid value: "racks": `}},
		"those below a narrower one": {
			[]grovev1alpha1.TopologyLevel{level("host", "a"), level("row", "b"), level("rack", "c"),
				level("zone", "d")},
			[]string{`l[1].domain: Invalid value: "row": must be one of ` + all,
				`l[2].domain: Invalid value: "rack": levels must be listed broadest first: ` + all + `; move rack above host`,
				`l[3].domain: Invalid value: "zone": levels must be listed broadest first: ` + all + `; move zone above host`}},
		"a key that is none, once": {[]grovev1alpha1.TopologyLevel{level("zone", "a b"), level("rack", "a b")},
			[]string{`l[0].key: Invalid value: "a b"` + noKey, `l[1].key: Duplicate value: "a b"`}},
		"no key": {[]grovev1alpha1.TopologyLevel{level("zone", "")},
			[]string{`l[0].key: Invalid value: ""` + noKey, `l[0].key: Invalid value: ""` + noKey}},
		"a key that is too long": {[]grovev1alpha1.TopologyLevel{level("zone", "a/"+strings.Repeat("k", 64))},
			[]string{`l[0].key: Invalid value: "a/kkkk`}},
	} {
		t.Run(name, func(t *testing.T) {
			path := field.NewPath("l")
			got := append(topology.ValidateLevels(path, c.levels), topology.ValidateOrder(path, c.levels)...)
			require.Len(t, got, len(c.want), got.ToAggregate())
			for i, begin := range c.want {
				assert.True(t, strings.HasPrefix(got[i].Error(), begin), "%s\n%s", begin, got[i])
			}
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
