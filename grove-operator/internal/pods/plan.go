package pods

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/kueue"

	"packtree.dev/grove-operator/internal/layout"
)

// OverdueAfter is how long past the end of its grace period a pod that is being deleted keeps its index. A pod on a
// dead node stays Terminating for ever, and its replacement must not wait for ever.
const OverdueAfter = time.Minute

// Addition is a pod to create.
type Addition struct {
	// Name is the same for each request of the same pod, so that two requests, with an old view of the existing pods,
	// create one pod.
	Name string
	// Index is the lowest that no other pod has.
	Index int32
	// Alone is set for a pod that is below the minimum of its clique and that Kueue counts alone.
	Alone bool
}

// Plan is what to do about the pods of a PodClique.
type Plan struct {
	Create []Addition
	Delete []*corev1.Pod
	// Surplus reports whether pods are deleted because there are too many. With a view that lacks earlier deletions,
	// other pods would be deleted in addition.
	Surplus bool
	// Overdue are pods that are being deleted, on nodes that do not answer.
	Overdue Overdue
}

// Overdue are pods that are being deleted and are not gone, since their nodes do not answer.
type Overdue struct {
	// Serving are the overdue pods that still belong to a Service.
	Serving []*corev1.Pod
	// Next is when the next pod becomes overdue and loses its index; zero if none will.
	Next time.Time
}

// Decide compares the pods of a PodClique with the wanted number.
//
// Salt is part of the names of new pods: two plans with one salt have the same names. It is another each time for pods
// that must not have the name of an earlier one; existing must then be what the API server has.
func Decide(podClique *grovev1alpha1.PodClique, existing []*corev1.Pod, salt string, now time.Time) Plan {
	plan := Plan{Overdue: FindOverdue(existing, now)}
	var active []*corev1.Pod
	held := map[int32]bool{}
	for _, pod := range existing {
		index, indexed := layout.PodIndexOf(pod)
		switch {
		case pod.DeletionTimestamp != nil:
			// Kueue counts a pod of a group until it is gone, and deletes a replacement that is one too many.
			if indexed && (kueue.Managed(pod) && !countedAlone(pod) || now.Before(overdueAt(pod))) {
				held[index] = true
			}
		case !indexed || Ended(pod):
			plan.Delete = append(plan.Delete, pod)
			if indexed {
				held[index] = true
			}
		default:
			active = append(active, pod)
		}
	}
	wanted := int(layout.Bounded(podClique.Spec.Replicas))
	if len(active) > wanted {
		plan.Surplus = true
		plan.Delete = append(plan.Delete,
			surplus(active, len(active)-wanted, podClique.Labels[grovev1alpha1.LabelPodTemplateHash])...)
		return plan
	}
	plan.add(podClique, existing, holes(active, wanted-len(active)), held, salt)
	return plan
}

func overdueAt(pod *corev1.Pod) time.Time {
	return pod.DeletionTimestamp.Add(OverdueAfter)
}

// FindOverdue finds the overdue pods of a PodClique. Kubernetes leaves a pod that is being deleted among the endpoints
// of a Service that publishes pods before they are ready, with the hostname of its replacement: the operator has to
// remove it.
func FindOverdue(existing []*corev1.Pod, now time.Time) Overdue {
	var found Overdue
	for _, pod := range existing {
		if pod.DeletionTimestamp == nil {
			continue
		}
		overdue := overdueAt(pod)
		_, serving := pod.Labels[grovev1alpha1.LabelPodCliqueSetReplicaIndex]
		switch {
		case now.Before(overdue):
			if found.Next.IsZero() || overdue.Before(found.Next) {
				found.Next = overdue
			}
		case serving:
			found.Serving = append(found.Serving, pod)
		}
	}
	return found
}

// AwaitEnd reports whether a PodClique that is being deleted waits for its pods. It does not wait for overdue ones:
// they are gone when their node is back, when it is removed, or when a user deletes them by force.
func AwaitEnd(existing []*corev1.Pod, now time.Time) bool {
	return slices.ContainsFunc(existing, func(pod *corev1.Pod) bool {
		return pod.DeletionTimestamp == nil || now.Before(overdueAt(pod))
	})
}

// add plans a pod for every free index.
func (p *Plan) add(
	podClique metav1.Object, existing []*corev1.Pod, holes []int32, held map[int32]bool, salt string,
) {
	taken := map[string]bool{}
	for _, pod := range existing {
		taken[pod.Name] = true
	}
	for _, index := range holes {
		if held[index] {
			continue
		}
		name := FreeName(podClique, index, salt, taken)
		taken[name] = true
		p.Create = append(p.Create, Addition{Name: name, Index: index})
	}
}

// holes returns the lowest indexes that no active pod has.
func holes(active []*corev1.Pod, count int) []int32 {
	used := map[int32]bool{}
	for _, pod := range active {
		if index, ok := layout.PodIndexOf(pod); ok {
			used[index] = true
		}
	}
	var free []int32
	for index := int32(0); len(free) < count; index++ {
		if !used[index] {
			free = append(free, index)
		}
	}
	return free
}

// FreeName returns the PodClique's name with a suffix of five characters, in the form that the API server generates,
// but always the same one for an index and a salt as long as no known pod has it.
func FreeName(owner metav1.Object, index int32, salt string, taken map[string]bool) string {
	for attempt := 0; ; attempt++ {
		hash := fnv.New64a()
		fmt.Fprintf(hash, "%s/%d/%d", owner.GetUID(), index, attempt)
		hash.Write([]byte(salt))
		name := owner.GetName() + "-" + suffix(hash.Sum(nil))
		if !taken[name] {
			return name
		}
	}
}

// suffix makes five characters from a hash.
func suffix(hash []byte) string {
	ascii := slices.Clone(hash[:5])
	for i := range ascii {
		ascii[i] &= 0x7f // SafeEncodeString takes one byte a character.
	}
	return rand.SafeEncodeString(string(ascii))
}

// surplus chooses the pods that are deleted first: pods that only Kueue counts, then pods without a node, then pods
// that are not ready, then pods of an old template, then the newest.
func surplus(active []*corev1.Pod, count int, currentHash string) []*corev1.Pod {
	ordered := slices.Clone(active)
	slices.SortStableFunc(ordered, func(a, b *corev1.Pod) int {
		return cmp.Or(
			trueLast(!countedAlone(a), !countedAlone(b)),
			trueLast(Scheduled(a), Scheduled(b)),
			trueLast(Ready(a), Ready(b)),
			trueLast(ofTemplate(a, currentHash), ofTemplate(b, currentHash)),
			b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
			compareIndexes(b, a),
		)
	})
	return ordered[:count]
}

func trueLast(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func compareIndexes(a, b *corev1.Pod) int {
	indexA, _ := layout.PodIndexOf(a)
	indexB, _ := layout.PodIndexOf(b)
	return cmp.Compare(indexA, indexB)
}

func ofTemplate(pod *corev1.Pod, hash string) bool {
	return pod.Labels[grovev1alpha1.LabelPodTemplateHash] == hash
}

// Ended reports whether a pod has ended and will not be restarted.
func Ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// Active reports whether a pod counts: it has not ended and is not being deleted.
func Active(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && !Ended(pod)
}

// Scheduled reports whether a pod is on a node.
func Scheduled(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != ""
}

// Ready reports whether a pod is ready, with its current images.
func Ready(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue && !runsFormerImage(pod)
		}
	}
	return false
}
