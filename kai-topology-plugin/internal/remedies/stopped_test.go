package remedies_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/inventory"
)

// nameOf is how a sentence names a pod that is to stop.
func nameOf(pod *corev1.Pod) string {
	if key, member := gang.KeyOf(pod); member {
		return "gang default/" + key.Name
	}
	return "pod default/" + pod.Name
}

// clearDomain stops the gangs, and the pods without one, that stand in a domain and would not be back at once.
func clearDomain(cluster *inventory.Inventory, words []string) {
	inside, leave := nodesIn(cluster, words[1]), map[string]bool{}
	for _, pod := range cluster.Pods {
		back := len(pod.OwnerReferences) > 0 && pod.OwnerReferences[0].Kind == "DaemonSet"
		if inside[pod.Spec.NodeName] && !back {
			leave[nameOf(pod)] = true
		}
	}
	leave["gang default/ask"] = false
	cluster.Pods = slices.DeleteFunc(cluster.Pods, func(pod *corev1.Pod) bool { return leave[nameOf(pod)] })
}

// endLeaving has pods that are about to be gone be gone.
func endLeaving(cluster *inventory.Inventory, _ []string) {
	cluster.Pods = slices.DeleteFunc(cluster.Pods, func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil })
}

// whoStops is one of the list of those that stop.
var whoStops = regexp.MustCompile(`^(?:(\d+) of \d+ pods of )?(.*) \(priority -?\d+\)$`)

// stop is the cluster without those that stop, and those that stop already where the sentence asks for it; of a gang of
// which only some stop, in as many ways as there are.
func stop(cluster *inventory.Inventory, words []string) []*inventory.Inventory {
	if words[2] != "" {
		endLeaving(cluster, words)
	}
	all := []*inventory.Inventory{cluster}
	for one := range strings.SplitSeq(strings.ReplaceAll(words[1], ", non-preemptible", ""), ", ") {
		parts := whoStops.FindStringSubmatch(one)
		if parts == nil {
			panic(fmt.Sprintf("nobody is called %q", one))
		}
		var ways []*inventory.Inventory
		for _, in := range all {
			ways = append(ways, without(in, parts[2], parts[1])...)
		}
		all = ways
	}
	return all
}

// without is a cluster without so many pods of one name, all where the number is empty; those that leave already are
// none of so many.
func without(cluster *inventory.Inventory, name, some string) []*inventory.Inventory {
	var its []*corev1.Pod
	for _, pod := range cluster.Pods {
		if nameOf(pod) == name && (some == "" || pod.DeletionTimestamp == nil) {
			its = append(its, pod)
		}
	}
	leaving := len(its)
	if some != "" {
		leaving = number(some)
	}
	var ways []*inventory.Inventory
	for chosen := range 1 << len(its) {
		gone := map[*corev1.Pod]bool{}
		for i, pod := range its {
			if chosen&(1<<i) != 0 {
				gone[pod] = true
			}
		}
		if len(gone) == leaving {
			other := copied(cluster)
			other.Pods = slices.DeleteFunc(slices.Clone(cluster.Pods), func(pod *corev1.Pod) bool { return gone[pod] })
			ways = append(ways, other)
		}
	}
	return ways
}
