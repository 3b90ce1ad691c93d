package apply_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

func condition(kind string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Tested",
		LastTransitionTime: metav1.Now().Rfc3339Copy()}
}

func newPodClique(t *testing.T) *grovev1alpha1.PodClique {
	t.Helper()
	owner := newOwner(t)
	made := podClique(owner, owner.Name)
	mustApply(t, writer(&requests{}), made, nil, true)
	return made
}

func TestAStatusIsWrittenWhereItDiffers(t *testing.T) {
	object := newPodClique(t)
	counted := &requests{}
	w := writer(counted)
	judged := object.Status.DeepCopy()
	judged.Replicas, judged.Conditions = 2, []metav1.Condition{condition("Ours")}
	for _, want := range []bool{true, false} {
		if written, err := w.Status(t.Context(), object, &object.Status, judged); err != nil || written != want {
			t.Errorf("written %t, error %v; want written %t", written, err, want)
		}
		object = read(t, object.Name, &grovev1alpha1.PodClique{})
	}
	assert.Equal(t, 1, counted.writes)
	assert.EqualValues(t, 2, object.Status.Replicas)
}

// A program that is newer than the cluster's CRD writes the fields that both know.
func TestAStatusIsWrittenWithoutTheFieldsThatTheCRDLacks(t *testing.T) {
	type newer struct {
		Replicas   int32            `json:"replicas"`
		Later      int32            `json:"later"`
		Conditions []map[string]any `json:"conditions"`
	}
	object := newPodClique(t)
	ours, err := runtime.DefaultUnstructuredConverter.ToUnstructured(new(condition("Ours")))
	require.NoError(t, err)
	ours["later"] = map[string]any{"deeper": "x"}
	written, err := writer(&requests{}).Status(t.Context(), object, nil, &newer{2, 3, []map[string]any{ours}})
	found := read(t, object.Name, &grovev1alpha1.PodClique{}).Status
	if err != nil || !written || found.Replicas != 2 || meta.FindStatusCondition(found.Conditions, "Ours") == nil {
		t.Errorf("written %t, error %v, status %+v; want the replicas and the condition", written, err, found)
	}
}

func TestAStatusKeepsTheConditionsOfOthers(t *testing.T) {
	object := newPodClique(t)
	theirs := object.DeepCopy()
	meta.SetStatusCondition(&theirs.Status.Conditions, condition("Theirs"))
	require.NoError(t, cluster.Status().Update(t.Context(), theirs, client.FieldOwner("somebody")))
	w := writer(&requests{})
	for _, kind := range []string{"Ours", "Next"} {
		judged := &grovev1alpha1.PodCliqueStatus{Conditions: []metav1.Condition{condition(kind)}}
		_, err := w.Status(t.Context(), object, &object.Status, judged)
		require.NoError(t, err)
	}
	found := read(t, object.Name, &grovev1alpha1.PodClique{}).Status.Conditions
	if meta.FindStatusCondition(found, "Theirs") == nil || meta.FindStatusCondition(found, "Next") == nil ||
		len(found) != 2 {
		t.Errorf("conditions %v, want Theirs and Next", found)
	}
}

func TestAStatusThatWasUpdatedIsTakenOver(t *testing.T) {
	for name, bound := range map[string]bool{"whatever was seen": false, "of what was seen": true} {
		t.Run(name, func(t *testing.T) {
			object := newPodClique(t)
			updated := object.DeepCopy()
			updated.Status.Replicas, updated.Status.Conditions = 2, []metav1.Condition{condition("Former")}
			require.NoError(t, cluster.Status().Update(t.Context(), updated, client.FieldOwner("the-operator")))
			seen := read(t, object.Name, &grovev1alpha1.PodClique{})
			counted := &requests{}
			write := writer(counted).Status
			if bound {
				write = writer(counted).StatusOfSeen
			}
			judged := &grovev1alpha1.PodCliqueStatus{Conditions: []metav1.Condition{condition("Present")}}
			if written, err := write(t.Context(), seen, &seen.Status, judged); err != nil || !written {
				t.Fatalf("written %t, error %v", written, err)
			}
			status := read(t, object.Name, &grovev1alpha1.PodClique{}).Status
			if status.Replicas != 0 || len(status.Conditions) != 1 || status.Conditions[0].Type != "Present" {
				t.Errorf("status %+v; what is no longer said stays", status)
			}
		})
	}
}

func TestAStatusOfWhatWasSeenIsNotWrittenOverAnother(t *testing.T) {
	object := newPodClique(t)
	w := writer(&requests{})
	first := &grovev1alpha1.PodCliqueStatus{Replicas: 1}
	if written, err := w.StatusOfSeen(t.Context(), object, &object.Status, first); err != nil || !written {
		t.Fatalf("written %t, error %v", written, err)
	}
	second := &grovev1alpha1.PodCliqueStatus{Replicas: 2}
	_, err := w.StatusOfSeen(t.Context(), object, &object.Status, second)
	assert.True(t, apierrors.IsConflict(err), "error %v, want a conflict", err)
	gone := object.DeepCopy()
	gone.Name += "-gone"
	if written, err := w.Status(t.Context(), gone, &gone.Status, second); err != nil || written {
		t.Errorf("the status of an object that is gone: written %t, error %v", written, err)
	}
}

func TestFinalizersAreAddedAndRemovedBesideThoseOfOthers(t *testing.T) {
	object := newPodClique(t)
	w := writer(&requests{})
	theirs := object.DeepCopy()
	theirs.Finalizers = []string{"example.com/theirs"}
	require.NoError(t, cluster.Update(t.Context(), theirs, client.FieldOwner("somebody")))
	require.NoError(t, w.AddFinalizer(t.Context(), object, "example.com/ours"))
	held := read(t, object.Name, &grovev1alpha1.PodClique{})
	assert.Len(t, held.Finalizers, 2, "finalizers %v, want those of others and its own", held.Finalizers)
	theirs = held.DeepCopy()
	theirs.Labels = map[string]string{"changed": "meanwhile"}
	require.NoError(t, cluster.Update(t.Context(), theirs))
	require.NoError(t, w.RemoveFinalizer(t.Context(), held, "example.com/ours"))
	found := read(t, object.Name, &grovev1alpha1.PodClique{}).Finalizers
	require.Len(t, found, 1, "finalizers %v, want those of others", found)
	assert.Equal(t, "example.com/theirs", found[0], "finalizers %v, want those of others", found)
	replaced := held.DeepCopy() // Its resourceVersion is old, so the cluster is read, which has another UID.
	replaced.UID = "of-one-before"
	replaced.Finalizers = nil
	require.NoError(t, w.AddFinalizer(t.Context(), replaced, "example.com/ours"))
	found = read(t, object.Name, &grovev1alpha1.PodClique{}).Finalizers
	assert.Len(t, found, 1, "finalizers %v: another object of the name got one", found)
}
