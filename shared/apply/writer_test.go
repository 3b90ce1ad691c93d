package apply_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/apiservertest"
	"packtree.dev/shared/apply"
)

var (
	// config reaches the API server of all tests as an administrator.
	config  *rest.Config
	cluster client.WithWatch
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		server, err := apiservertest.Start(envtest.WebhookInstallOptions{})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = server.Stop() }()
		config = server.Config
		scheme := runtime.NewScheme()
		err = errors.Join(clientgoscheme.AddToScheme(scheme), grovev1alpha1.AddToScheme(scheme))
		if err == nil {
			cluster, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// requests counts a writer's requests to the API server.
type requests struct{ reads, writes int }

// writer returns a writer that counts its requests. Its cache is the cluster itself.
func writer(counted *requests) apply.Writer {
	counting := interceptor.NewClient(cluster, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
			o ...client.GetOption) error {
			counted.reads++
			return c.Get(ctx, key, object, o...)
		},
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, o ...client.CreateOption) error {
			counted.writes++
			return c.Create(ctx, object, o...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration,
			o ...client.ApplyOption) error {
			counted.writes++
			return c.Apply(ctx, object, o...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch,
			o ...client.PatchOption) error {
			counted.writes++
			return c.Patch(ctx, object, patch, o...)
		},
		SubResourceApply: func(
			ctx context.Context, c client.Client, sub string, object runtime.ApplyConfiguration,
			o ...client.SubResourceApplyOption,
		) error {
			counted.writes++
			return c.SubResource(sub).Apply(ctx, object, o...)
		},
	})
	return apply.Writer{
		Client: counting, Live: counting, FieldOwner: "the-operator", CompleteGroups: []string{grovev1alpha1.GroupName},
	}
}

// newOwner returns an object in the cluster that owns others.
func newOwner(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "owner-"}}
	require.NoError(t, cluster.Create(t.Context(), owner))
	return owner
}

func owned(owner *corev1.ConfigMap, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "default", Name: name, Labels: map[string]string{"wanted": "yes"},
		OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap")),
		},
	}
}

// service is of a kind with only the writer's own objects in its cache.
func service(owner *corev1.ConfigMap, name string) *corev1.Service {
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: owned(owner, name),
		Spec: corev1.ServiceSpec{Selector: map[string]string{"a": "b"},
			Ports: []corev1.ServicePort{{Name: "web", Port: 80, TargetPort: intstr.FromInt32(80)}}},
	}
}

// podClique is of a kind with every object in the cache.
func podClique(owner *corev1.ConfigMap, name string) *grovev1alpha1.PodClique {
	return &grovev1alpha1.PodClique{
		TypeMeta:   metav1.TypeMeta{APIVersion: grovev1alpha1.GroupVersion.String(), Kind: "PodClique"},
		ObjectMeta: owned(owner, name),
		Spec: grovev1alpha1.PodCliqueSpec{
			RoleName: "role", Replicas: 2, StartsAfter: []string{"other"},
			PodSpec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "x"}}},
		},
	}
}

// kinds are the two ways in which objects are made, each with an object without one of its fields.
var kinds = map[string]struct {
	make   func(owner *corev1.ConfigMap, name string) client.Object
	change func(client.Object)
	seen   func() client.Object
	// reads is how often the cache is read for a new object.
	reads int
}{
	"of a kind that the cache has in part": {
		make:   func(owner *corev1.ConfigMap, name string) client.Object { return service(owner, name) },
		change: func(object client.Object) { object.(*corev1.Service).Spec.Selector = map[string]string{"c": "d"} },
		seen:   func() client.Object { return &corev1.Service{} },
	},
	"of a kind that the cache has as a whole": {
		make:   func(owner *corev1.ConfigMap, name string) client.Object { return podClique(owner, name) },
		change: func(object client.Object) { object.(*grovev1alpha1.PodClique).Spec.StartsAfter = nil },
		seen:   func() client.Object { return &grovev1alpha1.PodClique{} },
		reads:  1,
	},
}

func read[T client.Object](t *testing.T, name string, into T) T {
	t.Helper()
	require.NoError(t, cluster.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, into))
	return into
}

func mustApply(t *testing.T, w apply.Writer, desired, seen client.Object, want bool) {
	t.Helper()
	if changed, err := w.Apply(t.Context(), desired, seen); err != nil || changed != want {
		t.Fatalf("changed %t, error %v; want changed %t", changed, err, want)
	}
}

func TestNothingIsWrittenWhereNothingDiffers(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			owner := newOwner(t)
			counted := &requests{}
			w := writer(counted)
			desired := kind.make(owner, owner.Name)
			mustApply(t, w, desired, nil, true)
			assert.NotEmpty(t, desired.GetUID(), "what was applied is not the object as stored")
			assert.Equal(t, (requests{reads: kind.reads, writes: 1}), *counted, "requests for a new object")
			*counted = requests{}
			again := kind.make(owner, owner.Name)
			mustApply(t, w, again, read(t, owner.Name, kind.seen()), false)
			assert.Equal(t, requests{}, *counted, "requests for an object that is as desired, want none")
			assert.Equal(t, desired.GetGeneration(), again.GetGeneration(),
				"generation %d, want %d as seen", again.GetGeneration(), desired.GetGeneration())
		})
	}
}

