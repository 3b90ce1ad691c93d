// Package contract states for tests which objects a PodCliqueSet becomes, as the documentation promises it to users: by
// nested loops over the manifest and with the names spelled out. It uses none of the operator's decisions, and so
// disagrees with them when they are wrong.
package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Object has the promised properties of an object.
type Object struct {
	// Owner is the controller, as Kind/name.
	Owner string
	// Labels are all labels; values of hashes are not promised, and written as *.
	Labels map[string]string
	// Finalizers are those of the operator.
	Finalizers []string
	// Facts are the promised fields of the spec, by a name, in JSON.
	Facts map[string]string
}

// Objects by Kind/name. Names of pods are generated: pods are under their hostnames.
type Objects map[string]Object

// fact encodes a value.
func fact(value any) string {
	written, err := json.Marshal(value)
	if err != nil {
		panic(err) // Plain values always marshal.
	}
	return string(written)
}

// expectation collects the objects of one set.
type expectation struct {
	set     *grovev1alpha1.PodCliqueSet
	objects Objects
	gangs   map[string]*gang
}

// gang is a PodGang under construction.
type gang struct {
	constraint, priorityClass, topologyName string
	labels                                  map[string]string
	groups, configs                         map[string]string
}

// Of returns the objects of a set, as its user wrote it, on a cluster with a topology that has a level
// example.com/<domain> for each domain. The set's pods have not been scheduled.
func Of(set *grovev1alpha1.PodCliqueSet) Objects {
	e := &expectation{set: set, objects: Objects{}, gangs: map[string]*gang{}}
	e.access()
	for replica := range int(set.Spec.Replicas) {
		e.service(replica)
		e.baseGang(replica)
		for i := range set.Spec.Template.Cliques {
			if clique := &set.Spec.Template.Cliques[i]; groupOf(set, clique.Name) == nil {
				e.podClique(place{clique: clique, replica: replica, gang: fmt.Sprintf("%s-%d", set.Name, replica)})
			}
		}
		for i := range set.Spec.Template.PodCliqueScalingGroups {
			e.scalingGroup(replica, &set.Spec.Template.PodCliqueScalingGroups[i])
		}
	}
	e.podGangs()
	return e.objects
}

// labels are those of every object, and the given ones.
func (e *expectation) labels(name, component string, more ...string) map[string]string {
	labels := map[string]string{
		"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "grove-operator",
		"app.kubernetes.io/part-of": e.set.Name,
	}
	if component != "" {
		labels["app.kubernetes.io/component"] = component
	}
	for i := 0; i < len(more); i += 2 {
		labels[more[i]] = more[i+1]
	}
	return labels
}

func (e *expectation) ofSet(kind, name string, labels, facts map[string]string, finalizers ...string) {
	e.objects[kind+"/"+name] = Object{Owner: "PodCliqueSet/" + e.set.Name, Labels: labels, Finalizers: finalizers,
		Facts: facts}
}

func (e *expectation) access() {
	role := "grove.io:pcs:" + e.set.Name
	accounts := map[string]bool{e.set.Name: true}
	for i := range e.set.Spec.Template.Cliques {
		clique := &e.set.Spec.Template.Cliques[i]
		if own := clique.Spec.PodSpec.ServiceAccountName; own != "" && e.waits(clique) {
			accounts[own] = true
		}
	}
	e.ofSet("ServiceAccount", e.set.Name, e.labels(e.set.Name, "pod-service-account"), nil)
	e.ofSet("Role", role, e.labels("grove.io.pcs."+e.set.Name, "pod-role"), map[string]string{
		"rules": fact([]string{"/pods list,watch"}),
	})
	e.ofSet("RoleBinding", role, e.labels("grove.io.pcs."+e.set.Name, "pod-role-binding"), map[string]string{
		"role": fact(role), "accounts": fact(slices.Sorted(maps.Keys(accounts))),
	})
}

func (e *expectation) service(replica int) {
	name, index := fmt.Sprintf("%s-%d", e.set.Name, replica), fmt.Sprint(replica)
	published := true
	if config := e.set.Spec.Template.HeadlessServiceConfig; config != nil && config.PublishNotReadyAddresses != nil {
		published = *config.PublishNotReadyAddresses
	}
	labels := e.labels(name, "pcs-headless-service", "grove.io/podcliqueset-replica-index", index)
	e.ofSet("Service", name, labels, map[string]string{
		"clusterIP": fact("None"), "publishNotReadyAddresses": fact(published),
		"selector": fact(map[string]string{"app.kubernetes.io/part-of": e.set.Name,
			"grove.io/podcliqueset-replica-index": index}),
	})
}

