package clusterview

import (
	"hash/maphash"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/shared/packing"
)

// Basis is what an answer rests on, so that it can be decided later whether it has to be looked for anew. The zero
// value is a basis that never holds.
type Basis struct {
	// moment is the view's at the time of the answer, 0 if other things than nodes and what is used of them had a say.
	moment int
	// labels are the keys of the node labels that mattered.
	labels sets.Set[string]
	// reserved is a fingerprint of the room that was kept for others, 0 if there was none.
	reserved uint64
	// unprovided are resources that a DeviceClass may come to provide.
	unprovided []string
}

// Lasts reports whether the answer rests on nothing but nodes and what is used of them.
func (b Basis) Lasts() bool { return b.moment != 0 }

// Reads reports whether a label of nodes mattered to the answer. Of an answer that rests on other things too, any may
// have.
func (b Basis) Reads(label string) bool { return b.moment == 0 || b.labels.Has(label) }

// Basis returns what a decision on the trial as it began rests on.
func (t *Trial) Basis() Basis {
	labels, all := t.shapes.Labels()
	if !all || len(t.ports) > 0 || len(t.shapes.Passing()) > 0 {
		return Basis{}
	}
	return Basis{
		moment: t.view.moments.now, labels: t.labels.Union(labels), reserved: t.reserved,
		unprovided: t.unprovided,
	}
}

// Reserves reports whether the answer rests on room that was kept for others.
func (b Basis) Reserves() bool { return b.reserved != 0 }

// Holds reports whether a gang that had no place then has none now: no node came, grew, lost a taint, a cordon or a
// pod, or changed a label that mattered, no DeviceClass provides what it asks for, and the room that is kept for
// others, which need not be given unless the answer rests on any, is the same.
func (v *View) Holds(basis Basis, nodes []fwk.NodeInfo, reserved Reserved) bool {
	if basis.moment == 0 || slices.ContainsFunc(basis.unprovided, v.Resources().Provides) {
		return false
	}
	v.Follow(nodes)
	if v.moments.better > basis.moment {
		return false
	}
	for label := range basis.labels {
		if v.moments.relabelled[label] > basis.moment {
			return false
		}
	}
	return basis.reserved == 0 || basis.reserved == fingerprint(reserved)
}

// Bettered returns a number that grows whenever the last seen nodes have room or labels that they did not have before.
func (v *View) Bettered() int { return v.moments.now }

var seed = maphash.MakeSeed()

// fingerprint is the same for reserved rooms that are the same, and 0 for none.
func fingerprint(reserved Reserved) (sum uint64) {
	for node, pods := range reserved {
		for _, pod := range pods {
			sum += maphash.String(seed, node+"/"+string(pod.UID))
		}
	}
	return sum
}

// moments remember when nodes changed for the better.
type moments struct {
	// now counts the changes, from 1 on.
	now int
	// better is the last change that freed room, and relabelled the last change of each label.
	better     int
	relabelled map[string]int
}

func newMoments() moments { return moments{now: 1, relabelled: map[string]int{}} }

// note compares what a node offers with what was known of it, and noteUse what pods take of it.
func (m *moments) note(known *seen, offered *offer) {
	if known.version == 0 || grew(known.offer.allocatable, offered.allocatable) || admits(&known.offer, offered) {
		m.now++
		m.better = m.now
	}
	for label := range changed(known.offer.labels, offered.labels) {
		m.now++
		m.relabelled[label] = m.now
	}
}

func (m *moments) noteUse(before, now packing.Resources) {
	if grew(now, before) {
		m.now++
		m.better = m.now
	}
}

// grew reports whether there is more of anything after than before.
func grew(before, after packing.Resources) bool {
	for resource, amount := range after {
		if amount > before[resource] {
			return true
		}
	}
	return false
}

// admits reports whether a node may take pods that it did not take before: it lost a cordon or a taint.
func admits(before, after *offer) bool {
	return before.cordoned && !after.cordoned || slices.ContainsFunc(before.taints, func(taint corev1.Taint) bool {
		return !slices.ContainsFunc(after.taints, func(other corev1.Taint) bool {
			return taint.MatchTaint(&other) && taint.Value == other.Value
		})
	})
}

// changed returns the keys of the labels that differ.
func changed(before, after map[string]string) sets.Set[string] {
	if maps.Equal(before, after) {
		return nil
	}
	keys := sets.New[string]()
	for _, pair := range [][2]map[string]string{{before, after}, {after, before}} {
		for key, value := range pair[0] {
			if other, ok := pair[1][key]; !ok || other != value {
				keys.Insert(key)
			}
		}
	}
	return keys
}

// Aside runs a function while the nodes are shown changed, and restores them afterwards. Earlier answers stay valid:
// see Holds. The view has no other user meanwhile.
func (v *View) Aside(nodes []fwk.NodeInfo, run func() error) error {
	v.Follow(nodes)
	before := v.moments
	before.relabelled = maps.Clone(before.relabelled)
	err := run()
	v.Follow(nodes)
	v.moments = before
	return err
}
