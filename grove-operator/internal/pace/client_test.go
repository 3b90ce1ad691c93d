package pace

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const burst = 100

func limitsAndClient() (*Limits, client.Client) {
	limits := newLimits(1, burst, 1, clocktesting.NewFakeClock(start))
	inner := fake.NewClientBuilder().WithStatusSubresource(&corev1.Pod{}).Build()
	return limits, NewClient(inner, limits)
}

func podNamed(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none"}}},
	}
}

func applied(name string) runtime.ApplyConfiguration {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "namespace": "ns"},
	}}
	return client.ApplyConfigurationFromUnstructured(object)
}

// TestEveryRequestCounts makes each kind of request that changes something, and reads past the cache.
func TestEveryRequestCounts(t *testing.T) {
	ctx, merge := t.Context(), client.RawPatch(types.MergePatchType, []byte(`{}`))
	owner := client.FieldOwner("test")
	for name, request := range map[string]func(client.Client, *corev1.Pod) error{
		"create": func(c client.Client, _ *corev1.Pod) error { return c.Create(ctx, podNamed("new")) },
		"update": func(c client.Client, pod *corev1.Pod) error { return c.Update(ctx, pod) },
		"patch":  func(c client.Client, pod *corev1.Pod) error { return c.Patch(ctx, pod, merge) },
		"delete": func(c client.Client, pod *corev1.Pod) error { return c.Delete(ctx, pod) },
		"delete all": func(c client.Client, _ *corev1.Pod) error {
			return c.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace("ns"))
		},
		"apply":         func(c client.Client, _ *corev1.Pod) error { return c.Apply(ctx, applied("other"), owner) },
		"update status": func(c client.Client, pod *corev1.Pod) error { return c.Status().Update(ctx, pod) },
		"patch status":  func(c client.Client, pod *corev1.Pod) error { return c.Status().Patch(ctx, pod, merge) },
		"apply status":  func(c client.Client, pod *corev1.Pod) error { return c.Status().Apply(ctx, applied(pod.Name), owner) },
		"evict": func(c client.Client, pod *corev1.Pod) error {
			return c.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			limits, c := limitsAndClient()
			existing := podNamed("there")
			if err := c.(paced).Client.Create(ctx, existing); err != nil {
				t.Fatal(err)
			}
			if err := request(c, existing); err != nil {
				t.Fatal(err)
			}
			if spent := burst - limits.of(pod).tokens; spent != 1 {
				t.Errorf("%v requests were counted, want 1", spent)
			}
		})
	}
	limits, c := limitsAndClient()
	reader := NewReader(c, scheme.Scheme, limits)
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	if err := reader.Get(ctx, client.ObjectKey{Namespace: "ns", Name: "none"}, metadata); client.IgnoreNotFound(err) != nil {
		t.Error(err)
	}
	if err := reader.List(ctx, &corev1.PodList{}); err != nil {
		t.Error(err)
	}
	if spent := burst - limits.of(pod).tokens; spent != 2 {
		t.Errorf("%v reads past the cache were counted, want 2", spent)
	}
}

// TestAPassMakesNoMoreThanItsShare has one pass write more than its share: what is beyond is not sent, but for a status.
func TestAPassMakesNoMoreThanItsShare(t *testing.T) {
	limits, c := limitsAndClient()
	var refused int
	pass := Passes[string](reconcile.TypedFunc[string](func(ctx context.Context, _ string) (reconcile.Result, error) {
		for i := range Share + 3 {
			err := c.Create(ctx, podNamed("p-"+string(rune('A'+i))))
			if errors.Is(err, ErrShareSpent) {
				refused++
			} else if err != nil {
				return reconcile.Result{}, err
			}
		}
		return reconcile.Result{}, c.Status().Update(ctx, podNamed("p-A"))
	}))
	for range 2 {
		refused = 0
		if err := c.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace("ns")); err != nil {
			t.Fatal(err)
		}
		if _, err := pass.Reconcile(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		var list corev1.PodList
		if err := c.List(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		if len(list.Items) != Share || refused != 3 {
			t.Errorf("%d pods were made and %d refused, want %d and 3", len(list.Items), refused, Share)
		}
	}
	// In each pass the pods and the status, and what was deleted outside.
	if spent := burst - limits.of(pod).tokens; spent != 2*(Share+2) {
		t.Errorf("%v requests were counted, want %d", spent, 2*(Share+2))
	}
}

// TestWhatFailsIsNoPartOfTheShare has a pass make more requests that fail than it has a share, and then its share of others.
func TestWhatFailsIsNoPartOfTheShare(t *testing.T) {
	_, c := limitsAndClient()
	_, err := Passes[string](reconcile.TypedFunc[string](func(ctx context.Context, _ string) (reconcile.Result, error) {
		for range Share + 1 {
			if err := c.Delete(ctx, podNamed("nobody")); !apierrors.IsNotFound(err) {
				return reconcile.Result{}, fmt.Errorf("deleting what is not there: %w", err)
			}
		}
		for i := range Share {
			if err := c.Create(ctx, podNamed("p-"+string(rune('A'+i)))); err != nil {
				return reconcile.Result{}, err
			}
		}
		if err := c.Create(ctx, podNamed("last")); !errors.Is(err, ErrShareSpent) {
			return reconcile.Result{}, fmt.Errorf("one more than the share: %w", err)
		}
		return reconcile.Result{}, nil
	})).Reconcile(t.Context(), "")
	if err != nil {
		t.Error(err)
	}
}
