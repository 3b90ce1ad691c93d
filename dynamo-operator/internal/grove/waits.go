package grove

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
)

// waits says why replicas of a component have no nodes: the scheduler's message about their gang. Empty if none waits,
// or if there is no message.
func (s Standing) waits(component *v1beta1.ComponentSpec) string {
	wanted, scheduled := s.placed(component)
	if s.PodCliqueSet == nil || scheduled >= wanted {
		return ""
	}
	if held := s.heldForTopology(); held != "" {
		return held
	}
	base := fmt.Sprintf("%s-0", s.PodCliqueSet.Name)
	if said, placed := s.saidOf(base); !names.Grouped(component) || !placed {
		return said
	}
	said, _ := s.saidOf(s.waitingGang(base + "-" + names.Component(component.Name) + "-"))
	return said
}

// placed is how many replicas of a component are wanted, and how many have nodes.
func (s Standing) placed(component *v1beta1.ComponentSpec) (wanted, scheduled int32) {
	if clique := s.Cliques[component.Name]; clique != nil {
		return clique.Spec.Replicas, clique.Status.ScheduledReplicas
	}
	if group := s.Groups[component.Name]; group != nil {
		return group.Spec.Replicas, group.Status.ScheduledReplicas
	}
	return 0, 0
}

// fails says why replicas of a component have nodes and do not become ready by themselves. Empty if none is known to
// fail.
func (s Standing) fails(component *v1beta1.ComponentSpec) string {
	var conditions []metav1.Condition
	if clique := s.Cliques[component.Name]; clique != nil {
		conditions = clique.Status.Conditions
	} else if group := s.Groups[component.Name]; group != nil {
		conditions = group.Status.Conditions
	}
	if failing := meta.FindStatusCondition(conditions, grovev1alpha1.ConditionPodsFailing); failing != nil {
		return failing.Message
	}
	return ""
}

// heldForTopology says why pods keep their scheduling gate while a level is missing, if the user has asked for that.
func (s Standing) heldForTopology() string {
	judged := meta.FindStatusCondition(s.PodCliqueSet.Status.Conditions,
		grovev1alpha1.ConditionTopologyLevelsUnavailable)
	missing := s.PodCliqueSet.Annotations[grovev1alpha1.AnnotationMissingTopologyLevel]
	if missing != grovev1alpha1.MissingTopologyLevelHold ||
		judged == nil || judged.Status == metav1.ConditionFalse {
		return ""
	}
	return judged.Message
}

// waitingGang is the gang of the lowest replica of a scaling group that is not placed.
func (s Standing) waitingGang(prefix string) string {
	first, lowest := "", math.MaxInt
	for _, gang := range s.PodCliqueSet.Status.PodGangStatuses {
		suffix, ok := strings.CutPrefix(gang.Name, prefix)
		number, err := strconv.Atoi(suffix)
		if !ok || err != nil || number >= lowest {
			continue
		}
		if _, placed := s.saidOf(gang.Name); !placed {
			first, lowest = gang.Name, number
		}
	}
	return first
}

// saidOf is the message about a gang, and whether its minimum has nodes. For a placed gang the message is about pods
// beyond the minimum. A set that does not list all its gangs leaves out placed ones first.
func (s Standing) saidOf(name string) (sentence string, placed bool) {
	for _, gang := range s.PodCliqueSet.Status.PodGangStatuses {
		if gang.Name != name {
			continue
		}
		if scheduled := meta.FindStatusCondition(gang.Conditions,
			schedulerv1alpha1.ConditionScheduled); scheduled != nil {
			return scheduled.Message, scheduled.Status == metav1.ConditionTrue
		}
		initialized := meta.FindStatusCondition(gang.Conditions, schedulerv1alpha1.ConditionInitialized)
		if initialized != nil && initialized.Status == metav1.ConditionFalse {
			return initialized.Message, false
		}
	}
	status := s.PodCliqueSet.Status
	return "", status.PodGangs != nil && int(status.PodGangs.Total) > len(status.PodGangStatuses)
}
