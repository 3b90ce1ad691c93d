package owners

import (
	"sync"

	"packtree.dev/podgrouper/internal/grouping"
)

// Key names an owner for an index of pods by their first owner: by uid, or for a PodGang by name, since its pods do not
// know its uid.
func (r Reference) Key() string {
	if r.Kind.GroupKind() == PodGangKind.GroupKind() {
		return "podgang/" + r.Name
	}
	return string(r.UID)
}

// ReferenceTo returns the reference to the owner in an object directly below it.
func ReferenceTo(owner grouping.Owner) Reference {
	return Reference{Kind: owner.Kind, Namespace: owner.GetNamespace(), Name: owner.GetName(), UID: owner.GetUID()}
}

// Dependents remembers, from the walks of pods, which owners are below which, so that a change of an owner finds the
// pods below it. It has one entry an owner, however many pods there are.
type Dependents struct {
	mutex sync.Mutex
	below map[Reference]map[Reference]struct{}
}

// NewDependents returns an empty Dependents.
func NewDependents() *Dependents {
	return &Dependents{below: map[Reference]map[Reference]struct{}{}}
}

// Walk runs a walk, by Walk or Above, and remembers its chain. If the chain is new it runs the walk again: a change of
// an owner after the owner was read and before it was remembered would reach no pod.
func (d *Dependents) Walk(walk func() (Chain, error)) (Chain, error) {
	for {
		chain, err := walk()
		if err != nil || !d.remember(chain) {
			return chain, err
		}
	}
}

// remember records the owners of a chain, and reports whether some of them are new.
func (d *Dependents) remember(chain Chain) bool {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	learnt := false
	for i := 1; i < len(chain.Owners); i++ {
		lower, upper := ReferenceTo(chain.Owners[i-1]), ReferenceTo(chain.Owners[i])
		if d.below[upper] == nil {
			d.below[upper] = map[Reference]struct{}{}
		}
		if _, known := d.below[upper][lower]; !known {
			d.below[upper][lower] = struct{}{}
			learnt = true
		}
	}
	return learnt
}

// Below returns the owner itself and all owners known to be below it. If a change of the owner may affect the
// workload of a pod, the pod's first owner is one of these.
func (d *Dependents) Below(owner Reference) []Reference {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	found := []Reference{owner}
	seen := map[Reference]bool{owner: true}
	for i := 0; i < len(found); i++ {
		for lower := range d.below[found[i]] {
			if !seen[lower] {
				seen[lower] = true
				found = append(found, lower)
			}
		}
	}
	return found
}

// Forget drops what is known about an owner that was deleted.
func (d *Dependents) Forget(owner Reference) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	delete(d.below, owner)
	for upper, lowers := range d.below {
		delete(lowers, owner)
		if len(lowers) == 0 {
			delete(d.below, upper)
		}
	}
}
