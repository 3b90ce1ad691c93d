package gangstate

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

// share records what an assumed pod has to do with claims that are not allocated yet. The claims that it allocates are
// awaited like volumes, and pods that use them too wait on their nodes until it has.
func (r *record) share(pod types.UID, sharing kubeframework.Sharing) {
	r.assumed[pod].sharing = sharing
	if len(sharing.Allocates) > 0 {
		r.claims[pod] = sharing.Allocates[0]
	}
}

// allocating returns the claims that pods of the gang allocate and that are not allocated yet.
func (r *record) allocating() sets.Set[string] {
	claims := sets.New[string]()
	for _, known := range r.assumed {
		claims.Insert(known.sharing.Allocates...)
	}
	return claims
}

// rides reports whether a pod waits for another one of the gang to allocate a claim.
func (r *record) rides(known *assumed) bool {
	return known != nil && len(known.sharing.Rides) > 0 && r.allocating().HasAny(known.sharing.Rides...)
}

// ridesAlong reports whether all claims that a pod waits for are allocated by others of its gang.
func (r *record) ridesAlong(known *assumed) bool {
	return len(known.sharing.Rides) == 0 || r.allocating().HasAll(known.sharing.Rides...)
}

// allowRiders releases the first of the pods that need not wait for the allocation of a claim any more. Each of them is
// entered in the claim: many at a time would conflict, and kube-scheduler gives up after a few attempts.
func (r *record) allowRiders(e *Effects) {
	var next types.UID
	allocating := r.allocating()
	for uid, known := range r.assumed {
		rides := known.sharing.Rides
		if known.letGo && len(rides) > 0 && !allocating.HasAny(rides...) && (next == "" || uid < next) {
			next = uid
		}
	}
	if next != "" {
		e.Allow = append(e.Allow, next)
		e.again(sweepAfter)
	}
}

// rejectRiders has the pods come back that wait for a pod to allocate a claim, which it does not.
func (r *record) rejectRiders(e *Effects, pod types.UID) {
	lost := r.assumed[pod]
	if lost == nil {
		return
	}
	for uid, known := range r.assumed {
		if known.letGo && slices.ContainsFunc(known.sharing.Rides, func(claim string) bool {
			return slices.Contains(lost.sharing.Allocates, claim)
		}) {
			e.reject([]types.UID{uid}, "a claim that the pod shares was not allocated")
		}
	}
}
