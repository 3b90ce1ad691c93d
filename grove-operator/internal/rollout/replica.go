// Package rollout decides how a changed template reaches running pods: which replica of a set is updated next, and which
// of its pods are replaced now. It looks at what there is and remembers nothing, but for the turn that the set's status
// records.
package rollout

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Pod is a pod that counts: it has not ended, and nobody deletes it.
type Pod struct {
	// Index is the pod's index in its PodClique.
	Index int32
	// Current reports whether the pod was made from the template that the set has now.
	Current bool
	// Ready reports whether it says that it is ready, Scheduled whether it stands on a node. How often it restarted does
	// not count.
	Ready, Scheduled bool
	// Object is the pod itself.
	Object *corev1.Pod
}

// Clique is a PodClique and its pods.
type Clique struct {
	// Name of the PodClique.
	Name string
	// Prepared reports whether the PodClique has the template that the set has now, so that what replaces a pod has it too.
	Prepared bool
	// Replicas is how many pods there are to be, and Minimum how many of them are needed.
	Replicas, Minimum int32
	// Reached reports whether the minimum was ever ready.
	Reached bool
	// Failing is what the PodClique says of pods that cannot run, and Unscheduled what the scheduler says of the PodClique's gang
	// while it has no room for its minimum; empty if they say nothing.
	Failing, Unscheduled string
	// Refused is the error with which the PodClique's pods were not made or deleted; empty if there was none.
	Refused string
	// Pods are in the order of their indexes.
	Pods []Pod
}

// Copy is one copy of a scaling group. It is replaced as a whole, because its pods work as one.
type Copy struct {
	// Index of the copy.
	Index int32
	// Cliques are the PodCliques of the copy that exist, Missing those that do not.
	Cliques []Clique
	Missing []string
}

// Group is a scaling group of a replica.
type Group struct {
	// Name of the PodCliqueScalingGroup.
	Name string
	// Exists is false as long as the PodCliqueScalingGroup is not there.
	Exists bool
	// Minimum is how many copies are needed.
	Minimum int32
	// MaxUnavailable is how many copies may be away at a time for the sake of the update; less than 1 is 1.
	MaxUnavailable int32
	// MaxSurge is how many copies may be made beyond replicas, and Strict is set if none may be away without one of these.
	MaxSurge int32
	Strict   bool
	// Template is the group's name in the template.
	Template string
	// Copies are those that there are to be, in the order of their indexes. The last of them, so many as Surge, are beyond
	// replicas for the time of the update.
	Copies []Copy
	Surge  int
}

// Replica is one replica of a set.
type Replica struct {
	// Cliques are the standalone ones that exist, in the order of the template, Missing those that do not.
	Cliques []Clique
	Missing []string
	// Groups are in the order of the template.
	Groups []Group
}

func (c *Clique) count(is func(Pod) bool) int32 {
	var count int32
	for _, pod := range c.Pods {
		if is(pod) {
			count++
		}
	}
	return count
}

func (c *Clique) outdated() int32 {
	return c.count(func(pod Pod) bool { return !pod.Current })
}

func (c *Clique) ready() int32 {
	return c.count(func(pod Pod) bool { return pod.Ready })
}

func (c *Clique) available() bool {
	return c.ready() >= c.Minimum
}

// neverStood reports whether a clique waits for room that it never had: it was not touched while it ran, and so holds up
// nobody.
func (c *Clique) neverStood() bool {
	return !c.Reached && c.Prepared && c.outdated() == 0 &&
		c.count(func(pod Pod) bool { return pod.Scheduled }) < c.Minimum
}

func (c *Copy) all(is func(*Clique) bool) bool {
	return !slices.ContainsFunc(c.Cliques, func(clique Clique) bool { return !is(&clique) })
}

func (c *Copy) available() bool {
	return len(c.Missing) == 0 && c.all((*Clique).available)
}

func (c *Copy) neverStood() bool {
	return len(c.Missing) == 0 && c.all(func(clique *Clique) bool { return clique.outdated() == 0 && clique.Prepared }) &&
		slices.ContainsFunc(c.Cliques, func(clique Clique) bool { return clique.neverStood() })
}

func (c *Copy) outdated() bool {
	return !c.all(func(clique *Clique) bool { return clique.outdated() == 0 })
}

// regular are the copies of a group that stay after the update, surge those beyond replicas.
func (g *Group) regular() []Copy { return g.Copies[:len(g.Copies)-g.Surge] }

func (g *Group) surge() []Copy { return g.Copies[len(g.Copies)-g.Surge:] }

// available counts those of some copies that are available.
func available(copies []Copy) (count int) {
	for i := range copies {
		if copies[i].available() {
			count++
		}
	}
	return count
}

func byIndex(a, b Pod) int {
	return cmp.Compare(a.Index, b.Index)
}
