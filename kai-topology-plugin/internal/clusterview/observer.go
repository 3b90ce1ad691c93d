package clusterview

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/shared/packing"
)

// Observer remembers what decisions see of nodes, and finds out which are others than when it looked last. It has one
// user at a time.
type Observer struct {
	known map[string]*observed
	looks int
}

// observed is what a node was like when it was looked at last.
type observed struct {
	// given is the node as it was given.
	given kubeframework.Version
	offer offer
	used  packing.Resources
	// repellers are the pods on it that keep others away, in order.
	repellers []types.UID
	look      int
}

// Changed is a node that is another one than it was.
type Changed struct {
	Name string
	// Before and Now are its labels; nil if it was not there, or is not any more.
	Before, Now map[string]string
}

// Look returns the nodes that have changed since the last look in what they offer, in their labels, taints or cordon,
// or in what the pods on them use: all of them the first time. Repelled is set if pods came or went that keep others
// away, which may matter to nodes far from theirs.
func (o *Observer) Look(nodes []fwk.NodeInfo) (changed []Changed, repelled bool) {
	if o.known == nil {
		o.known = map[string]*observed{}
	}
	o.looks++
	for _, info := range nodes {
		name := info.Node().Name
		known := o.known[name]
		if known == nil {
			known = &observed{}
			o.known[name] = known
		}
		known.look = o.looks
		if known.given.Is(info) {
			continue
		}
		before := known.offer.labels
		different, repels := known.update(info)
		if different {
			changed = append(changed, Changed{Name: name, Before: before, Now: labelsOf(info)})
		}
		repelled = repelled || repels
	}
	for name, known := range o.known {
		if known.look != o.looks {
			changed = append(changed, Changed{Name: name, Before: known.offer.labels})
			repelled = repelled || len(known.repellers) > 0
			delete(o.known, name)
		}
	}
	return changed, repelled
}

// update takes over what a node is now.
func (k *observed) update(info fwk.NodeInfo) (different, repels bool) {
	k.given = kubeframework.VersionOf(info)
	first := k.used == nil
	if first || !k.offer.isOf(info) {
		different, k.offer = true, *offerOf(info)
		k.offer.labels = labelsOf(info)
	}
	if first || !kubeframework.TakesUp(info, k.used) {
		different, k.used = true, kubeframework.Used(info)
	}
	var repellers []types.UID
	for _, pod := range info.GetPodsWithRequiredAntiAffinity() {
		repellers = append(repellers, pod.GetPod().UID)
	}
	slices.Sort(repellers)
	repels = !slices.Equal(repellers, k.repellers)
	k.repellers = repellers
	return different, repels
}

// labelsOf returns the labels of a node, which are not nil.
func labelsOf(info fwk.NodeInfo) map[string]string {
	if labels := info.Node().Labels; labels != nil {
		return labels
	}
	return map[string]string{}
}

// Free returns what is free on a node as it was at the last look.
func (o *Observer) Free(node string) packing.Resources {
	known := o.known[node]
	if known == nil {
		return nil
	}
	free := maps.Clone(known.offer.allocatable)
	for resource, amount := range known.used {
		free[resource] -= amount
	}
	return free
}
