package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Step is the next action of an update in one replica of a set.
type Step struct {
	// Delete are the pods to replace, and Of describes them.
	Delete []*corev1.Pod
	Of     string
	// Surge are copies to make before Delete, if there is room; nil if there are none.
	Surge *Surge
	// Waiting says what has to happen before more pods can be replaced; empty if nothing has to.
	Waiting string
	// Why says why the pods that it waits for are not ready, as far as that is known.
	Why string
	// Done reports whether every pod has the template, and all that once ran is ready again.
	Done bool
}

// Next returns the next step of a replica whose turn it is.
//
// Pods of the old template that are not ready are replaced at once; so are copies of a scaling group in which a
// PodClique is below its minimum, with all their pods. After that one ready pod, or as many copies of one scaling group
// as may be unavailable at a time, are replaced when everything else of the replica is ready. Hence a clique or a group
// with more than its minimum never falls below it, and one without any spare lacks a single pod or copy. Replacements
// that find no room or do not become ready stop everything, as soon as they are as many as may be unavailable.
func Next(replica Replica) Step {
	if broken := replica.broken(); len(broken) > 0 {
		const of = "pods of the old template that are not ready"
		return Step{Delete: broken, Of: of, Waiting: of + " are being updated"}
	}
	if wait := replica.unsettled(); wait.what != "" {
		return Step{Waiting: wait.what, Why: wait.why}
	}
	waits, at := replica.busy()
	if at < 0 {
		return Step{Waiting: waits[0].what, Why: waits[0].why}
	}
	if len(waits) == 0 {
		if step, found := replica.nextPod(); found {
			return step
		}
	}
	for i := at; i < len(replica.Groups); i++ {
		if step, found := replica.Groups[i].next(len(waits)); found {
			return step
		}
		if len(waits) > 0 {
			return Step{Waiting: waits[0].what, Why: waits[0].why}
		}
	}
	return Step{Done: true}
}

// nextPod replaces a pod of a standalone clique, if there is one to replace.
func (r *Replica) nextPod() (Step, bool) {
	for i := range r.Cliques {
		for _, pod := range r.Cliques[i].Pods {
			if !pod.Current {
				of := fmt.Sprintf("pod %d of PodClique %s", pod.Index, r.Cliques[i].Name)
				return Step{Delete: []*corev1.Pod{pod.Object}, Of: of, Waiting: of + " is being updated"}, true
			}
		}
	}
	return Step{}, false
}

// next replaces copies if possible, given how many are unavailable already.
func (g *Group) next(away int) (Step, bool) {
	going, most := g.going(), g.most(away)
	if len(going) == 0 || most <= 0 {
		return Step{}, false
	}
	step := g.replace(going[:min(len(going), most)])
	if g.Surge == 0 && g.MaxSurge > 0 && away == 0 {
		step.Surge = &Surge{Group: g.Template, Most: min(g.MaxSurge, int32(len(going))), Required: g.Strict}
		for _, member := range going[:step.Surge.Most] {
			step.Surge.Next = append(step.Surge.Next, member.old(anyPod))
		}
	}
	if g.Strict && available(g.surge()) == 0 {
		step.Delete = nil
		step.Waiting = waitsForCopy(g.Name)
		step.Why = g.unplaced()
	}
	return step, true
}

// most is how many copies of the old template may be replaced, given how many are unavailable. With copies beyond
// replicas it is as many as of these are available, and none before it is known for each of them whether it has room.
func (g *Group) most(away int) int {
	spare, extra := available(g.Copies)-int(g.Minimum), available(g.surge())
	most := max(1, int(g.MaxUnavailable))
	if extra > 0 {
		most = extra
	}
	most = min(most-away, spare)
	switch {
	case slices.ContainsFunc(g.surge(), func(member Copy) bool { return member.starting().what != "" }):
		return 0
	case away == 0:
		return max(1, most) // Without any spare, one copy is replaced nevertheless, or the update would never proceed.
	case g.Strict && extra == 0:
		return 0
	}
	return most
}

// going are the copies of the old template that can be replaced as soon as it is their turn.
func (g *Group) going() []*Copy {
	var going []*Copy
	for i := range g.regular() {
		if member := &g.Copies[i]; member.outdated() && member.unsettled().what == "" {
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
	if len(indexes) == 1 {
		step.Of = fmt.Sprintf("copy %s of PodCliqueScalingGroup %s", indexes[0], g.Name)
		step.Waiting = step.Of + " is being updated"
		return step
	}
	step.Of = fmt.Sprintf("copies %s of PodCliqueScalingGroup %s", strings.Join(indexes, ", "), g.Name)
	step.Waiting = step.Of + " are being updated"
	return step
}

// unplaced says why copies beyond replicas did not find room; empty if that is not known.
func (g *Group) unplaced() string {
	for _, member := range g.surge() {
		if word := member.unscheduled(); word != "" {
			return word
		}
	}
	return ""
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

func missing(kind, name string) wait {
	return wait{what: fmt.Sprintf("%s %s does not exist yet", kind, name)}
}

// unsettled is the wait for the replica's standalone cliques that are not ready; empty if there are none.
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

// unsettled are the waits for the copies that are not ready, one each. Copies beyond replicas delay only the copies
// that they are made for.
func (g *Group) unsettled() []wait {
	var waits []wait
	for _, member := range g.regular() {
		if wait := member.unsettled(); wait.what != "" {
			waits = append(waits, wait)
		}
	}
	if !slices.ContainsFunc(g.regular(), func(member Copy) bool { return member.outdated() }) {
		return waits
	}
	for _, member := range g.surge() {
		if wait := member.starting(); wait.what != "" {
			waits = append(waits, wait)
		}
	}
	return waits
}

// starting says what a copy beyond replicas lacks until it is available; empty also if it has no room after all.
func (c *Copy) starting() wait {
	switch {
	case len(c.Missing) > 0:
		return missing("PodClique", c.Missing[0])
	case c.unscheduled() != "":
		return wait{}
	}
	for i := range c.Cliques {
		if wait := c.Cliques[i].unsettled(); wait.what != "" {
			return wait
		}
	}
	return wait{}
}

// unscheduled is the scheduler's message about a copy whose pods exist and never had room, or the API server's if it
// refuses the pods, as for a quota; empty if there is none.
func (c *Copy) unscheduled() (why string) {
	if !c.neverStood() {
		return ""
	}
	for i := range c.Cliques {
		clique := &c.Cliques[i]
		switch made := int32(len(clique.Pods)) >= clique.Replicas; {
		case made:
			why = cmp.Or(why, clique.Unscheduled)
		case clique.Refused == "":
			return "" // They are being made.
		default:
			why = cmp.Or(why, clique.Refused)
		}
	}
	return why
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
