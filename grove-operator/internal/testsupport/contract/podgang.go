package contract

import (
	"fmt"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

func (e *expectation) newGang(name string, replica int, constrainedBy *grovev1alpha1.TopologyConstraint) *gang {
	made := &gang{
		constraint: constraint(constrainedBy), priorityClass: e.set.Spec.Template.PriorityClassName,
		labels: e.labels(name, "podgang", "grove.io/podcliqueset-replica-index", fmt.Sprint(replica)),
		groups: map[string]string{}, configs: map[string]string{},
	}
	if queue, ok := e.set.Labels["kai.scheduler/queue"]; ok {
		made.labels["kai.scheduler/queue"] = queue
	}
	made.constrained(constrainedBy)
	e.gangs[name] = made
	return made
}

// constrained records that a part of the gang has a constraint, so that the gang names the topology.
func (g *gang) constrained(by *grovev1alpha1.TopologyConstraint) {
	if by != nil {
		g.topologyName = "grove-topology"
	}
}

func (e *expectation) baseGang(replica int) {
	made := e.newGang(fmt.Sprintf("%s-%d", e.set.Name, replica), replica, e.set.Spec.Template.TopologyConstraint)
	for i := range e.set.Spec.Template.PodCliqueScalingGroups {
		made.constrained(e.set.Spec.Template.PodCliqueScalingGroups[i].TopologyConstraint)
	}
}

func (e *expectation) scaledGang(p place) {
	by := p.group.TopologyConstraint
	if by == nil {
		by = e.set.Spec.Template.TopologyConstraint
	}
	made := e.newGang(p.gang, p.replica, by)
	made.labels["grove.io/base-podgang"] = p.base
	made.labels["grove.io/podcliquescalinggroup"] = fmt.Sprintf("%s-%d-%s", e.set.Name, p.replica, p.group.Name)
	made.labels["grove.io/podcliquescalinggroup-replica-index"] = fmt.Sprint(p.copyIndex)
}

// add adds the PodGroup of a PodClique with these pods.
func (g *gang) add(podClique string, hostnames []string, minimum int32, by *grovev1alpha1.TopologyConstraint) {
	g.groups[podClique] = fact([]string{fact(hostnames), fact(minimum), constraint(by)})
	g.constrained(by)
}

func (e *expectation) podGangs() {
	for name, gang := range e.gangs {
		e.ofSet("PodGang", name, gang.labels, map[string]string{
			"constraint": fact(gang.constraint), "priorityClass": fact(gang.priorityClass),
			"topology": fact(gang.topologyName),
			"groups":   fact(gang.groups), "groupConfigs": fact(gang.configs),
		})
	}
}
