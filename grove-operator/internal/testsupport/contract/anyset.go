package contract

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// PriorityClasses are the classes that AnySet uses.
var PriorityClasses = []string{"low", "high"}

// AnySet draws a valid PodCliqueSet of up to some dozens of pods. It uses every field on which names, gangs and pods
// depend. Many fields are left to their defaults.
func AnySet(t *rapid.T, namespace string) *grovev1alpha1.PodCliqueSet {
	set := &grovev1alpha1.PodCliqueSet{}
	set.Namespace, set.Name = namespace, rapid.SampledFrom([]string{"s", "inference", "a-1", "x-0-y"}).Draw(t, "name")
	if rapid.Bool().Draw(t, "queue") {
		set.Labels = map[string]string{"kai.scheduler/queue": "q", "theirs": "stays-on-the-set"}
	}
	set.Spec.Replicas = rapid.Int32Range(0, 2).Draw(t, "replicas")
	template := &set.Spec.Template
	template.CliqueStartupType = rapid.SampledFrom([]grovev1alpha1.CliqueStartupType{
		"", "CliqueStartupTypeAnyOrder", "CliqueStartupTypeInOrder", "CliqueStartupTypeExplicit",
	}).Draw(t, "order")
	template.PriorityClassName = rapid.SampledFrom(append([]string{""}, PriorityClasses...)).Draw(t, "priority class")
	if rapid.Bool().Draw(t, "headless service") {
		template.HeadlessServiceConfig = &grovev1alpha1.HeadlessServiceConfig{PublishNotReadyAddresses: some(t,
			rapid.Bool())}
	}
	names := rapid.Permutation([]string{"router", "a", "prefill-leader", "0", "w-1"}).Draw(t, "cliques")
	// One scheduler places all pods of a set. The default may be named, or not.
	schedulers := rapid.SampledFrom([][]string{{"", "kai-scheduler"}, {"theirs"}}).Draw(t, "schedulers")
	for _, name := range names[:rapid.IntRange(1, len(names)).Draw(t, "cliques")] {
		template.Cliques = append(template.Cliques, anyClique(t, name, template, schedulers))
	}
	template.PodCliqueScalingGroups = anyGroups(t, template)
	constrain(t, template)
	return set
}

// some draws a value, or none.
func some[T any](t *rapid.T, values *rapid.Generator[T]) *T {
	if !rapid.Bool().Draw(t, "given") {
		return nil
	}
	value := values.Draw(t, "value")
	return &value
}

func anyClique(
	t *rapid.T, name string, template *grovev1alpha1.PodCliqueSetTemplateSpec, schedulers []string,
) grovev1alpha1.PodCliqueTemplateSpec {
	clique := grovev1alpha1.PodCliqueTemplateSpec{Name: name}
	clique.Spec.Replicas = rapid.Int32Range(1, 3).Draw(t, "replicas of "+name)
	clique.Spec.MinAvailable = some(t, rapid.Int32Range(1, clique.Spec.Replicas))
	if rapid.Bool().Draw(t, "role") {
		clique.Spec.RoleName = "role-of-" + name
	}
	if rapid.Bool().Draw(t, "metadata") {
		clique.Labels = map[string]string{"example.com/label": name}
		clique.Annotations = map[string]string{"example.com/note": "of " + name}
	}
	if template.CliqueStartupType == "CliqueStartupTypeExplicit" {
		for _, before := range template.Cliques {
			if rapid.Bool().Draw(t, name+" after "+before.Name) {
				clique.Spec.StartsAfter = append(clique.Spec.StartsAfter, before.Name)
			}
		}
	}
	clique.Spec.PodSpec = anyPodSpec(t)
	clique.Spec.PodSpec.SchedulerName = rapid.SampledFrom(schedulers).Draw(t, "scheduler of "+name)
	return clique
}

