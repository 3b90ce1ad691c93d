package gangstate

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/shared/podgrouptree"
)

// A volume that waits for its first consumer is provisioned once its pod has a node, between Permit and the binding,
// and may take minutes or never come; so may a device that is to be prepared. No pod of a gang that starts is bound
// before as many as it needs have their volumes and devices: half a gang would hold its devices for nothing. A gang
// with a running pod has started.

// Provided records that a pod has all its volumes, and decides whether it is bound now. One that waits asks again once
// Effects.Provided is set.
func (s *State) Provided(key gang.Key, pod types.UID) (permission Permission, effects Effects) {
	effects = s.change(key, func(r *record, e *Effects) {
		_, awaited := r.claims[pod]
		delete(r.claims, pod)
		known, waits := r.assumed[pod], s.awaitsVolumes(r)
		if known != nil && len(known.sharing.Allocates)+len(known.sharing.Rides) > 0 {
			known.sharing = kubeframework.Sharing{}
			r.allowRiders(e)
		}
		e.Provided = awaited && !waits // A waiting pod asks again.
		switch {
		case known != nil && !known.letGo:
			permission = Return
		case waits:
			permission = Wait
		default:
			permission = Go
		}
		if awaited || waits {
			e.writeStatus(key)
		}
	})
	return permission, effects
}

// awaitsVolumes reports whether pods wait for the volumes of others.
func (s *State) awaitsVolumes(r *record) bool {
	if len(r.claims) == 0 || r.podGroup == nil || len(r.members.Standing()) > 0 {
		return false
	}
	tree, _ := s.parse(r)
	provided := map[string]int{}
	for uid, known := range r.assumed {
		if r.claims[uid] == "" {
			provided[gang.LeafOf(known.pod)]++
		}
	}
	return tree != nil && !tree.Root.Satisfied(func(leaf *podgrouptree.Group) int { return provided[leaf.Name] })
}

// unprovided returns a claim with a volume that the gang waits for, the first by name; empty if there is none.
func (s *State) unprovided(r *record) string {
	if !s.awaitsVolumes(r) {
		return ""
	}
	return slices.Min(slices.Collect(maps.Values(r.claims)))
}

// dropClaim is for a pod that is not on its way to a node any more. If others waited for its volume, they come back,
// and the gang is planned anew as a whole.
func (s *State) dropClaim(e *Effects, r *record, pod types.UID) {
	known := r.assumed[pod]
	r.rejectRiders(e, pod)
	recalled := r.claims[pod] != "" && known != nil && known.letGo && s.awaitsVolumes(r)
	delete(r.claims, pod)
	if !recalled {
		return
	}
	for _, known := range r.assumed {
		known.letGo = false
	}
	r.endPlan()
	e.reject(r.waiting(), "a pod of the gang lacks a volume or device")
	e.Provided = true
}