func TestAChangeLeavesWhatOthersSetAndRemovesWhatIsGivenUp(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			owner := newOwner(t)
			w := writer(&requests{})
			mustApply(t, w, kind.make(owner, owner.Name), nil, true)
			label := client.RawPatch("application/merge-patch+json",
				[]byte(`{"metadata":{"labels":{"wanted":"no","theirs":"yes"},"finalizers":["example.com/theirs"]}}`))
			require.NoError(t, cluster.Patch(t.Context(), kind.make(owner, owner.Name), label,
				client.FieldOwner("somebody")))
			changed := func() client.Object {
				object := kind.make(owner, owner.Name)
				kind.change(object)
				return object
			}
			mustApply(t, w, changed(), read(t, owner.Name, kind.seen()), true)

			stored := read(t, owner.Name, kind.seen())
			if stored.GetLabels()["theirs"] != "yes" || len(stored.GetFinalizers()) != 1 {
				t.Errorf("labels %v, finalizers %v; what somebody else set is gone", stored.GetLabels(),
					stored.GetFinalizers())
			}
			assert.Equal(t, "yes", stored.GetLabels()["wanted"],
				"labels %v; what somebody changed is not put right", stored.GetLabels())
			switch stored := stored.(type) {
			case *corev1.Service:
				_, still := stored.Spec.Selector["a"]
				assert.False(t, still, "selector %v; what is no longer wanted stays", stored.Spec.Selector)
			case *grovev1alpha1.PodClique:
				assert.Nil(t, stored.Spec.StartsAfter, "startsAfter %v; what is no longer wanted stays", stored.Spec.StartsAfter)
			}
			mustApply(t, w, changed(), stored, false)
		})
	}
}

func TestAnObjectOfAnotherOwnerIsLeftAlone(t *testing.T) {
	for name, kind := range kinds {
		for _, hasOwner := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, another owner %t", name, hasOwner), func(t *testing.T) {
				mine, other := newOwner(t), newOwner(t)
				theirs := kind.make(other, mine.Name)
				holder := "ConfigMap " + other.Name
				if !hasOwner {
					theirs.SetOwnerReferences(nil)
					holder = "no controller"
				}
				require.NoError(t, cluster.Create(t.Context(), theirs))
				desired := kind.make(mine, mine.Name)
				w := writer(&requests{})
				for seen, object := range map[string]client.Object{"unseen": nil,
					"seen": read(t, mine.Name, kind.seen())} {
					_, err := w.Apply(t.Context(), desired.DeepCopyObject().(client.Object), object)
					require.ErrorAs(t, err, new(apply.ForeignError), "%s: error %v, want a ForeignError", seen, err)
					kindName := desired.GetObjectKind().GroupVersionKind().Kind
					want := fmt.Sprintf(
						"applying %[1]s %[2]s: %[1]s %[2]s exists and belongs to %[3]s, not to ConfigMap %[2]s; remove or rename it",
						kindName, mine.Name, holder)
					require.EqualError(t, err, want, "%s: error", seen)
				}
				stored := read(t, mine.Name,
					kind.seen())
				assert.Equal(t, theirs.GetResourceVersion(), stored.GetResourceVersion(), "the object was changed")
			})
		}
	}
}

func TestAnObjectThatTheCacheLacksIsNotOverwritten(t *testing.T) {
	owner := newOwner(t)
	w := writer(&requests{})
	mustApply(t, w, service(owner, owner.Name), nil, true)
	before := read(t, owner.Name, &corev1.Service{})
	changed := service(owner, owner.Name)
	changed.Spec.Selector = map[string]string{"c": "d"}
	_, err := w.Apply(t.Context(), changed, nil)
	require.NoError(t, err)
	assert.Equal(t, before.ResourceVersion, read(t, owner.Name, &corev1.Service{}).ResourceVersion,
		"an object that the cache does not show yet was written")
}

func TestAnObjectThatLostItsLabelGetsItBack(t *testing.T) {
	owner := newOwner(t)
	w := writer(&requests{})
	mustApply(t, w, service(owner, owner.Name), nil, true)
	lost := read(t, owner.Name, &corev1.Service{})
	delete(lost.Labels, "wanted")
	require.NoError(t, cluster.Update(t.Context(), lost, client.FieldOwner("somebody")))
	mustApply(t, w, service(owner, owner.Name), nil, true) // The cache finds it by the label.
	if stored := read(t, owner.Name, &corev1.Service{}); stored.Labels["wanted"] != "yes" || stored.UID != lost.UID {
		t.Errorf("labels %v of %s, want the lost one on %s", stored.Labels, stored.UID, lost.UID)
	}
}