func anyPodSpec(t *rapid.T) corev1.PodSpec {
	spec := corev1.PodSpec{
		Containers: []corev1.Container{
			{Name: "main", Image: "main:1", Env: []corev1.EnvVar{{Name: "THEIRS", Value: "$(GROVE_PCS_NAME)"}}},
		},
		PriorityClassName: rapid.SampledFrom([]string{"", "", "low"}).Draw(t, "pods' priority class"),
	}
	spec.ServiceAccountName = rapid.SampledFrom([]string{"", "", "robot"}).Draw(t, "account")
	if rapid.Bool().Draw(t, "sidecar") {
		spec.Containers = append(spec.Containers, corev1.Container{Name: "sidecar", Image: "sidecar:2"})
	}
	if rapid.Bool().Draw(t, "init container") {
		spec.InitContainers = []corev1.Container{{Name: "prepare", Image: "prepare:3"}}
	}
	if rapid.IntRange(0, 3).Draw(t, "gate") == 0 {
		spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/hold"}}
	}
	return spec
}

// anyGroups puts some of the cliques into groups, and gives autoscalers to some groups and to some standalone cliques.
func anyGroups(
	t *rapid.T, template *grovev1alpha1.PodCliqueSetTemplateSpec,
) []grovev1alpha1.PodCliqueScalingGroupConfig {
	drawn := []grovev1alpha1.PodCliqueScalingGroupConfig{{Name: "g"}, {Name: "decode-0"}}
	for i := range template.Cliques {
		clique := &template.Cliques[i]
		if group := rapid.IntRange(0, 2).Draw(t, "group of "+clique.Name); group < 2 {
			drawn[group].CliqueNames = append(drawn[group].CliqueNames, clique.Name)
			continue
		}
		minimum := or(clique.Spec.MinAvailable, clique.Spec.Replicas)
		clique.Spec.AutoScalingConfig = anyScaling(t, minimum, clique.Spec.Replicas)
	}
	groups := slices.DeleteFunc(drawn,
		func(group grovev1alpha1.PodCliqueScalingGroupConfig) bool { return group.CliqueNames == nil })
	for i := range groups {
		groups[i].MinAvailable = some(t, rapid.Int32Range(1, 2))
		least := or(groups[i].MinAvailable, 1)
		replicas := least + rapid.Int32Range(0, 2).Draw(t, "scaled copies")
		groups[i].Replicas = &replicas
		if replicas == 1 && rapid.Bool().Draw(t, "replicas by default") {
			groups[i].Replicas = nil
		}
		groups[i].ScaleConfig = anyScaling(t, least, replicas)
	}
	return groups
}

func anyScaling(t *rapid.T, minimum, replicas int32) *grovev1alpha1.AutoScalingConfig {
	if !rapid.Bool().Draw(t, "autoscaler") {
		return nil
	}
	return &grovev1alpha1.AutoScalingConfig{MinReplicas: some(t, rapid.Int32Range(minimum, replicas)),
		MaxReplicas: replicas + 3}
}

// constrain adds constraints to the set, its groups and its cliques; inner constraints are narrower.
func constrain(t *rapid.T, template *grovev1alpha1.PodCliqueSetTemplateSpec) {
	template.TopologyConstraint = anyConstraint(t, "set", "zone", "rack")
	for i := range template.PodCliqueScalingGroups {
		template.PodCliqueScalingGroups[i].TopologyConstraint = anyConstraint(t, fmt.Sprint("group ", i),
			"rack", "rack")
	}
	for i := range template.Cliques {
		template.Cliques[i].TopologyConstraint = anyConstraint(t, fmt.Sprint("clique ", i), "rack", "host")
	}
}

func anyConstraint(
	t *rapid.T, of string, broad, narrow grovev1alpha1.TopologyDomain,
) *grovev1alpha1.TopologyConstraint {
	switch rapid.IntRange(0, 5).Draw(t, "constraint of "+of) {
	case 0:
		return &grovev1alpha1.TopologyConstraint{PackDomain: broad}
	case 1:
		return &grovev1alpha1.TopologyConstraint{Pack: &grovev1alpha1.TopologyPack{Required: broad, Preferred: narrow}}
	case 2:
		return &grovev1alpha1.TopologyConstraint{Pack: &grovev1alpha1.TopologyPack{Preferred: narrow}}
	}
	return nil
}