func (e *expectation) autoscaler(
	kind, target string, replica int, config *grovev1alpha1.AutoScalingConfig, replicas int32,
) {
	if config == nil {
		return
	}
	least := replicas
	if config.MinReplicas != nil {
		least = *config.MinReplicas
	}
	labels := e.labels(target, "pcs-hpa", "grove.io/podcliqueset-replica-index", fmt.Sprint(replica))
	e.ofSet("HorizontalPodAutoscaler", target, labels, map[string]string{
		"target": fact(kind + "/" + target), "replicas": fact([]int32{least, config.MaxReplicas}),
	})
}

func groupOf(set *grovev1alpha1.PodCliqueSet, clique string) *grovev1alpha1.PodCliqueScalingGroupConfig {
	for i := range set.Spec.Template.PodCliqueScalingGroups {
		if slices.Contains(set.Spec.Template.PodCliqueScalingGroups[i].CliqueNames, clique) {
			return &set.Spec.Template.PodCliqueScalingGroups[i]
		}
	}
	return nil
}

func or(value *int32, otherwise int32) int32 {
	if value == nil {
		return otherwise
	}
	return *value
}

func (e *expectation) scalingGroup(replica int, group *grovev1alpha1.PodCliqueScalingGroupConfig) {
	name := fmt.Sprintf("%s-%d-%s", e.set.Name, replica, group.Name)
	replicas, minimum := or(group.Replicas, 1), or(group.MinAvailable, 1)
	labels := e.labels(name, "pcs-podcliquescalinggroup", "grove.io/podcliqueset-replica-index", fmt.Sprint(replica))
	e.ofSet("PodCliqueScalingGroup", name, labels, map[string]string{
		"replicas": fact(replicas), "minAvailable": fact(minimum), "cliqueNames": fact(group.CliqueNames),
	}, "grove.io/podcliquescalinggroup.grove.io")
	e.autoscaler("PodCliqueScalingGroup", name, replica, group.ScaleConfig, replicas)
	for j := range int(replicas) {
		p := place{replica: replica, group: group, copyIndex: j, gang: fmt.Sprintf("%s-%d", e.set.Name, replica)}
		if j >= int(minimum) {
			p.base = p.gang
			p.gang = fmt.Sprintf("%s-%d-%s-%d", e.set.Name, replica, group.Name, j-int(minimum))
			e.scaledGang(p)
		} else if group.TopologyConstraint != nil {
			e.gangs[p.gang].configs[fmt.Sprintf("%s-%d", name, j)] = e.groupConfig(name, group, j)
		}
		for i := range e.set.Spec.Template.Cliques {
			if clique := &e.set.Spec.Template.Cliques[i]; slices.Contains(group.CliqueNames, clique.Name) {
				p.clique = clique
				e.podClique(p)
			}
		}
	}
}

func (e *expectation) groupConfig(name string, group *grovev1alpha1.PodCliqueScalingGroupConfig, copyIndex int) string {
	var members []string
	for _, clique := range group.CliqueNames {
		members = append(members, fmt.Sprintf("%s-%d-%s", name, copyIndex, clique))
	}
	slices.Sort(members)
	return fact([]string{constraint(group.TopologyConstraint), fact(members)})
}

// constraint writes a constraint with node label keys; empty for none.
func constraint(of *grovev1alpha1.TopologyConstraint) string {
	if of == nil {
		return ""
	}
	keys := map[string]string{}
	add := func(how string, domain grovev1alpha1.TopologyDomain) {
		if domain != "" {
			keys[how] = "example.com/" + string(domain)
		}
	}
	add("required", of.PackDomain)
	if of.Pack != nil {
		add("required", of.Pack.Required)
		add("preferred", of.Pack.Preferred)
	}
	return fact(keys)
}

// waits reports whether pods of a clique start after others.
func (e *expectation) waits(clique *grovev1alpha1.PodCliqueTemplateSpec) bool {
	return e.set.Spec.Template.CliqueStartupType == "CliqueStartupTypeInOrder" &&
		clique.Name != e.set.Spec.Template.Cliques[0].Name ||
		e.set.Spec.Template.CliqueStartupType == "CliqueStartupTypeExplicit" && len(clique.Spec.StartsAfter) > 0
}

// images lists the containers of a podSpec.
func images(spec *corev1.PodSpec) string {
	var all []string
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		all = append(all, container.Name+"="+container.Image)
	}
	return fact(all)
}
