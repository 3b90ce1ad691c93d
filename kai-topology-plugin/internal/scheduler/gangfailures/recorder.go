package gangfailures

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/lru"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// remembered is how many pods are known to have had their event before the API server shows it.
const remembered = 16_384

// informed are the pods that have had an event about their wait.
type informed struct {
	recent *lru.Cache
}

func newInformed() *informed {
	return &informed{recent: lru.New(remembered)}
}

// first reports whether the pod has had no event yet. The condition that goes with the event says so,
// also after a restart; the memory is for the moment until the cache has the condition. Pods that were never tried have
// conditions without an event.
func (t *informed) first(pod *corev1.Pod) bool {
	_, recently := t.recent.Get(pod.UID)
	t.recent.Add(pod.UID, nil)
	_, condition := podutil.GetPodCondition(&pod.Status, corev1.PodScheduled)
	return !recently && (condition == nil || condition.Status != corev1.ConditionFalse ||
		condition.Reason == corev1.PodReasonSchedulingGated || condition.Reason == scheduling.PodReasonWaitingForGang)
}

// recorder records the first event that says why a pod waits, in the words of its gang, and no further ones.
type recorder struct {
	events.EventRecorderLogger
	informed *informed
	sentence string
}

// WithLogger returns a recorder that logs elsewhere.
func (r *recorder) WithLogger(logger klog.Logger) events.EventRecorderLogger {
	return &recorder{
		EventRecorderLogger: r.EventRecorderLogger.WithLogger(logger), informed: r.informed, sentence: r.sentence,
	}
}

// Eventf records the event unless its pod has had one. The handler has no others than about an attempt that failed.
func (r *recorder) Eventf(regarding, related runtime.Object, eventType, reason, action, _ string, _ ...any) {
	if pod, ok := regarding.(*corev1.Pod); ok && !r.informed.first(pod) {
		return
	}
	r.EventRecorderLogger.Eventf(regarding, related, eventType, reason, action, "%s", r.sentence)
}
