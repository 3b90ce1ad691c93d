package catalog_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/podgroups"
)

// indexedKind is a kind with an index on its pods.
type indexedKind struct {
	kind schema.GroupVersionKind
	// spec of a workload of pods, with atATime of them running at a time.
	spec func(pods, atATime int) map[string]any
	// pod writes the index into the field that the kind uses.
	pod func(pod *corev1.Pod, index int)
	// leaf is the group that is divided; empty for the root.
	leaf string
	// waves reports whether the kind can run fewer pods at a time than it has.
	waves bool
	// minimum is how many pods are needed together if the workload's annotation has the number needed.
	minimum func(needed, pods int) int
}

var indexedKinds = map[string]indexedKind{
	"Job": {
		kind: batchv1.SchemeGroupVersion.WithKind("Job"),
		spec: func(pods, atATime int) map[string]any {
			return map[string]any{"completionMode": "Indexed", "completions": int64(pods),
				"parallelism": int64(atATime)}
		},
		pod: func(pod *corev1.Pod, index int) {
			pod.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: strconv.Itoa(index)}
		},
		waves:   true,
		minimum: func(needed, _ int) int { return needed },
	},
	"StatefulSet": {
		kind: appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
		spec: func(pods, _ int) map[string]any {
			return map[string]any{"replicas": int64(pods), "podManagementPolicy": "Parallel",
				"ordinals": map[string]any{"start": int64(5)}}
		},
		pod:     func(pod *corev1.Pod, index int) { pod.Name = fmt.Sprintf("w-%d", index+5) },
		minimum: func(needed, _ int) int { return needed },
	},
	"JobSet": {
		kind: schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"},
		spec: func(pods, _ int) map[string]any {
			template := map[string]any{"spec": map[string]any{"completions": int64(pods), "parallelism": int64(pods)}}
			return map[string]any{
				"replicatedJobs": []any{map[string]any{"name": "w", "replicas": int64(2), "template": template}},
			}
		},
		pod: func(pod *corev1.Pod, index int) {
			pod.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: strconv.Itoa(index)}
			pod.Labels = map[string]string{"jobset.sigs.k8s.io/replicatedjob-name": "w",
				"jobset.sigs.k8s.io/job-index": "1"}
		},
		leaf:    "w-1",
		minimum: func(_, pods int) int { return pods },
	},
	"PyTorchJob": {
		kind: schema.GroupVersionKind{Group: "kubeflow.org", Version: "v1", Kind: "PyTorchJob"},
		spec: func(pods, _ int) map[string]any {
			return map[string]any{"pytorchReplicaSpecs": map[string]any{
				"Master": map[string]any{"replicas": int64(1)}, "Worker": map[string]any{"replicas": int64(pods)},
			}}
		},
		pod:     func(pod *corev1.Pod, index int) { pod.Labels = replica(index) },
		leaf:    "worker",
		minimum: func(_, pods int) int { return pods },
	},
	"MPIJob with a launcher that works too": {
		kind: schema.GroupVersionKind{Group: "kubeflow.org", Version: "v2beta1", Kind: "MPIJob"},
		spec: func(pods, _ int) map[string]any {
			return map[string]any{"runLauncherAsWorker": true, "mpiReplicaSpecs": map[string]any{
				"Launcher": map[string]any{"replicas": int64(1)}, "Worker": map[string]any{"replicas": int64(pods)},
			}}
		},
		pod:     func(pod *corev1.Pod, index int) { pod.Labels = replica(index + 1) },
		leaf:    "worker",
		minimum: func(_, pods int) int { return pods },
	},
	"LeaderWorkerSet": {
		kind: schema.GroupVersionKind{Group: "leaderworkerset.x-k8s.io", Version: "v1", Kind: "LeaderWorkerSet"},
		spec: func(pods, _ int) map[string]any {
			return map[string]any{"replicas": int64(2), "leaderWorkerTemplate": map[string]any{"size": int64(pods)}}
		},
		pod: func(pod *corev1.Pod, index int) {
			pod.Labels = map[string]string{
				"leaderworkerset.sigs.k8s.io/group-index":  "1",
				"leaderworkerset.sigs.k8s.io/worker-index": strconv.Itoa(index),
			}
		},
		leaf:    "group-1",
		minimum: func(_, pods int) int { return pods },
	},
}

func replica(index int) map[string]string {
	return map[string]string{"training.kubeflow.org/replica-type": "worker",
		"training.kubeflow.org/replica-index": strconv.Itoa(index)}
}

// TestSegments checks, for every kind, size and minimum: each index is in one segment with its neighbours, a segment
// needs all its pods, and the smallest number of segments is needed that surely has the minimum.
func TestSegments(t *testing.T) {
	for name, kind := range indexedKinds {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				size, pods := rapid.IntRange(1, 9).Draw(t, "size"), rapid.IntRange(1, 40).Draw(t, "pods")
				atATime := pods
				if kind.waves {
					// Whole segments, so that any minimum can start.
					atATime = min(pods, size*rapid.IntRange(1, 40).Draw(t, "segments at a time"))
				}
				needed := rapid.IntRange(1, atATime).Draw(t, "needed")
				workload := kind.workload(size, needed, pods, atATime)
				spec := podgroups.Decide(workload, nil).PodGroup.Spec

				minima := map[string]int{}
				for i := range pods {
					segment := leafOf(t, workload, kind.member(i))
					require.Equal(t, kind.segment(i/size), segment, "pod %d", i)
					minima[segment]++
				}
				require.Empty(t, cmp.Diff(minima, kind.minima(spec)), "pods that each segment needs (-has +needs)")
				kind.checkTogether(t, spec, kind.minimum(needed, pods), pods, size, atATime)
			})
		})
	}
}

