package overtaking

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

// ClaimOf is what a gang waits for that does not fit.
func ClaimOf(assembled *gang.Gang, answer *solve.Answer) gangstate.Claim {
	return gangstate.Claim{Rank: assembled.Rank(), Scarce: scarce(assembled, answer)}
}

// scarce returns the resources that the gang is short of: the ones that the answer names, else all that its pods
// request.
func scarce(assembled *gang.Gang, answer *solve.Answer) []string {
	var names []string
	for i := range answer.Explanations {
		for _, short := range answer.Explanations[i].Short {
			names = append(names, short.Resource)
		}
	}
	if len(names) == 0 {
		names = askedFor(assembled.Pending)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// askedFor returns the resources that pods ask for, but for the place that every pod takes.
func askedFor(pods []*corev1.Pod) (names []string) {
	for i, pod := range pods {
		if i > 0 && kubeframework.Alike(pods[i-1], pod) {
			continue
		}
		requests, err := kubeframework.Requests(pod)
		if err != nil {
			continue // Nothing is planned for such a pod.
		}
		for resource, amount := range requests {
			if amount > 0 && resource != kubeframework.ResourcePods {
				names = append(names, resource)
			}
		}
	}
	return names
}

// Asks returns the resources that any of the pods asks for. Every pod takes a place.
func Asks(pods []*corev1.Pod) sets.Set[string] {
	asked := sets.New(askedFor(pods)...)
	if len(pods) > 0 {
		asked.Insert(kubeframework.ResourcePods)
	}
	return asked
}

// TakingOf is what a gang takes by an answer.
func TakingOf(assembled *gang.Gang, answer *solve.Answer) gangstate.Taking {
	taking := gangstate.Taking{Rank: assembled.Rank()}
	if len(answer.Nodes) > 0 {
		taking.Asks = Asks(assembled.Pending)
	}
	return taking
}
