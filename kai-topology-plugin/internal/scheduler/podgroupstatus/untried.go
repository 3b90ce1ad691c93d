package podgroupstatus

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// SetCondition has the condition of a pod that waits written. It does not wait for the API server.
type SetCondition func(pod *corev1.Pod, condition *corev1.PodCondition)

// tell has the pods that are not tried say why, and returns when to look again; 0 if there is no need.
func (w *Writer) tell(key gang.Key, observed Observed, condition metav1.Condition, now time.Time) time.Duration {
	pods, again := w.said.about(key).untold(observed, condition, now)
	for _, pod := range pods {
		message := condition.Message
		if observed.stray(pod) {
			message = observed.Gang.StrayMessage()
		}
		w.SetCondition(pod, &corev1.PodCondition{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: scheduling.PodReasonWaitingForGang,
			Message: message,
			ObservedGeneration: podutil.CalculatePodConditionObservedGeneration(&pod.Status, pod.Generation,
				corev1.PodScheduled),
		})
	}
	return again
}

// stray reports whether a pod names a leaf that its gang does not have.
func (o Observed) stray(pod *corev1.Pod) bool {
	return o.Gang != nil && slices.Contains(o.Gang.Strays, pod)
}

// untold returns the pods that wait and are not tried, once they have waited for long enough, and their gang has said
// the same for as long: more pods, or the PodGroup, may be about to come. No pod of a gang that cannot be planned is
// tried. Of others it is those without a condition, and strays. If there may be such pods later, again says when.
func (t *told) untold(
	observed Observed, condition metav1.Condition, now time.Time,
) (pods []*corev1.Pod, again time.Duration) {
	if t.sentence != condition.Message {
		t.sentence, t.since = condition.Message, now
	}
	for _, pod := range observed.Waiting {
		_, present := podutil.GetPodCondition(&pod.Status, corev1.PodScheduled)
		tried := observed.Hold == nil && (present != nil || condition.Status == metav1.ConditionTrue)
		if tried && !observed.stray(pod) {
			continue
		}
		age := min(now.Sub(t.since), now.Sub(pod.CreationTimestamp.Time))
		if age >= unfinished {
			pods = append(pods, pod)
		} else if left := unfinished - age; again == 0 || left < again {
			again = left
		}
	}
	return pods, again
}