// TestTheOrderOfPodsDoesNotMatter holds also with only some of the pods.
func TestTheOrderOfPodsDoesNotMatter(t *testing.T) {
	for name, kind := range indexedKinds {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				pods := rapid.IntRange(1, 20).Draw(t, "pods")
				workload := kind.workload(rapid.IntRange(1, 9).Draw(t, "size"), 1, pods, pods)
				want := podgroups.Decide(workload, nil)
				for _, i := range rapid.SliceOfDistinct(rapid.IntRange(0, pods-1), rapid.ID[int]).Draw(t, "order") {
					workload.Pods = append(workload.Pods, kind.member(i))
					require.Empty(t, cmp.Diff(want, podgroups.Decide(workload, nil)),
						"once pod %d is there (-before +then)", i)
				}
			})
		})
	}
}

func TestAPodWithoutAnIndexBelongsNowhere(t *testing.T) {
	for name, kind := range indexedKinds {
		for _, index := range []string{"", "x", "-1", "99999999999"} {
			pod := kind.member(0)
			pod.Name = "w-" + index
			for _, values := range []map[string]string{pod.Labels, pod.Annotations} {
				for key := range values {
					if key != "training.kubeflow.org/replica-type" && key != "leaderworkerset.sigs.k8s.io/group-index" &&
						key != "jobset.sigs.k8s.io/replicatedjob-name" && key != "jobset.sigs.k8s.io/job-index" {
						values[key] = index
					}
				}
			}
			workload := kind.workload(2, 1, 4, 4)
			membership, known := podgroups.MembershipOf(workload, pod)
			if known && membership.Fits(podgroups.Decide(workload, nil).PodGroup) {
				t.Errorf("%s: a pod with the index %q is in %s", name, index, membership.SubGroup)
			}
		}
		workload := kind.workload(2, 1, 4, 4)
		if membership, known := podgroups.MembershipOf(workload, kind.member(4)); known &&
			membership.Fits(podgroups.Decide(workload, nil).PodGroup) {
			t.Errorf("%s: pod 4 of 4 is in %s", name, membership.SubGroup)
		}
	}
}

func (k indexedKind) workload(size, needed, pods, atATime int) grouping.Workload {
	return grouping.Workload{Owner: grouping.Owner{
		Kind: k.kind,
		Object: &metav1.ObjectMeta{Name: "w", Namespace: "default", UID: types.UID("u"), Annotations: map[string]string{
			kai.AnnotationSegmentSize: strconv.Itoa(size), kai.AnnotationBatchMinMember: strconv.Itoa(needed),
			kai.AnnotationTopology: "network", kai.AnnotationSegmentRequired: "rack",
		}},
		Content: grouping.Fields{"spec": k.spec(pods, atATime)},
	}}
}

func (k indexedKind) member(index int) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("w-%d", index), Namespace: "default"}}
	k.pod(pod, index)
	return pod
}

func (k indexedKind) segment(i int) string {
	if k.leaf == scheduling.RootGroup {
		return fmt.Sprintf("segment-%d", i)
	}
	return fmt.Sprintf("%s.segment-%d", k.leaf, i)
}

func (k indexedKind) segments(spec scheduling.PodGroupSpec) []scheduling.SubGroup {
	var segments []scheduling.SubGroup
	for _, sub := range spec.SubGroups {
		if parent := sub.Parent; parent == nil && k.leaf == scheduling.RootGroup || parent != nil && *parent == k.leaf {
			segments = append(segments, sub)
		}
	}
	return segments
}

func (k indexedKind) minima(spec scheduling.PodGroupSpec) map[string]int {
	minima := map[string]int{}
	for _, segment := range k.segments(spec) {
		minima[segment.Name] = int(*segment.MinMember)
	}
	return minima
}

// checkTogether compares how many segments are needed together with the pods in the smallest of those segments that can
// exist at a time.
func (k indexedKind) checkTogether(t *rapid.T, spec scheduling.PodGroupSpec, needed, pods, size, atATime int) {
	together := spec.MinSubGroup
	for _, sub := range spec.SubGroups {
		if sub.Name == k.leaf {
			together = sub.MinSubGroup
		}
	}
	require.NotNil(t, together, "nothing says how many segments are needed together")
	least := func(segments int) int {
		held := min(pods, segments*size)
		if rest := pods % size; atATime == pods && rest > 0 && segments > 0 {
			held = rest + (segments-1)*size
		}
		return held
	}
	require.GreaterOrEqual(t, least(int(*together)), needed,
		"%d segments are needed together for %d of %d pods", *together, needed, pods)
	require.Less(t, least(int(*together)-1), needed,
		"%d segments are needed together for %d of %d pods", *together, needed, pods)
}

func leafOf(t *rapid.T, workload grouping.Workload, pod *corev1.Pod) string {
	membership, known := podgroups.MembershipOf(workload, pod)
	require.True(t, known, "pod %s is in %q, which is no segment", pod.Name, membership.SubGroup)
	require.True(t, membership.Fits(podgroups.Decide(workload, nil).PodGroup),
		"pod %s is in %q, which is no segment", pod.Name, membership.SubGroup)
	return membership.SubGroup
}
