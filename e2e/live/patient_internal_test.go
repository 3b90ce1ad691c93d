package live

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var (
	noWebhook = apierrors.NewInternalError(errors.New(`failed calling webhook "x.grove.io": connection refused`))
	late      = apierrors.NewTimeoutError("request did not complete within requested timeout", 0)
	refusal   = apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("no"))
	errBroken = errors.New("stream error: stream ID 1; INTERNAL_ERROR; received from peer")
)

func configMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
}

// failingOnce is a patient client of an API server that has configMap, if there is one; the first request is answered
// with an error, after it was done if it is to be.
func failingOnce(with error, done bool, there ...client.Object) (patient, *int) {
	requests := 0
	answer := func(request func() error) error {
		if requests++; requests > 1 {
			return request()
		}
		if done {
			if err := request(); err != nil {
				return err
			}
		}
		return with
	}
	return patient{fake.NewClientBuilder().WithObjects(there...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object,
			options ...client.GetOption) error {
			return answer(func() error { return c.Get(ctx, key, into, options...) })
		},
		List: func(ctx context.Context, c client.WithWatch, into client.ObjectList, options ...client.ListOption) error {
			return answer(func() error { return c.List(ctx, into, options...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			return answer(func() error { return c.Create(ctx, object, options...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.UpdateOption) error {
			return answer(func() error { return c.Update(ctx, object, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch,
			options ...client.PatchOption) error {
			return answer(func() error { return c.Patch(ctx, object, patch, options...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			return answer(func() error { return c.Delete(ctx, object, options...) })
		},
		DeleteAllOf: func(ctx context.Context, c client.WithWatch, kind client.Object,
			options ...client.DeleteAllOfOption) error {
			return answer(func() error { return c.DeleteAllOf(ctx, kind, options...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration,
			options ...client.ApplyOption) error {
			return answer(func() error { return c.Apply(ctx, object, options...) })
		},
	}).Build()}, &requests
}

func TestWhichRequestsAreRepeated(t *testing.T) {
	read := func(ctx context.Context, c client.Client) error {
		return c.Get(ctx, client.ObjectKeyFromObject(configMap()), configMap())
	}
	list := func(ctx context.Context, c client.Client) error { return c.List(ctx, &corev1.ConfigMapList{}) }
	create := func(ctx context.Context, c client.Client) error { return c.Create(ctx, configMap()) }
	update := func(ctx context.Context, c client.Client) error { return c.Update(ctx, configMap()) }
	patch := func(ctx context.Context, c client.Client) error {
		return c.Patch(ctx, configMap(), client.RawPatch("application/merge-patch+json", []byte(`{"data":{"a":"b"}}`)))
	}
	apply := func(ctx context.Context, c client.Client) error {
		return c.Apply(ctx, corev1apply.ConfigMap("a", "default"), client.FieldOwner("test"))
	}
	remove := func(ctx context.Context, c client.Client) error { return c.Delete(ctx, configMap()) }
	removeAll := func(ctx context.Context, c client.Client) error {
		return c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace("default"))
	}
	for name, test := range map[string]struct {
		request func(context.Context, client.Client) error
		first   error
		done    bool
		there   []client.Object
		// wanted is the error at last, and requests how many were sent.
		wanted   error
		requests int
	}{
		"a read that was late":                     {read, late, false, []client.Object{configMap()}, nil, 2},
		"a list that broke off":                    {list, errBroken, false, nil, nil, 2},
		"an application that was late and is done": {apply, late, true, nil, nil, 2},
		"a deletion that was late and is done":     {remove, late, true, []client.Object{configMap()}, nil, 2},
		"a deletion of many that broke off":        {removeAll, errBroken, true, []client.Object{configMap()}, nil, 2},
		"a creation without a webhook":             {create, noWebhook, false, nil, nil, 2},
		"an update without a webhook":              {update, noWebhook, false, []client.Object{configMap()}, nil, 2},
		"a patch without a webhook":                {patch, noWebhook, false, []client.Object{configMap()}, nil, 2},
		"not a creation that may have been done":   {create, late, true, nil, late, 1},
		"not an update that may have been done":    {update, late, true, []client.Object{configMap()}, late, 1},
		"not what is refused":                      {apply, refusal, false, nil, refusal, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, requests := failingOnce(test.first, test.done, test.there...)
			if err := test.request(t.Context(), c); !errors.Is(err, test.wanted) || *requests != test.requests {
				t.Errorf("%v after %d requests, want %v after %d", err, *requests, test.wanted, test.requests)
			}
		})
	}
}

func TestTheLastAnswerIsReturnedWhenTimeIsUp(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	err := repeat(ctx, silences, func(again bool) error {
		if again {
			stop()
		}
		return late
	})
	if !errors.Is(err, late) {
		t.Error(err)
	}
}
