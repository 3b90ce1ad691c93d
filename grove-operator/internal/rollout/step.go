package rollout

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Step is what is to be done about a replica of a set now.
type Step struct {
	// Delete are the pods to replace.
	Delete []*corev1.Pod
	// Waiting says what has to happen before more can be replaced; empty if nothing has to.
	Waiting string
	// Why says what keeps the pods that it waits for from being ready, as far as that is known.
	Why string
	// Done tells that every pod has the template, and that nothing which once ran has yet to come back.
	Done bool
}

// Next returns the next step of a replica whose turn it is.
//
// Pods of the old template that are not ready are replaced at once; copies of a scaling group below a minimum of theirs
// are as well, with all their pods. After that one ready pod, or one copy of a scaling group, goes at a time, and
// only when everything else of the replica is ready. Hence a clique or a group with more than its minimum never falls
// below it, and one without anything to spare lacks a single pod or copy. A replacement that finds no room or does not
// become ready stops everything.
func Next(replica Replica) Step {
	if broken := replica.broken(); len(broken) > 0 {
		return Step{Delete: broken, Waiting: "pods of the old template that are not ready are being updated"}
	}
	if wait := replica.unsettled(); wait.what != "" {
		return Step{Waiting: wait.what, Why: wait.why}
	}
	for i := range replica.Cliques {
		for _, pod := range replica.Cliques[i].Pods {
			if !pod.Current {
				return Step{
					Delete:  []*corev1.Pod{pod.Object},
					Waiting: fmt.Sprintf("pod %d of PodClique %s is being updated", pod.Index, replica.Cliques[i].Name),
				}
			}
		}
	}
	for i := range replica.Groups {
		for j := range replica.Groups[i].Copies {
			if member := &replica.Groups[i].Copies[j]; member.outdated() {
				return Step{
					Delete:  member.old(anyPod),
					Waiting: fmt.Sprintf("copy %d of PodCliqueScalingGroup %s is being updated", member.Index, replica.Groups[i].Name),
				}
			}
		}
	}
	return Step{Done: true}
}

// broken are the pods of the old template that serve nobody.
func (r *Replica) broken() []*corev1.Pod {
	var broken []*corev1.Pod
	for i := range r.Cliques {
		broken = append(broken, r.Cliques[i].old(notReady)...)
	}
	for i := range r.Groups {
		for j := range r.Groups[i].Copies {
			member := &r.Groups[i].Copies[j]
			if member.available() {
				broken = append(broken, member.old(notReady)...)
			} else {
				broken = append(broken, member.old(anyPod)...)
			}
		}
	}
	return broken
}

func anyPod(Pod) bool { return true }

func notReady(pod Pod) bool { return !pod.Ready }

// old are the pods of the old template that a filter lets through. A PodClique that has not got the new template yet
// would make old pods again.
func (c *Clique) old(filter func(Pod) bool) []*corev1.Pod {
	var old []*corev1.Pod
	for _, pod := range c.Pods {
		if c.Prepared && !pod.Current && filter(pod) {
			old = append(old, pod.Object)
		}
	}
	return old
}

// old are those of all cliques of the copy, which get the new template together.
func (c *Copy) old(filter func(Pod) bool) []*corev1.Pod {
	if !c.all(func(clique *Clique) bool { return clique.Prepared }) {
		return nil
	}
	var old []*corev1.Pod
	for i := range c.Cliques {
		old = append(old, c.Cliques[i].old(filter)...)
	}
	return old
}

// wait is what has to happen before a ready pod may be replaced, and why it has not; empty if nothing has to.
type wait struct{ what, why string }

func missing(kind, name string) wait {
	return wait{what: fmt.Sprintf("%s %s does not exist yet", kind, name)}
}

// unsettled is about what of the replica is not ready; empty if a ready pod may be replaced.
func (r *Replica) unsettled() wait {
	if len(r.Missing) > 0 {
		return missing("PodClique", r.Missing[0])
	}
	for i := range r.Cliques {
		if clique := &r.Cliques[i]; !clique.neverStood() {
			if wait := clique.unsettled(); wait.what != "" {
				return wait
			}
		}
	}
	for i := range r.Groups {
		if !r.Groups[i].Exists {
			return missing("PodCliqueScalingGroup", r.Groups[i].Name)
		}
		for j := range r.Groups[i].Copies {
			if wait := r.Groups[i].Copies[j].unsettled(); wait.what != "" {
				return wait
			}
		}
	}
	return wait{}
}

func (c *Copy) unsettled() wait {
	if len(c.Missing) > 0 {
		return missing("PodClique", c.Missing[0])
	}
	if c.neverStood() {
		return wait{}
	}
	for i := range c.Cliques {
		if wait := c.Cliques[i].unsettled(); wait.what != "" {
			return wait
		}
	}
	return wait{}
}

func (c *Clique) unsettled() wait {
	exist, ready := int32(len(c.Pods)), c.ready()
	unplaced := slices.ContainsFunc(c.Pods, func(pod Pod) bool { return !pod.Scheduled })
	switch {
	case !c.Prepared:
		return wait{what: fmt.Sprintf("PodClique %s has not got the new template yet", c.Name)}
	case exist != c.Replicas:
		return wait{what: fmt.Sprintf("PodClique %s has %d of %d pods", c.Name, exist, c.Replicas)}
	case unplaced:
		return wait{
			what: fmt.Sprintf("PodClique %s has %d of %d ready pods; some of them stand on no node yet", c.Name, ready, c.Replicas),
			why:  c.Unscheduled,
		}
	case ready < c.Replicas:
		return wait{what: fmt.Sprintf("PodClique %s has %d of %d ready pods", c.Name, ready, c.Replicas), why: c.Failing}
	}
	return wait{}
}
