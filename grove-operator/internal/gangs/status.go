package gangs

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
)

// GroupCounts counts the pods of one group of a gang.
type GroupCounts struct {
	// Wanted is how many pods there should be.
	Wanted int32
	// Scheduled is how many are on nodes, and Ready how many of those are ready.
	Scheduled, Ready int32
	// WasReady reports whether the group ever had its minimum of ready pods; then MinRunning is with how many of them
	// it keeps running.
	WasReady   bool
	MinRunning int32
	// Failing says why pods do not become ready by themselves; empty if none is known to fail.
	Failing string
}

// Status is the part of a PodGang's status that the operator writes. The condition Scheduled is in it only if no
// other writer has set it. Recreated says what of the gang is being recreated, and why; empty if nothing is.
func Status(
	gang *schedulerv1alpha1.PodGang, counts func(podGroup string) GroupCounts, recreated string,
) schedulerv1alpha1.PodGangStatus {
	missing, unscheduled, unready, breached := survey(gang, counts)
	phase := schedulerv1alpha1.PodGangPhaseRunning
	switch {
	case len(unscheduled) > 0:
		phase = schedulerv1alpha1.PodGangPhasePending
	case len(unready) > 0:
		phase = schedulerv1alpha1.PodGangPhaseStarting
	}
	conditions := []metav1.Condition{
		initialized(missing), ready(unready), unhealthy(breached), disruptionTarget(recreated),
	}
	if ours(meta.FindStatusCondition(gang.Status.Conditions, schedulerv1alpha1.ConditionScheduled), missing) {
		conditions = append(conditions, scheduled(unscheduled))
	}
	return schedulerv1alpha1.PodGangStatus{Phase: phase, Conditions: conditions}
}

// Silence is how long a new gang may be without the condition Scheduled before the operator takes it that there is no
// pod grouper of ours. Tests make it shorter, for they have none.
var Silence = 2 * time.Second

// FirstStatusDue returns until when the first status of a gang waits for the pod grouper's condition Scheduled; zero if
// it does not wait. Written before, it would have that condition too, which the pod grouper then overwrites.
func FirstStatusDue(gang *schedulerv1alpha1.PodGang, now time.Time) time.Time {
	said := meta.FindStatusCondition(gang.Status.Conditions, schedulerv1alpha1.ConditionScheduled) != nil
	if said || gang.Status.Phase != "" {
		return time.Time{}
	}
	return endOf(Silence, gang.CreationTimestamp.Time, now)
}

// ours reports whether the operator writes the condition Scheduled. Our pod grouper writes it from before the first pod
// on. If it is not there when all pods are, KAI's own grouper runs, which writes none.
func ours(scheduled *metav1.Condition, missing []string) bool {
	if scheduled == nil {
		return len(missing) == 0
	}
	return scheduled.Reason == schedulerv1alpha1.ReasonMinimaOnNodes ||
		scheduled.Reason == schedulerv1alpha1.ReasonMinimaNotOnNodes
}

// survey returns one phrase per group that lacks pods, minima on nodes, or ready minima, and per group that once had
// its minimum ready and no longer has. The phrases do not count pods: otherwise a status would be written for each
// pod of a gang that starts, and sent to every watcher of gangs.
func survey(
	gang *schedulerv1alpha1.PodGang, counts func(string) GroupCounts,
) (missing, unscheduled, unready, breached []string) {
	for _, group := range gang.Spec.PodGroups {
		have := counts(group.Name)
		if listed := int32(len(group.PodReferences)); listed < have.Wanted {
			missing = append(missing, fmt.Sprintf("%s has fewer than its %d pods", group.Name, have.Wanted))
		}
		minimum := group.MinReplicas
		if have.WasReady {
			minimum = min(minimum, have.MinRunning)
		}
		if have.Scheduled < minimum {
			unscheduled = append(unscheduled, group.Name)
		}
		if have.Ready < minimum {
			phrase := fmt.Sprintf("%s has fewer than %d ready pods", group.Name, minimum)
			if have.Failing != "" {
				phrase += ", as " + have.Failing
			}
			unready = append(unready, phrase)
			if have.WasReady {
				breached = append(breached, phrase)
			}
		}
	}
	return missing, unscheduled, unready, breached
}

// outcome is one of the two outcomes of a condition.
type outcome struct {
	status  metav1.ConditionStatus
	reason  string
	message string
}

// condition has the second outcome if there are reasons for it, with which its message ends, and else the first. It has
// no observedGeneration: only the operator writes a gang's spec, and would have to write the status after each change
// of it, such as one of the topology, without any news.
func condition(kind string, usual, otherwise outcome, because ...string) metav1.Condition {
	is := usual
	if len(because) > 0 {
		is = otherwise
		is.message += strings.Join(because, "; ")
	}
	return metav1.Condition{Type: kind, Status: is.status, Reason: is.reason, Message: is.message}
}

func initialized(missing []string) metav1.Condition {
	return condition(schedulerv1alpha1.ConditionInitialized,
		outcome{metav1.ConditionTrue, schedulerv1alpha1.ReasonPodGangPodsCreated, "all pods of the gang exist"},
		outcome{metav1.ConditionFalse, schedulerv1alpha1.ReasonPodGangPodsCreationPending, ""}, missing...)
}

// scheduled has no message if all is well: a PodCliqueSet repeats messages about pods beyond the minimum that have no
// room.
func scheduled(unscheduled []string) metav1.Condition {
	var because []string
	if len(unscheduled) > 0 {
		because = []string{strings.Join(unscheduled, ", "), "see the events of the pods and of their PodGroup"}
	}
	return condition(schedulerv1alpha1.ConditionScheduled,
		outcome{metav1.ConditionTrue, schedulerv1alpha1.ReasonMinimaOnNodes, ""},
		outcome{metav1.ConditionFalse, schedulerv1alpha1.ReasonMinimaNotOnNodes,
			"fewer pods on nodes than their minimum: "},
		because...)
}

func ready(unready []string) metav1.Condition {
	return condition(schedulerv1alpha1.ConditionReady,
		outcome{metav1.ConditionTrue, schedulerv1alpha1.ReasonMinimaReady, "every group has its minimum of ready pods"},
		outcome{metav1.ConditionFalse, schedulerv1alpha1.ReasonMinimaNotReady, ""}, unready...)
}

func unhealthy(breached []string) metav1.Condition {
	return condition(schedulerv1alpha1.ConditionUnhealthy,
		outcome{metav1.ConditionFalse, schedulerv1alpha1.ReasonHealthy, "no group has fallen below its minimum"},
		outcome{metav1.ConditionTrue, schedulerv1alpha1.ReasonMinAvailableBreached, ""}, breached...)
}

func disruptionTarget(recreated string) metav1.Condition {
	var because []string
	if recreated != "" {
		because = []string{recreated}
	}
	return condition(schedulerv1alpha1.ConditionDisruptionTarget,
		outcome{metav1.ConditionFalse, schedulerv1alpha1.ReasonNotDisrupted, "the gang is left alone"},
		outcome{metav1.ConditionTrue, schedulerv1alpha1.ReasonGangTermination, ""}, because...)
}
