package contract

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// place is the place of a PodClique in a set.
type place struct {
	clique  *grovev1alpha1.PodCliqueTemplateSpec
	replica int
	// group and copyIndex are those of a PodClique in a scaling group.
	group     *grovev1alpha1.PodCliqueScalingGroupConfig
	copyIndex int
	// gang is the PodGang, and base the base gang that a scaled gang follows.
	gang, base string
}

func (e *expectation) podClique(p place) {
	spec := &p.clique.Spec
	groupName := ""
	name := fmt.Sprintf("%s-%d-%s", e.set.Name, p.replica, p.clique.Name)
	owner, component := "PodCliqueSet/"+e.set.Name, "pcs-podclique"
	labels := map[string]string{
		"grove.io/podgang": p.gang, "grove.io/podcliqueset-replica-index": fmt.Sprint(p.replica),
		"grove.io/pod-template-hash": "*",
	}
	if p.group != nil {
		groupName = fmt.Sprintf("%s-%d-%s", e.set.Name, p.replica, p.group.Name)
		name = fmt.Sprintf("%s-%d-%s", groupName, p.copyIndex, p.clique.Name)
		owner, component = "PodCliqueScalingGroup/"+groupName, "pcsg-podclique"
		labels["grove.io/podcliquescalinggroup"] = groupName
		labels["grove.io/podcliquescalinggroup-replica-index"] = fmt.Sprint(p.copyIndex)
	}
	if p.base != "" {
		labels["grove.io/base-podgang"] = p.base
	}
	maps.Copy(labels, p.clique.Labels)
	minimum := or(spec.MinAvailable, spec.Replicas)
	role := spec.RoleName
	if role == "" {
		role = p.clique.Name
	}
	own := e.labels(name, component)
	maps.Copy(own, labels)
	e.objects["PodClique/"+name] = Object{
		Owner: owner, Labels: own, Finalizers: []string{"grove.io/podclique.grove.io"},
		Facts: map[string]string{
			"replicas": fact(spec.Replicas), "minAvailable": fact(minimum), "roleName": fact(role),
			"startsAfter": fact(slices.Clone(spec.StartsAfter)), "images": images(&spec.PodSpec),
		},
	}
	if p.group == nil {
		e.autoscaler("PodClique", name, p.replica, spec.AutoScalingConfig, spec.Replicas)
	}
	hostnames := []string{}
	for index := range int(spec.Replicas) {
		hostnames = append(hostnames, e.pod(p, name, groupName, index, labels))
	}
	slices.Sort(hostnames)
	e.gangs[p.gang].add(name, hostnames, minimum, p.clique.TopologyConstraint)
}

// podAnnotations are the user's and, in a set with constraints, the topology for which the pod is made.
func (e *expectation) podAnnotations(p place) map[string]string {
	annotations := maps.Clone(p.clique.Annotations)
	template := &e.set.Spec.Template
	constrained := template.TopologyConstraint != nil
	for i := range template.Cliques {
		constrained = constrained || template.Cliques[i].TopologyConstraint != nil
	}
	for i := range template.PodCliqueScalingGroups {
		constrained = constrained || template.PodCliqueScalingGroups[i].TopologyConstraint != nil
	}
	if !constrained {
		return annotations
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["grove.io/topology-name"] = "grove-topology"
	return annotations
}

func (e *expectation) pod(p place, podClique, group string, index int, inherited map[string]string) (hostname string) {
	hostname = fmt.Sprintf("%s-%d", podClique, index)
	labels := e.labels(podClique, "", "grove.io/podclique", podClique, "grove.io/podclique-pod-index",
		fmt.Sprint(index))
	maps.Copy(labels, inherited)
	if index == 0 && p.group != nil && p.group.CliqueNames[0] == p.clique.Name {
		labels["packtree.dev/stands-for-copy"] = "true"
	}
	if index == 0 && p.copyIndex == 0 && e.set.Spec.Template.Cliques[0].Name == p.clique.Name {
		labels["packtree.dev/stands-for-replica"] = "true"
	}
	service := fmt.Sprintf("%s-%d", e.set.Name, p.replica)
	env := []string{
		"GROVE_PCS_NAME=" + e.set.Name, fmt.Sprintf("GROVE_PCS_INDEX=%d", p.replica), "GROVE_PCLQ_NAME=" + podClique,
		fmt.Sprintf("GROVE_PCLQ_POD_INDEX=%d", index),
		fmt.Sprintf("GROVE_HEADLESS_SERVICE=%s.%s.svc.cluster.local", service, e.set.Namespace),
	}
	if p.group != nil {
		pods := int32(0)
		for i := range e.set.Spec.Template.Cliques {
			if slices.Contains(p.group.CliqueNames, e.set.Spec.Template.Cliques[i].Name) {
				pods += e.set.Spec.Template.Cliques[i].Spec.Replicas
			}
		}
		env = append(env, "GROVE_PCSG_NAME="+group, fmt.Sprintf("GROVE_PCSG_INDEX=%d", p.copyIndex),
			fmt.Sprintf("GROVE_PCSG_TEMPLATE_NUM_PODS=%d", pods))
	}
	spec := &p.clique.Spec.PodSpec
	facts := map[string]string{
		"subdomain": fact(service), "annotations": fact(e.podAnnotations(p)), "gates": fact(e.gates(p)),
		"scheduler":       fact(first(spec.SchedulerName, "kai-scheduler")),
		"priorityClass":   fact(first(spec.PriorityClassName, e.set.Spec.Template.PriorityClassName)),
		"serviceAccount":  fact(e.account(p.clique)),
		"startsAfterPods": fact(e.parents(p)),
	}
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		facts["container "+container.Name] = fact(slices.Concat([]string{container.Image}, env,
			environment(container.Env)))
	}
	e.objects["Pod/"+hostname] = Object{Owner: "PodClique/" + podClique, Labels: labels, Facts: facts}
	return hostname
}

