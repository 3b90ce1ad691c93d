package plugin

import (
	"context"
	"errors"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"packtree.dev/shared/kueue"
)

func stored(objects ...*unstructured.Unstructured) cache.Indexer {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, object := range objects {
		if err := indexer.Add(object); err != nil {
			panic(err)
		}
	}
	return indexer
}

// asks is a workload that waits for a check, created in a minute.
func asks(name, minute string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{
			"name": name, "namespace": "team", "creationTimestamp": "2026-01-01T00:" + minute + ":00Z",
		},
		"status": map[string]any{
			"conditions":      []any{map[string]any{"type": "QuotaReserved", "status": "True"}},
			"admissionChecks": []any{map[string]any{"name": "fits", "state": kueue.CheckPending}},
		},
	}}
}

// TestAWorkloadWithoutAnAnswerKeepsNoOtherWaiting has two waiting workloads; a is the older one.
func TestAWorkloadWithoutAnAnswerKeepsNoOtherWaiting(t *testing.T) {
	check := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "fits"},
		"spec":     map[string]any{"controllerName": kueue.ControllerFits},
		"status":   map[string]any{"conditions": []any{map[string]any{"type": "Active", "status": "True"}}},
	}}
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		states  map[string]string
		errs    map[string]error
		refused string
		written []string
		again   bool
		failed  bool
	}{
		"the oldest is answered first": {
			states: map[string]string{"a": kueue.CheckReady, "b": kueue.CheckReady}, written: []string{"a"}},
		"the oldest has no answer yet": {
			states: map[string]string{"b": kueue.CheckRetry}, written: []string{"b"}},
		"the oldest cannot be decided on": {
			errs: map[string]error{"a": broken}, states: map[string]string{"b": kueue.CheckReady},
			written: []string{"b"}, failed: true},
		"the answer for the oldest is refused": {
			states: map[string]string{"a": kueue.CheckReady, "b": kueue.CheckReady}, refused: "a",
			written: []string{"a", "b"}, failed: true},
		"none has an answer": {again: true},
	} {
		t.Run(name, func(t *testing.T) {
			var written []string
			client := fake.NewSimpleDynamicClient(runtime.NewScheme())
			client.PrependReactor("patch", "workloads", func(action clienttesting.Action) (bool, runtime.Object, error) {
				of := action.(clienttesting.PatchAction).GetName()
				written = append(written, of)
				if of == c.refused {
					return true, nil, broken
				}
				return true, asks(of, "00"), nil
			})
			a := &admission{
				Plugin: &Plugin{clock: clock.RealClock{}}, client: client,
				checks:    cache.NewGenericLister(stored(check), kueue.AdmissionChecks.GroupResource()),
				workloads: cache.NewGenericLister(stored(asks("b", "02"), asks("a", "01")), kueue.Workloads.GroupResource()),
				decide: func(_ context.Context, workload *kueue.Workload) (string, string, error) {
					return c.states[workload.Name], "", c.errs[workload.Name]
				},
			}
			again, err := a.once(t.Context())
			if !slices.Equal(written, c.written) || (again > 0) != c.again || (err != nil) != c.failed {
				t.Errorf("written %v, again %v, %v", written, again, err)
			}
		})
	}
}
