package managerstart_test

import (
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/buildinfo"
)

func TestTheMetricHasComponentAndBuild(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(buildinfo.Metric("podgrouper"))
	families, err := registry.Gather()
	require.NoError(t, err)
	if len(families) != 1 || families[0].GetName() != "packtree_build_info" || len(families[0].GetMetric()) != 1 {
		t.Fatalf("got %v, want packtree_build_info once", families)
	}
	metric := families[0].GetMetric()[0]
	if metric.GetGauge().GetValue() != 1 {
		t.Errorf("value %v, want 1", metric.GetGauge().GetValue())
	}
	got := map[string]string{}
	for _, label := range metric.GetLabel() {
		got[label.GetName()] = label.GetValue()
	}
	want := map[string]string{
		"component": "podgrouper", "version": "unknown", "commit": "unknown", "date": "unknown",
		"goversion": runtime.Version(),
	}
	assert.Empty(t, cmp.Diff(want, got), "labels (-want +got)")
}
