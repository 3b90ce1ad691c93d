package rollout

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Step is the next action of an update in one replica of a set.
type Step struct {
	// Delete are the pods to replace.
	Delete []*corev1.Pod
	// Surge are the groups that are to have copies beyond replicas from now on.
	Surge []grovev1alpha1.PodCliqueScalingGroupSurge
	// Waiting says what has to happen before more pods can be replaced; empty if nothing has to.
	Waiting string
	// Why says why the pods that it waits for are not ready, as far as that is known.
	Why string
	// Done reports whether every pod has the template, and all that once ran is ready again, but for pods beyond a
	// minimum that cannot come.
	Done bool
}

// Next returns the next step of a replica, when it is its turn.
//
// Pods of the old template that are not ready are replaced at once. So are copies of a scaling group in which a
// PodClique is below its minimum, with all their pods. After that one ready pod, or as many copies of one scaling
// group as may be unavailable at a time, are replaced when everything else of the replica is ready. Hence a clique or
// a group with more than its minimum never falls below it, and one without any spare lacks a single pod or copy. A
// group with maxSurge gets further copies first, and as many copies are replaced at a time as further ones are ready.
// Replacements and further copies that find no room or do not become ready stop everything, as soon as they are as
// many as may be unavailable. Pods beyond a minimum that cannot come, for want of room or by a quota, stop nothing
// unless the update took them: of a clique it takes the lowest index first, and a copy is back with its minimum.
func Next(replica Replica) Step {
	step := replica.next()
	for i := range replica.Groups {
		if group := &replica.Groups[i]; group.Surge > 0 && group.unfinished() {
			step.Surge = append(step.Surge, group.surgeOf(len(group.Copies)))
		}
	}
	return step
}

func (r *Replica) next() Step {
	// 1. Pods of the old template that do not serve.
	if broken := r.broken(); len(broken) > 0 {
		return Step{Delete: broken, Waiting: "pods of the old template that are not ready are being updated"}
	}
	// 2. Everything is ready but copies of one group.
	if wait := r.unsettled(); wait.what != "" {
		return wait.step()
	}
	waits, at := r.busy()
	if at < 0 {
		return waits[0].step()
	}
	// 3. A pod of a standalone clique, while no copies are away.
	if len(waits) == 0 {
		if step, found := r.nextPod(); found {
			return step
		}
	}
	// 4. Copies of a group, while no copies of another one are away.
	for i := at; i < len(r.Groups); i++ {
		if step, found := r.Groups[i].next(len(waits)); found {
			return step
		}
		if len(waits) > 0 {
			return waits[0].step()
		}
	}
	return Step{Done: true}
}

// nextPod replaces a pod of a standalone clique, if there is one to replace.
func (r *Replica) nextPod() (Step, bool) {
	for i := range r.Cliques {
		for _, pod := range r.Cliques[i].Pods {
			if !pod.Current {
				waiting := fmt.Sprintf("pod %d of PodClique %s is being updated", pod.Index, r.Cliques[i].Name)
				return Step{Delete: []*corev1.Pod{pod.Object}, Waiting: waiting}, true
			}
		}
	}
	return Step{}, false
}

// next replaces copies if possible, given how many of the group are not ready.
func (g *Group) next(away int) (Step, bool) {
	if g.MaxSurge > 0 {
		return g.nextWithSurge(away)
	}
	going, most := going(g.Copies), min(max(1, int(g.MaxUnavailable))-away, g.available()-int(g.Minimum))
	if away == 0 {
		most = max(1, most) // Without any spare, one copy is replaced nevertheless, or the update would never proceed.
	}
	if len(going) == 0 || most <= 0 {
		return Step{}, false
	}
	return g.replace(going[:min(len(going), most)]), true
}

// nextWithSurge is next for a group that gets copies beyond replicas first. None of the others goes before one of these
// is ready and has the new template.
func (g *Group) nextWithSurge(away int) (Step, bool) {
	old, outdatedSurge := going(g.regular()), going(g.surge())
	ready, pending := g.readySurge()
	switch further := min(g.MaxSurge, int32(len(old)), g.MaxCopies-int32(len(g.Copies))); {
	case len(old) == 0, away > 0 && ready <= away:
		return Step{}, false
	case ready > away:
		return g.replace(old[:min(len(old), ready-away)]), true
	case len(outdatedSurge) > 0:
		return g.replace(outdatedSurge), true
	case g.Surge > 0:
		waiting := fmt.Sprintf("PodCliqueScalingGroup %s waits for a further copy, as maxSurge wants: ", g.Name)
		return Step{Waiting: waiting + pending.what, Why: pending.why}, true
	case further <= 0:
		return Step{
			Waiting: fmt.Sprintf("PodCliqueScalingGroup %s waits for a further copy, as maxSurge wants", g.Name),
			Why:     "a group gets none below its minAvailable, nor beyond the most copies that it may have",
		}, true
	default:
		waiting := "further copies of PodCliqueScalingGroup " + g.Name + " are being created"
		made := g.surgeOf(len(g.Copies) + int(further))
		return Step{Surge: []grovev1alpha1.PodCliqueScalingGroupSurge{made}, Waiting: waiting}, true
	}
}

