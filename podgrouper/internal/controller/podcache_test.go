package controller

import (
	"fmt"
	"reflect"
	"runtime"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

func cachedPod(name, job string) *metav1.PartialObjectMetadata {
	pod := podMetadata()
	pod.Name = name
	pod.Labels = map[string]string{"job-name": job, "a": "b"}
	pod.Annotations = map[string]string{"pod-group-name": "pg-" + job, corev1.LastAppliedConfigAnnotation: "{}"}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: job,
		Controller: new(true)}}
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "somebody"}}
	return pod
}

func slimmed(t *testing.T, s *siblings, pod *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	t.Helper()
	slim, err := s.slim(pod)
	require.NoError(t, err)
	return slim.(*metav1.PartialObjectMetadata)
}

func same(a, b any) bool { return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() }

func TestSiblingsShareWhatTheyHaveInCommon(t *testing.T) {
	s := newSiblings()
	first, second := slimmed(t, s, cachedPod("a-0", "a")), slimmed(t, s, cachedPod("a-1", "a"))
	other := slimmed(t, s, cachedPod("b-0", "b"))
	for name, shared := range map[string][3]any{
		"labels":      {first.Labels, second.Labels, other.Labels},
		"annotations": {first.Annotations, second.Annotations, other.Annotations},
		"owners":      {first.OwnerReferences, second.OwnerReferences, other.OwnerReferences},
	} {
		assert.True(t, same(shared[0], shared[1]), "siblings keep their %s twice", name)
		assert.False(t, same(shared[0], shared[2]), "pods of different Jobs share %s", name)
	}
	want := cachedPod("b-0", "b")
	want.ManagedFields = nil
	delete(want.Annotations, corev1.LastAppliedConfigAnnotation)
	assert.Empty(t, cmp.Diff(want, other), "what is kept (-want +got)")
}

func TestOwnersThatDifferAreNotShared(t *testing.T) {
	s := newSiblings()
	kept := slimmed(t, s, cachedPod("a-0", "a")).OwnerReferences
	for name, change := range map[string]func(*metav1.OwnerReference){
		"another version":  func(owner *metav1.OwnerReference) { owner.APIVersion = "batch/v2" },
		"another kind":     func(owner *metav1.OwnerReference) { owner.Kind = "Fleet" },
		"another uid":      func(owner *metav1.OwnerReference) { owner.UID = "2" },
		"not a controller": func(owner *metav1.OwnerReference) { owner.Controller = nil },
		"blocks deletion":  func(owner *metav1.OwnerReference) { owner.BlockOwnerDeletion = new(true) },
		"says it does not": func(owner *metav1.OwnerReference) { owner.BlockOwnerDeletion = new(false) },
		"has another name": func(owner *metav1.OwnerReference) { owner.Name = "b" },
	} {
		pod := cachedPod("a-1", "a")
		change(&pod.OwnerReferences[0])
		want := *pod.OwnerReferences[0].DeepCopy()
		got := slimmed(t, s, pod).OwnerReferences
		assert.False(t, same(got, kept), name)
		assert.Empty(t, cmp.Diff(want, got[0]), "%s (-want +got)", name)
	}
}

func TestWhatSiblingsShareDoesNotGrow(t *testing.T) {
	s := newSiblings()
	for i := range 3 * mostLent {
		slimmed(t, s, cachedPod("pod", fmt.Sprint(i)))
	}
	assert.LessOrEqual(t, len(s.texts), mostLent)
	assert.LessOrEqual(t, len(s.owners), mostLent)
}

func TestDeletionsThatWereMissedStayAsTheyAre(t *testing.T) {
	tombstone := cache.DeletedFinalStateUnknown{Key: "default/pod"}
	if got, err := newSiblings().slim(tombstone); err != nil || got != any(tombstone) {
		t.Errorf("got %v, %v", got, err)
	}
}

// BenchmarkCachedPods measures the memory of 50,000 pods, in Jobs of 500, with the indexes of the program.
func BenchmarkCachedPods(b *testing.B) {
	const pods, ofJob = 50_000, 500
	byOwner := func(object any) ([]string, error) {
		uid := string(object.(*metav1.PartialObjectMetadata).OwnerReferences[0].UID)
		return []string{"load/" + uid, "__all_namespaces/" + uid}, nil
	}
	byPodGroup := func(object any) ([]string, error) {
		podGroup := object.(*metav1.PartialObjectMetadata).Annotations["pod-group-name"]
		return []string{"load/" + podGroup, "__all_namespaces/" + podGroup}, nil
	}
	for b.Loop() {
		s := newSiblings()
		store := cache.NewIndexer(cache.MetaNamespaceKeyFunc,
			cache.Indexers{podsByOwner: byOwner, podsByPodGroup: byPodGroup, labelledByPodGroup: byPodGroup})
		before := heap()
		for i := range pods {
			pod := cachedPod(fmt.Sprintf("standing-%04d-%05d", i/ofJob, i%ofJob), fmt.Sprintf("standing-%04d", i/ofJob))
			pod.Namespace = "load"
			pod.UID = types.UID(fmt.Sprintf("1f8fad5b-d9cb-469f-a165-7086772%05d", i))
			pod.ResourceVersion = strconv.Itoa(i)
			pod.OwnerReferences[0].UID = types.UID(fmt.Sprintf("0f8fad5b-d9cb-469f-a165-70867728%04d", i/ofJob))
			slim, err := s.slim(pod)
			if err == nil {
				err = store.Add(slim)
			}
			require.NoError(b, err)
		}
		b.ReportMetric(float64(heap()-before)/(1<<20), "MiB")
		b.ReportMetric(float64(heap()-before)/pods, "B/pod")
		runtime.KeepAlive(store)
	}
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
