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

// tell has the pods that are not tried say what their gang says, and returns when to look again; 0 if there is no need.
func (w *Writer) tell(key gang.Key, observed Observed, condition metav1.Condition, now time.Time) time.Duration {
	pods, again := w.said.about(key).untold(observed, condition, now)
	for _, pod := range pods {
		w.SetCondition(pod, &corev1.PodCondition{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: scheduling.PodReasonWaitingForGang,
			Message: condition.Message,
			ObservedGeneration: podutil.CalculatePodConditionObservedGeneration(&pod.Status, pod.Generation,
				corev1.PodScheduled),
		})
	}
	return again
}

// untold returns the pods that wait and are not tried, once their gang says the same for long enough: more pods may be
// about to come, and the sentence about to change. No pod of a gang that cannot be planned is tried. Of others it is
// those without a condition. If there may be such pods later, again says when.
func (t *told) untold(
	observed Observed, condition metav1.Condition, now time.Time,
) (pods []*corev1.Pod, again time.Duration) {
	if t.sentence != condition.Message {
		t.sentence, t.since = condition.Message, now
	}
	if condition.Status == metav1.ConditionTrue {
		return nil, 0
	}
	pods = observed.Waiting
	if observed.Hold == nil {
		pods = slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool {
			_, present := podutil.GetPodCondition(&pod.Status, corev1.PodScheduled)
			return present != nil
		})
	}
	if age := now.Sub(t.since); len(pods) > 0 && age < unfinished {
		return nil, unfinished - age
	}
	return pods, 0
}
