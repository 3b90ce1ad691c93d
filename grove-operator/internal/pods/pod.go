// Package pods decides which pods a PodClique has: how each is made, which are missing, and which are deleted first.
package pods

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/podtemplate"
)

// podCliqueLabels are the labels that a pod takes over from its PodClique; its other labels are the user's, from the
// template.
var podCliqueLabels = []string{
	grovev1alpha1.LabelManagedBy,
	grovev1alpha1.LabelPartOf,
	grovev1alpha1.LabelPodGang,
	grovev1alpha1.LabelBasePodGang,
	grovev1alpha1.LabelPodCliqueSetReplicaIndex,
	grovev1alpha1.LabelPodCliqueScalingGroup,
	grovev1alpha1.LabelPodCliqueScalingGroupReplicaIndex,
	grovev1alpha1.LabelPodTemplateHash,
}

// Maker makes the pods of one PodClique.
type Maker struct {
	// Set and Member are the set from which the PodClique was made, and the PodClique's place in it. The set may have
	// another template by now: the PodClique's counts.
	Set    *grovev1alpha1.PodCliqueSet
	Member layout.Member
	// PodClique is the owner of the pods.
	PodClique *grovev1alpha1.PodClique
	// Topology is the one for which the pods are made; empty for a set without constraints.
	Topology string
	// DefaultScheduler is for pods without a scheduler in their spec; empty leaves it to the cluster.
	DefaultScheduler string
	// Startup is the init container of pods that start after others.
	Startup groveconfigv1alpha1.StartupOrderConfiguration
}

// Make returns the pod with an index, with the gate that it has until its gang lists it.
func (m Maker) Make(name string, index int32) *corev1.Pod {
	template := m.template()
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name:         name,
			GenerateName: m.PodClique.Name + "-",
			Namespace:    m.PodClique.Namespace,
			Labels:       m.labels(template.OwnLabels(), index),
			Annotations:  maps.Clone(template.Annotations),
		},
		Spec: *template.PodSpec.DeepCopy(),
	}
	if m.Topology != "" {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, grovev1alpha1.AnnotationTopologyName, m.Topology)
	}
	if m.PodClique.UID != "" {
		pod.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(m.PodClique, grovev1alpha1.GroupVersion.WithKind("PodClique")),
		}
	}
	m.countIn(pod, index)
	m.complete(&pod.Spec, template.PriorityClassName, index)
	return pod
}

// template is the PodClique's whole template, even if the set has a newer one. An older operator has recorded the
// podSpec alone.
func (m Maker) template() podtemplate.Template {
	if carried, ok := podtemplate.In(m.PodClique); ok {
		return carried
	}
	template := podtemplate.Of(m.Set, m.Member.Clique)
	template.PodSpec = m.PodClique.Spec.PodSpec
	return template
}

func (m Maker) labels(user map[string]string, index int32) map[string]string {
	labels := map[string]string{grovev1alpha1.LabelName: m.PodClique.Name}
	maps.Copy(labels, user)
	for _, label := range podCliqueLabels {
		if value, ok := m.PodClique.Labels[label]; ok {
			labels[label] = value
		}
	}
	labels[grovev1alpha1.LabelPodClique] = m.PodClique.Name
	labels[grovev1alpha1.LabelPodIndex] = strconv.Itoa(int(index))
	if index == 0 {
		maps.Copy(labels, standing(m.Set, m.Member))
	}
	return labels
}

func (m Maker) complete(spec *corev1.PodSpec, priorityClass string, index int32) {
	spec.Hostname = layout.Hostname(m.PodClique.Name, index)
	spec.Subdomain = layout.HeadlessService(m.Set.Name, m.Member.Replica)
	if spec.SchedulerName == "" {
		spec.SchedulerName = m.DefaultScheduler
	}
	if spec.PriorityClassName == "" {
		spec.PriorityClassName = priorityClass
	}
	if !slices.ContainsFunc(spec.SchedulingGates, isOurGate) {
		spec.SchedulingGates = append(spec.SchedulingGates,
			corev1.PodSchedulingGate{Name: grovev1alpha1.SchedulingGatePodGangPending})
	}
	children.AddClaims(spec, children.ClaimsOfPod(m.Set, m.Member, index))
	m.startAfter(spec)
	env := m.environment(index)
	for i := range spec.InitContainers {
		spec.InitContainers[i].Env = append(slices.Clone(env), spec.InitContainers[i].Env...)
	}
	for i := range spec.Containers {
		spec.Containers[i].Env = append(slices.Clone(env), spec.Containers[i].Env...)
	}
}

func isOurGate(gate corev1.PodSchedulingGate) bool {
	return gate.Name == grovev1alpha1.SchedulingGatePodGangPending
}

// Gated reports whether a pod still has the operator's gate.
func Gated(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.SchedulingGates, isOurGate)
}

// Ungate removes the operator's gate from a pod, and no others.
func Ungate(pod *corev1.Pod) {
	pod.Spec.SchedulingGates = slices.DeleteFunc(pod.Spec.SchedulingGates, isOurGate)
	if len(pod.Spec.SchedulingGates) == 0 {
		pod.Spec.SchedulingGates = nil
	}
}

func (m Maker) environment(index int32) []corev1.EnvVar {
	env := []corev1.EnvVar{
		{Name: grovev1alpha1.EnvPodCliqueSetName, Value: m.Set.Name},
		{Name: grovev1alpha1.EnvPodCliqueSetIndex, Value: strconv.Itoa(int(m.Member.Replica))},
		{Name: grovev1alpha1.EnvPodCliqueName, Value: m.PodClique.Name},
		{Name: grovev1alpha1.EnvPodIndex, Value: strconv.Itoa(int(index))},
		{Name: grovev1alpha1.EnvHeadlessService,
			Value: layout.HeadlessServiceHost(m.Set.Name, m.Member.Replica, m.Set.Namespace)},
	}
	if m.Member.Group == nil {
		return env
	}
	return append(env,
		corev1.EnvVar{
			Name:  grovev1alpha1.EnvPodCliqueScalingGroupName,
			Value: layout.ScalingGroup(m.Set.Name, m.Member.Replica, m.Member.Group.Name),
		},
		corev1.EnvVar{Name: grovev1alpha1.EnvPodCliqueScalingGroupIndex, Value: strconv.Itoa(int(m.Member.Copy))},
		corev1.EnvVar{
			Name:  grovev1alpha1.EnvPodCliqueScalingGroupTemplatePods,
			Value: strconv.Itoa(int(layout.PodsPerCopy(m.Set, m.Member.Group))),
		},
	)
}