// surgeOf records how many copies the group is to have during the update.
func (g *Group) surgeOf(copies int) grovev1alpha1.PodCliqueScalingGroupSurge {
	return grovev1alpha1.PodCliqueScalingGroupSurge{Name: g.Template, Copies: int32(copies)}
}

// readySurge counts the copies beyond replicas that are ready and have the new template. Pending is the wait for the
// others, if possible for one with a known reason.
func (g *Group) readySurge() (ready int, pending wait) {
	for i := range g.surge() {
		member := &g.surge()[i]
		switch wait := member.lacks(); {
		case wait.what == "" && !member.outdated():
			ready++
		case pending.what == "" || pending.why == "" && wait.why != "":
			pending = wait
		}
	}
	return ready, pending
}

// unfinished reports whether the update has something left to do in the group, or waits for a copy of it.
func (g *Group) unfinished() bool {
	return len(g.unsettled()) > 0 ||
		slices.ContainsFunc(g.regular(), func(member Copy) bool { return member.outdated() })
}

// going are the copies of the old template that can be replaced as soon as it is their turn.
func going(copies []Copy) []*Copy {
	var going []*Copy
	for i := range copies {
		if member := &copies[i]; member.outdated() && member.unsettled().what == "" {
			going = append(going, member)
		}
	}
	return going
}

func (g *Group) replace(copies []*Copy) Step {
	var step Step
	var indexes []string
	for _, member := range copies {
		step.Delete = append(step.Delete, member.old(anyPod)...)
		indexes = append(indexes, fmt.Sprint(member.Index))
	}
	format := "copy %s of PodCliqueScalingGroup %s is being updated"
	if len(copies) > 1 {
		format = "copies %s of PodCliqueScalingGroup %s are being updated"
	}
	step.Waiting = fmt.Sprintf(format, strings.Join(indexes, ", "), g.Name)
	return step
}

// broken are the pods of the old template that do not serve.
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

// old are the pods of the old template that a filter accepts. A PodClique without the new template has none: it would
// make old pods again.
func (c *Clique) old(filter func(Pod) bool) []*corev1.Pod {
	var old []*corev1.Pod
	for _, pod := range c.Pods {
		if c.Prepared && !pod.Current && filter(pod) {
			old = append(old, pod.Object)
		}
	}
	return old
}

// old are the old pods of all cliques of the copy, which get the new template together.
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

// wait says what has to happen before a ready pod may be replaced, and why it has not happened; empty if nothing has
// to.
type wait struct{ what, why string }

func (w wait) step() Step { return Step{Waiting: w.what, Why: w.why} }

func missing(kind, name string) wait {
	return wait{what: fmt.Sprintf("%s %s does not exist yet", kind, name)}
}

// unsettled is the wait for the replica's standalone cliques that are not ready; empty if there are none.
func (r *Replica) unsettled() wait {
	if len(r.Missing) > 0 {
		return missing("PodClique", r.Missing[0])
	}
	for i := range r.Cliques {
		if clique := &r.Cliques[i]; !clique.neverStood() && (!clique.lacksRoom() || !clique.takenAreBack()) {
			if wait := clique.unsettled(); wait.what != "" {
				return wait
			}
		}
	}
	return wait{}
}

// busy returns the waits for the only group with copies that are not ready, and the group's index; 0 if all groups are
// ready. The index is negative if no copy may be replaced, because another group is not ready or does not exist.
func (r *Replica) busy() (waits []wait, at int) {
	for i := range r.Groups {
		if !r.Groups[i].Exists {
			return append(waits, missing("PodCliqueScalingGroup", r.Groups[i].Name)), -1
		}
		found := r.Groups[i].unsettled()
		switch {
		case len(found) == 0:
		case len(waits) > 0:
			return waits, -1
		default:
			waits, at = found, i
		}
	}
	return waits, at
}

// unsettled are the waits for the copies that are not ready, one each, but for copies beyond replicas.
func (g *Group) unsettled() []wait {
	var waits []wait
	for _, member := range g.regular() {
		if wait := member.unsettled(); wait.what != "" {
			waits = append(waits, wait)
		}
	}
	return waits
}

// unsettled is the wait for a copy that is not ready, but for one that never had room.
func (c *Copy) unsettled() wait {
	if c.neverStood() {
		return wait{}
	}
	return c.lacks()
}

// lacks is the wait for a copy that is not ready.
func (c *Copy) lacks() wait {
	if len(c.Missing) > 0 {
		return missing("PodClique", c.Missing[0])
	}
	for i := range c.Cliques {
		if clique := &c.Cliques[i]; !clique.lacksRoom() {
			return clique.unsettled()
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
		return wait{what: fmt.Sprintf("PodClique %s has %d of %d pods", c.Name, exist, c.Replicas), why: c.Refused}
	case unplaced:
		return wait{
			what: fmt.Sprintf("PodClique %s has %d of %d ready pods; some of them stand on no node yet", c.Name, ready,
				c.Replicas),
			why: c.Unscheduled,
		}
	case ready < c.Replicas:
		return wait{what: fmt.Sprintf("PodClique %s has %d of %d ready pods", c.Name, ready, c.Replicas),
			why: c.Failing}
	}
	return wait{}
}
