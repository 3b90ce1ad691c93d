package devcluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
)

func TestGivenValuesAreLaidOverOurs(t *testing.T) {
	ours := map[string]any{"podgrouper": map[string]any{"replicas": 0,
		"webhook": map[string]any{"port": 1, "url": "u"}}}
	given := map[string]map[string]any{
		"podgrouper":     {"webhook": map[string]any{"port": 2}, "extraArgs": []string{"--x"}},
		"grove-operator": {"replicas": 1},
	}
	want := map[string]any{
		"podgrouper": map[string]any{"replicas": 0, "webhook": map[string]any{"port": 2, "url": "u"},
			"extraArgs": []string{"--x"}},
		"grove-operator": map[string]any{"replicas": 1},
	}
	assert.Empty(t, cmp.Diff(want, overlay(ours, given)), "values (-want +got)")
}

func TestWithoutTheSchedulerAnotherChartBringsItsKinds(t *testing.T) {
	for name, c := range map[string]struct {
		components []string
		brings     string
	}{
		"grove first":    {[]string{"podgrouper", "grove-operator"}, "grove-operator"},
		"or podgrouper":  {[]string{"podgrouper", "dynamo-operator"}, "podgrouper"},
		"nobody without": {[]string{"dynamo-operator"}, ""},
		"or with":        {Components, ""},
	} {
		t.Run(name, func(t *testing.T) {
			values := chartValues(c.components, map[string]int{}, nil, func(string) string { return "" })
			for _, component := range Components {
				section, _ := values[component].(map[string]any)
				if _, brings := section["crds"]; brings != (component == c.brings) {
					t.Errorf("%s: %v", component, section["crds"])
				}
			}
		})
	}
}