func first(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}

func environment(variables []corev1.EnvVar) []string {
	var all []string
	for _, variable := range variables {
		all = append(all, variable.Name+"="+variable.Value)
	}
	return all
}

// gates are the user's; the operator's is removed from pods of base gangs as soon as the gang lists them.
func (e *expectation) gates(p place) []string {
	gates := []string{}
	for _, gate := range p.clique.Spec.PodSpec.SchedulingGates {
		gates = append(gates, gate.Name)
	}
	if p.base != "" {
		gates = append(gates, "grove.io/podgang-pending-creation")
	}
	slices.Sort(gates)
	return gates
}

func (e *expectation) account(clique *grovev1alpha1.PodCliqueTemplateSpec) string {
	if own := clique.Spec.PodSpec.ServiceAccountName; own != "" || !e.waits(clique) {
		return own
	}
	return e.set.Name
}

// parents are the PodCliques that a pod waits for, with their minima: in a base gang those of the whole base gang, in a
// scaled gang those of the same copy.
func (e *expectation) parents(p place) []string {
	before := p.clique.Spec.StartsAfter
	switch e.set.Spec.Template.CliqueStartupType {
	case "CliqueStartupTypeInOrder":
		before = nil
		for i := range e.set.Spec.Template.Cliques {
			name := e.set.Spec.Template.Cliques[i].Name
			if name == p.clique.Name {
				break
			}
			if p.base == "" || slices.Contains(p.group.CliqueNames, name) {
				before = []string{name}
			}
		}
	case "CliqueStartupTypeExplicit":
	default:
		before = nil
	}
	parents := []string{}
	for i := range e.set.Spec.Template.Cliques {
		if clique := &e.set.Spec.Template.Cliques[i]; slices.Contains(before, clique.Name) {
			parents = append(parents, e.podCliquesOf(p, clique)...)
		}
	}
	slices.Sort(parents)
	return parents
}

// podCliquesOf are the PodCliques of a clique that a pod can wait for.
func (e *expectation) podCliquesOf(p place, clique *grovev1alpha1.PodCliqueTemplateSpec) []string {
	minimum := or(clique.Spec.MinAvailable, clique.Spec.Replicas)
	group := groupOf(e.set, clique.Name)
	var all []string
	switch {
	case group == nil && p.base == "":
		all = append(all, fmt.Sprintf("%s-%d-%s:%d", e.set.Name, p.replica, clique.Name, minimum))
	case group != nil && p.base == "":
		for j := range or(group.MinAvailable, 1) {
			all = append(all, fmt.Sprintf("%s-%d-%s-%d-%s:%d", e.set.Name, p.replica, group.Name, j,
				clique.Name, minimum))
		}
	case group != nil && group.Name == p.group.Name:
		all = append(all, fmt.Sprintf("%s-%d-%s-%d-%s:%d", e.set.Name, p.replica, group.Name, p.copyIndex, clique.Name,
			minimum))
	}
	return all
}
