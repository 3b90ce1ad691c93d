package kueue_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"packtree.dev/shared/kueue"
)

func workload(reserved, evicted, state string) *kueue.Workload {
	return kueue.ReadWorkload(&unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "w", "namespace": "n", "resourceVersion": "7"},
		"status": map[string]any{
			"conditions": []any{
				map[string]any{"type": "QuotaReserved", "status": reserved},
				map[string]any{"type": "Evicted", "status": evicted},
			},
			"admissionChecks": []any{
				map[string]any{"name": "ours", "state": state}, map[string]any{"name": "other", "state": "Pending"},
			},
		},
	}})
}

func TestAWorkloadIsAskedAboutOnceQuotaIsReservedForIt(t *testing.T) {
	for _, c := range []struct {
		reserved, evicted, state string
		want                     []string
	}{
		{"True", "False", "Pending", []string{"ours"}}, {"False", "False", "Pending", nil},
		{"True", "True", "Pending", nil}, {"True", "False", "Ready", nil}, {"True", "False", "Retry", nil},
	} {
		if got := workload(c.reserved, c.evicted, c.state).Pending([]string{"ours"}); !slices.Equal(got, c.want) {
			t.Errorf("reserved %s, evicted %s, state %s: %v, want %v", c.reserved, c.evicted, c.state, got, c.want)
		}
	}
}

func TestOnlyTheOwnStateIsWritten(t *testing.T) {
	now := metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	asked := workload("True", "False", "Pending")
	written := kueue.CheckStates(asked, []string{"ours"}, kueue.CheckRetry, "no room", 10, now)
	states, _, _ := unstructured.NestedSlice(written.Object, "status", "admissionChecks")
	if len(states) != 1 || states[0].(map[string]any)["name"] != "ours" ||
		states[0].(map[string]any)["requeueAfterSeconds"] != int64(10) || written.GetResourceVersion() != "7" {
		t.Errorf("written: %v", written.Object)
	}
}

func TestAnAdmissionCheckIsActiveOnceItsControllerSaysSo(t *testing.T) {
	check := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "c"}, "spec": map[string]any{"controllerName": kueue.ControllerFits},
	}}
	assert.True(t, kueue.IsCheckOf(check, kueue.ControllerFits), "it is ours, and not active")
	assert.False(t, kueue.IsActive(check), "it is ours, and not active")
	said := kueue.ActiveCheck(check, metav1.NewTime(time.Unix(0, 0)))
	assert.True(t, kueue.IsActive(said), "it is active: %v", said.Object)
}

func TestOnlyAWorkloadWithoutQuotaIsCountedAnew(t *testing.T) {
	with := func(condition string) *kueue.Workload {
		return kueue.ReadWorkload(&unstructured.Unstructured{Object: map[string]any{
			"spec": map[string]any{"podSets": []any{
				map[string]any{"name": "a", "count": int64(1)}, map[string]any{"name": "b", "count": int64(4)},
			}},
			"status": map[string]any{"conditions": []any{map[string]any{"type": condition, "status": "True"}}},
		}})
	}
	for name, c := range map[string]struct {
		workload *kueue.Workload
		roles    map[string]int32
		want     string
	}{
		"there is none":     {roles: map[string]int32{"a": 1}},
		"it has quota":      {workload: with("QuotaReserved"), roles: map[string]int32{"a": 1, "b": 2}},
		"it counts as many": {workload: with("Other"), roles: map[string]int32{"a": 1, "b": 4}},
		"one has fewer": {workload: with("Other"), roles: map[string]int32{"a": 1, "b": 2},
			want: `[{"op":"test","path":"/spec/podSets/1/name","value":"b"},` +
				`{"op":"replace","path":"/spec/podSets/1/count","value":2}]`},
		"one has none": {workload: with("Other"), roles: map[string]int32{"b": 4},
			want: `[{"op":"test","path":"/spec/podSets/0/name","value":"a"},` +
				`{"op":"replace","path":"/spec/podSets/0/count","value":0}]`},
	} {
		assert.Equal(t, c.want, string(kueue.Recounted(c.workload, c.roles)), name)
	}
}