func TestWhatHasChangedSinceIsAConflict(t *testing.T) {
	owner := newOwner(t)
	w := writer(&requests{})
	mustApply(t, w, podClique(owner, owner.Name), nil, true)
	seen := read(t, owner.Name, &grovev1alpha1.PodClique{})
	scaled := seen.DeepCopy()
	scaled.Spec.Replicas = 5
	require.NoError(t, cluster.Update(t.Context(), scaled, client.FieldOwner("kubectl-scale")))
	bound := podClique(owner, owner.Name)
	bound.ResourceVersion = seen.ResourceVersion
	bound.Spec.RoleName = "another"
	_, err := w.Apply(t.Context(), bound, seen)
	assert.True(t, apierrors.IsConflict(err), "a write that is bound to an old version: error %v, want a conflict", err)

	replaced := seen.DeepCopy()
	replaced.UID = "of-one-before"
	bound.ResourceVersion = ""
	_, err = w.Apply(t.Context(), bound, replaced)
	assert.True(t, apierrors.IsConflict(err), "a write to another object of the name: error %v, want a conflict", err)
	assert.Equal(t, scaled.ResourceVersion, read(t, owner.Name, &grovev1alpha1.PodClique{}).ResourceVersion,
		"the object was written all the same")
}

func TestAFieldThatCannotChangeIsAnErrorWithItsName(t *testing.T) {
	owner := newOwner(t)
	w := writer(&requests{})
	made := service(owner, owner.Name)
	made.Spec.ClusterIP = corev1.ClusterIPNone
	mustApply(t, w, made, nil, true)
	changed := service(owner, owner.Name)
	changed.Spec.ClusterIP = "10.0.0.17"
	_, err := w.Apply(t.Context(), changed, read(t, owner.Name, &corev1.Service{}))
	var failure *apply.Error
	if !apierrors.IsInvalid(err) || !errors.As(err, &failure) || failure.Doing() != "applying Service "+owner.Name {
		t.Errorf("error %v, want one that applying the Service is invalid", err)
	}
}

func TestWhatIsBeingDeletedIsLeftAlone(t *testing.T) {
	owner := newOwner(t)
	counted := &requests{}
	w := writer(counted)
	held := podClique(owner, owner.Name)
	held.Finalizers = []string{"example.com/held"}
	mustApply(t, w, held, nil, true)
	require.NoError(t, w.Delete(t.Context(), held))
	seen := read(t, owner.Name, &grovev1alpha1.PodClique{})
	*counted = requests{}
	mustApply(t, w, podClique(owner, owner.Name), seen, false)
	require.NoError(t, w.Delete(t.Context(), seen))
	assert.Equal(t, requests{}, *counted)
}

func TestDeleteLeavesAnotherObjectOfTheName(t *testing.T) {
	owner := newOwner(t)
	w := writer(&requests{})
	mustApply(t, w, service(owner, owner.Name), nil, true)
	before := read(t, owner.Name, &corev1.Service{})
	before.UID = "of-one-before"
	err := w.Delete(t.Context(), before)
	assert.True(t, apierrors.IsConflict(err), "error %v, want a conflict", err)
	stored := read(t, owner.Name, &corev1.Service{})
	for range 2 { // The second time it is gone.
		assert.NoError(t, w.Delete(t.Context(), stored))
	}
}

func TestWhatIsItsOwnMayBeSaid(t *testing.T) {
	owner := newOwner(t)
	w := writer(&requests{})
	w.Own = func(found client.Object) bool { return found.GetLabels()["mine"] == "yes" }
	orphan := podClique(owner, owner.Name)
	orphan.OwnerReferences, orphan.Labels["mine"] = nil, "yes"
	require.NoError(t, cluster.Create(t.Context(), orphan))
	mustApply(t, w, podClique(owner, owner.Name), read(t, owner.Name, &grovev1alpha1.PodClique{}), true)
	assert.True(t, metav1.IsControlledBy(read(t, owner.Name, &grovev1alpha1.PodClique{}), owner),
		"the owner that somebody took away is not restored")
}

func TestWhatOthersMadeMeanwhileIsNotForced(t *testing.T) {
	owner := newOwner(t)
	w := writer(&requests{})
	theirs := podClique(owner, owner.Name)
	theirs.OwnerReferences = nil
	theirs.Spec.Replicas = 7
	require.NoError(t, cluster.Create(t.Context(), theirs, client.FieldOwner("somebody")))
	behind := interceptor.NewClient(cluster, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return apierrors.NewNotFound(grovev1alpha1.GroupVersion.WithResource("podcliques").GroupResource(),
				owner.Name)
		},
	})
	w.Client = behind
	_, err := w.Apply(t.Context(), podClique(owner, owner.Name), nil)
	assert.True(t, apierrors.IsConflict(err), "error %v, want a conflict", err)
	assert.EqualValues(t, 7, read(t, owner.Name, &grovev1alpha1.PodClique{}).Spec.Replicas,
		"replicas; what somebody else made was overwritten")
}
