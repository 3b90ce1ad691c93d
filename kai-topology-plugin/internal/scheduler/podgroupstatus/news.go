package podgroupstatus

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/scheduler/gangevents"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// unfinished is how long a gang may lack pods before an event says so: controllers create the PodGroup before the pods.
const unfinished = 10 * time.Second

// newsTo returns what has not been reported yet. If something is to be reported later unless it changes, again says
// when.
func newsTo(
	announced *announced, observed Observed, desired Desired, now time.Time,
) (news []gangevents.News, again time.Duration) {
	condition := desired.Condition
	age := now.Sub(condition.LastTransitionTime.Time)
	switch {
	case condition.Reason == scheduling.ReasonIncomplete && len(observed.Gang.Gated) > 0:
		// A scheduling gate holds the pods back on purpose; its controller says why.
	case condition.Reason == scheduling.ReasonIncomplete && age < unfinished:
		again = unfinished - age
	case condition.Reason != scheduling.ReasonWaiting && !announced.reasons.Has(condition.Reason):
		if condition.Status == metav1.ConditionTrue {
			announced.reasons.Clear() // If the gang waits again one day, that is news.
		}
		announced.reasons.Insert(condition.Reason)
		news = append(news, newsOf(desired))
	}
	news = append(news, repairNews(observed.Gang.PodGroup, desired.RepairPlanned)...)
	return append(news, strayNews(announced, observed.Gang)...), again
}

// repairNews reports each step of a repair, and why there is none.
func repairNews(podGroup *scheduling.PodGroup, planned *metav1.Condition) []gangevents.News {
	present := meta.FindStatusCondition(podGroup.Status.Conditions, scheduling.ConditionRepairPlanned)
	if planned == nil || present != nil && present.Reason == planned.Reason {
		return nil
	}
	kind := corev1.EventTypeWarning
	if planned.Status == metav1.ConditionTrue {
		kind = corev1.EventTypeNormal
	}
	return []gangevents.News{{Type: kind, Reason: planned.Reason, Note: planned.Message}}
}

func newsOf(desired Desired) gangevents.News {
	condition := desired.Condition
	if condition.Status != metav1.ConditionTrue {
		return gangevents.News{Type: corev1.EventTypeWarning, Reason: condition.Reason, Note: condition.Message}
	}
	note := "all pods that the gang needs have a node" + where(desired.SubGroups)
	if condition.Message != "" {
		note += "; " + condition.Message
	}
	return gangevents.News{Type: corev1.EventTypeNormal, Reason: condition.Reason, Note: note}
}

// where names the domains of the root, or of its groups where the root names no topology, as far as there is room.
func where(groups []scheduling.SubGroupStatus) string {
	const longest = 600
	var places []string
	length := 0
	for _, group := range groups {
		if len(group.Domains) == 0 {
			continue
		}
		place := domainsOf(group)
		if length += len(place); length > longest {
			places = append(places, "…")
			break
		}
		places = append(places, place)
		if group.Name == scheduling.RootGroup {
			break
		}
	}
	if len(places) == 0 {
		return ""
	}
	return ": " + strings.Join(places, "; ")
}

func domainsOf(group scheduling.SubGroupStatus) string {
	const most = 4
	var levels []string
	for _, level := range slices.SortedFunc(maps.Keys(group.Domains), func(a, b string) int {
		return cmp.Or(cmp.Compare(depth(group.Domains[a]), depth(group.Domains[b])), cmp.Compare(a, b))
	}) {
		domains := group.Domains[level]
		shown := domains[:min(most, len(domains))]
		text := level + " " + strings.Join(shown, ", ")
		if more := len(domains) - len(shown) + int(group.MoreDomains[level]); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		levels = append(levels, text)
	}
	text := strings.Join(levels, ", ")
	if group.Name != scheduling.RootGroup {
		text = group.Name + " in " + text
	}
	return text
}

// depth is how far down the topology the domains of a level are.
func depth(domains scheduling.Domains) int { return strings.Count(domains[0], "/") }

// strayNews is for each pod that names a leaf which does not exist, and for the PodGroup about the first.
func strayNews(announced *announced, g *gang.Gang) []gangevents.News {
	var news []gangevents.News
	for _, pod := range g.Strays {
		if announced.strays.Has(pod.UID) {
			continue
		}
		announced.strays.Insert(pod.UID)
		note := fmt.Sprintf("the pod names subgroup %q, which is not a leaf of PodGroup %s, and is not scheduled",
			gang.LeafOf(pod), g.PodGroup.Name)
		news = append(news, gangevents.News{
			Pod: pod, Type: corev1.EventTypeWarning, Reason: gangevents.UnknownSubGroup, Note: note,
		})
	}
	if len(news) > 0 && !announced.reasons.Has(gangevents.UnknownSubGroup) {
		announced.reasons.Insert(gangevents.UnknownSubGroup)
		news = append(news, gangevents.News{
			Type: corev1.EventTypeWarning, Reason: gangevents.UnknownSubGroup, Note: g.StrayMessage(),
		})
	}
	return news
}
