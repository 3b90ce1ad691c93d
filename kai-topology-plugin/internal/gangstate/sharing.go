package gangstate

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
)

// Shares records what a pod that has been put on its node has to do with claims that are not allocated yet. Those that
// it allocates are awaited like volumes, and pods that use them too wait on their nodes until it has.
func (s *State) Shares(key gang.Key, pod types.UID, sharing kubeframework.Sharing) {
	s.change(key, func(r *record, _ *Effects) {
		known := r.assumed[pod]
		if known == nil {
			return
		}
		known.sharing = sharing
		if len(sharing.Allocates) > 0 {
			r.claims[pod] = sharing.Allocates[0]
		}
	})
}

// allocates reports whether a pod of the gang allocates a claim that is not allocated yet.
func (r *record) allocates(claim string) bool {
	for _, known := range r.assumed {
		if slices.Contains(known.sharing.Allocates, claim) {
			return true
		}
	}
	return false
}

// rides reports whether a pod waits for another one of the gang to allocate a claim.
func (r *record) rides(known *assumed) bool {
	return known != nil && slices.ContainsFunc(known.sharing.Rides, r.allocates)
}

// ridesAlong reports whether all claims that a pod waits for are allocated by others of its gang.
func (r *record) ridesAlong(known *assumed) bool {
	return !slices.ContainsFunc(known.sharing.Rides, func(claim string) bool { return !r.allocates(claim) })
}

// allowRiders lets the pods go that need not wait for a claim any more.
func (r *record) allowRiders(e *Effects) {
	for uid, known := range r.assumed {
		if known.letGo && len(known.sharing.Rides) > 0 && !r.rides(known) {
			e.Allow = append(e.Allow, uid)
			e.again(sweepAfter)
		}
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
