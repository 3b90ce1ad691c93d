package devcluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
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
	if diff := cmp.Diff(want, overlay(ours, given)); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestChartValues(t *testing.T) {
	chosen := map[string]int{
		"podgrouper webhooks": 1, "podgrouper metrics": 2, "podgrouper health": 3, "kai-topology-plugin": 4,
	}
	directory := func(component string) string { return "/state/" + component }
	values, err := yaml.Marshal(chartValues([]string{"podgrouper", "kai-topology-plugin"}, chosen,
		[]byte("CA"), directory))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	if err := yaml.Unmarshal(values, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"components": map[string]any{
			"dynamo-operator": false, "grove-operator": false, "podgrouper": true, "kai-topology-plugin": true,
		},
		"podgrouper": map[string]any{
			"replicas": 0.0, "logFormat": "text",
			"webhook": map[string]any{
				"bindAddress": "127.0.0.1", "port": 1.0, "url": "https://127.0.0.1:1", "caBundle": "Q0E=",
				"certMode": "manual", "certDir": "/state/podgrouper/webhook-cert",
				"secretName": "podgrouper-webhook-cert",
			},
			"metrics":     map[string]any{"bindAddress": "127.0.0.1", "port": 2.0},
			"healthProbe": map[string]any{"bindAddress": "127.0.0.1", "port": 3.0},
		},
		"kai-topology-plugin": map[string]any{
			"replicas": 0.0, "secureServing": map[string]any{"bindAddress": "127.0.0.1", "port": 4.0},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
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
