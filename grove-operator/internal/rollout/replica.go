// Package rollout decides how a changed template reaches running pods: which replica of a set is updated next, and
// which of its pods are replaced now. It decides by the present objects alone, except for the turn that the set's
// status records.
package rollout

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Pod is an active pod: it has not ended and is not being deleted.
type Pod struct {
	// Index is the pod's index in its PodClique.
	Index int32
	// Current reports whether the pod was made from the set's current template.
	Current bool
	// Ready reports whether the pod is ready, Scheduled whether it is on a node. How often it restarted does not count.
	Ready, Scheduled bool
	// NoRoom reports whether the scheduler looked for a node and found none.
	NoRoom bool
	// Object is the pod itself.
	Object *corev1.Pod
}

// Clique is a PodClique and its pods.
type Clique struct {
	// Name of the PodClique.
	Name string
	// Prepared reports whether the PodClique has the set's current template, so that the replacement of a pod has it
	// too.
	Prepared bool
	// Replicas is how many pods are wanted, and Minimum how many of them are needed.
	Replicas, Minimum int32
	// Reached reports whether the minimum was ever ready.
	Reached bool
	// Failing is the PodClique's message about pods that cannot run, and Unscheduled the scheduler's message about the
	// PodClique's gang while there is no room for its minimum; empty if there is none.
	Failing, Unscheduled string
	// Refused is the error of the PodClique when it created or deleted pods; empty if there was none.
	Refused string
	// Pods sorted by index.
	Pods []Pod
}

// Copy is one copy of a scaling group. It is replaced as a whole, because its pods work together.
type Copy struct {
	// Index of the copy.
	Index int32
	// Cliques are the existing PodCliques of the copy, Missing the names of the others.
	Cliques []Clique
	Missing []string
}

// Group is a scaling group of a replica.
type Group struct {
	// Name of the PodCliqueScalingGroup, and Template of the group in the set's template.
	Name, Template string
	// Exists is false as long as the PodCliqueScalingGroup does not exist.
	Exists bool
	// Minimum is how many copies are needed.
	Minimum int32
	// MaxUnavailable is how many copies the update may make unavailable at a time; less than 1 is 1.
	MaxUnavailable int32
	// MaxSurge is how many copies the update makes beyond replicas before it takes others away; 0 if it makes none.
	// MaxCopies is how many copies the group can have with them.
	MaxSurge, MaxCopies int32
	// Copies are the wanted ones, sorted by index. The last of them, as many as Surge, are beyond replicas and exist
	// only during the update.
	Copies []Copy
	Surge  int
}

// Replica is one replica of a set.
type Replica struct {
	// Cliques are the existing standalone ones, in the order of the template, Missing the names of the others.
	Cliques []Clique
	Missing []string
	// Groups in the order of the template.
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

// neverStood reports whether a clique waits for room that it never had: the update did not interrupt it, so it does not
// hold the update up.
func (c *Clique) neverStood() bool {
	return !c.Reached && c.Prepared && c.outdated() == 0 &&
		c.count(func(pod Pod) bool { return pod.Scheduled }) < c.Minimum
}

// lacksRoom reports whether a clique has its minimum, and lacks nothing but pods that cannot come: the scheduler has no
// node for them, or the API server does not take them. Without such pods it is ready.
func (c *Clique) lacksRoom() bool {
	absent := c.absent()
	return c.Prepared && c.available() && (absent == 0 || absent > 0 && c.Refused != "") &&
		c.count(func(pod Pod) bool { return !pod.Ready && !pod.NoRoom }) == 0
}

// absent is how many pods are wanted and do not exist.
func (c *Clique) absent() int { return int(c.Replicas) - len(c.Pods) }

// takenAreBack reports whether all pods of a clique that the update took are back, or as many others came instead. It
// takes the lowest index first, so that it cannot have taken a pod above the first old one.
func (c *Clique) takenAreBack() bool {
	first := slices.IndexFunc(c.Pods, func(pod Pod) bool { return !pod.Current })
	if first < 0 {
		return true
	}
	away := min(c.absent(), int(c.Pods[first].Index)-first)
	for _, pod := range c.Pods[:first] {
		if !pod.Ready {
			away++
		}
	}
	came := 0
	for _, pod := range c.Pods[first:] {
		if pod.Current && pod.Ready {
			came++
		}
	}
	return away <= came
}

func (c *Copy) all(is func(*Clique) bool) bool {
	return !slices.ContainsFunc(c.Cliques, func(clique Clique) bool { return !is(&clique) })
}

func (c *Copy) available() bool {
	return len(c.Missing) == 0 && c.all((*Clique).available)
}

func (c *Copy) neverStood() bool {
	return len(c.Missing) == 0 && c.all(
		func(clique *Clique) bool { return clique.outdated() == 0 && clique.Prepared }) &&
		slices.ContainsFunc(c.Cliques, func(clique Clique) bool { return clique.neverStood() })
}

func (c *Copy) outdated() bool {
	return !c.all(func(clique *Clique) bool { return clique.outdated() == 0 })
}

// regular are the copies of a group that stay after the update; the others are beyond replicas.
func (g *Group) regular() []Copy { return g.Copies[:len(g.Copies)-g.Surge] }

func (g *Group) surge() []Copy { return g.Copies[len(g.Copies)-g.Surge:] }

// available counts the available copies.
func (g *Group) available() (count int) {
	for i := range g.Copies {
		if g.Copies[i].available() {
			count++
		}
	}
	return count
}

func byIndex(a, b Pod) int {
	return cmp.Compare(a.Index, b.Index)
}
