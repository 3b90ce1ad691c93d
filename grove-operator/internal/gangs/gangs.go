// Package gangs decides which PodGangs a replica of a PodCliqueSet has, their contents, and their status.
package gangs

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	kaiv1alpha1 "packtree.dev/shared/api/kai/v1alpha1"
	schedulingv2alpha2 "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
	"packtree.dev/shared/relations"
	"packtree.dev/shared/repairpolicy"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/topology"
)

// Live are the objects of a replica that exist now.
type Live struct {
	// Copies returns how many copies the PodCliqueScalingGroup of that name has. ok is false if it does not exist: then
	// the number in the template counts.
	Copies func(scalingGroup string) (copies int32, ok bool)
	// Replicas returns how many pods the PodClique of that name is to have. ok is false if it does not exist.
	Replicas func(podClique string) (replicas int32, ok bool)
	// Pods returns the names of the pods of the PodClique of that name, sorted.
	Pods func(podClique string) []string
	// Gang returns the PodGang of that name as it is; nil if it does not exist.
	Gang func(name string) *schedulerv1alpha1.PodGang
}

// carriedLabels are labels of the set by which the pod grouper queues its gangs.
var carriedLabels = []string{
	kaiv1alpha1.LabelQueue,
	kaiv1alpha1.LabelNodePool,
	kaiv1alpha1.LabelPriorityClassName,
	kaiv1alpha1.LabelPreemptibility,
}

// Desired returns the PodGangs of one replica of a set: the base gang, then the scaled gangs in the order of the
// template. Cliques and groups that were scaled to zero are in no gang, and a gang without expected pods does not
// exist.
func Desired(
	set *grovev1alpha1.PodCliqueSet, replica int32, resolved topology.Resolution, live Live,
) []*schedulerv1alpha1.PodGang {
	builder := builder{set: set, replica: replica, resolved: resolved, live: live, replicas: map[string]int32{},
		least: map[string]int32{}}
	desired := []*schedulerv1alpha1.PodGang{builder.base()}
	groups := set.Spec.Template.PodCliqueScalingGroups
	for i := range groups {
		for copyIndex := layout.GroupMinAvailable(&groups[i]); copyIndex < builder.copies(&groups[i]); copyIndex++ {
			desired = append(desired, builder.scaled(&groups[i], copyIndex))
		}
	}
	var gangs []*schedulerv1alpha1.PodGang
	for _, gang := range desired {
		if len(gang.Spec.PodGroups) > 0 {
			hold(gang, live.Gang, resolved)
			gangs = append(gangs, gang)
		}
	}
	return gangs
}

type builder struct {
	set      *grovev1alpha1.PodCliqueSet
	replica  int32
	resolved topology.Resolution
	live     Live
	// replicas is how many pods the groups are to have, by their names, and least with how many they keep running.
	replicas, least map[string]int32
}

func (b builder) copies(group *grovev1alpha1.PodCliqueScalingGroupConfig) int32 {
	if copies, ok := b.live.Copies(layout.ScalingGroup(b.set.Name, b.replica, group.Name)); ok {
		return copies
	}
	return layout.Bounded(layout.GroupReplicas(group))
}

func (b builder) base() *schedulerv1alpha1.PodGang {
	gang := b.empty(layout.BaseGang(b.set.Name, b.replica))
	gang.Spec.TopologyConstraint = b.resolved.Translate(b.set.Spec.Template.TopologyConstraint)
	gang.Spec.PodGroups = b.podGroups(layout.Standalone(b.set, b.replica))
	groups := b.set.Spec.Template.PodCliqueScalingGroups
	for i := range groups {
		for copyIndex := range min(layout.GroupMinAvailable(&groups[i]), b.copies(&groups[i])) {
			podGroups := b.podGroups(layout.Copy(b.set, b.replica, &groups[i], copyIndex))
			gang.Spec.PodGroups = append(gang.Spec.PodGroups, podGroups...)
			if config := b.groupConfig(&groups[i], copyIndex, podGroups); config != nil {
				gang.Spec.TopologyConstraintGroupConfigs = append(gang.Spec.TopologyConstraintGroupConfigs, *config)
			}
		}
	}
	return b.named(gang, b.baseRelations(gang))
}

func (b builder) scaled(group *grovev1alpha1.PodCliqueScalingGroupConfig, copyIndex int32) *schedulerv1alpha1.PodGang {
	gang := b.empty(layout.ScaledGang(b.set.Name, b.replica, group.Name, copyIndex, layout.GroupMinAvailable(group)))
	gang.Labels[grovev1alpha1.LabelBasePodGang] = layout.BaseGang(b.set.Name, b.replica)
	gang.Labels[grovev1alpha1.LabelPodCliqueScalingGroup] = layout.ScalingGroup(b.set.Name, b.replica, group.Name)
	gang.Labels[grovev1alpha1.LabelPodCliqueScalingGroupReplicaIndex] = strconv.Itoa(int(copyIndex))
	constraint := group.TopologyConstraint
	if constraint == nil {
		constraint = b.set.Spec.Template.TopologyConstraint
	}
	gang.Spec.TopologyConstraint = b.resolved.Translate(constraint)
	members := layout.Copy(b.set, b.replica, group, copyIndex)
	gang.Spec.PodGroups = b.podGroups(members)
	return b.named(gang, b.scaledRelations(group, members, gang))
}

func (b builder) empty(name string) *schedulerv1alpha1.PodGang {
	gang := &schedulerv1alpha1.PodGang{
		TypeMeta: metav1.TypeMeta{APIVersion: schedulerv1alpha1.GroupVersion.String(), Kind: "PodGang"},
		ObjectMeta: metav1.ObjectMeta{
			Name:      name,
			Namespace: b.set.Namespace,
			Labels: map[string]string{
				grovev1alpha1.LabelName:                     name,
				grovev1alpha1.LabelManagedBy:                grovev1alpha1.LabelManagedByValue,
				grovev1alpha1.LabelPartOf:                   b.set.Name,
				grovev1alpha1.LabelComponent:                grovev1alpha1.ComponentPodGang,
				grovev1alpha1.LabelPodCliqueSetReplicaIndex: strconv.Itoa(int(b.replica)),
			},
		},
		Spec: schedulerv1alpha1.PodGangSpec{PriorityClassName: b.set.Spec.Template.PriorityClassName},
	}
	for _, key := range []string{
		schedulingv2alpha2.AnnotationPlacement, schedulingv2alpha2.AnnotationSeatHold,
		schedulingv2alpha2.AnnotationRepairMove, schedulingv2alpha2.AnnotationRepairAfter,
	} {
		if value, ok := b.set.Annotations[key]; ok {
			metav1.SetMetaDataAnnotation(&gang.ObjectMeta, key, value)
		}
	}
	if repair := b.set.Spec.Template.Repair; repair != nil {
		for key, value := range repairpolicy.Fields(*repair).Annotations() {
			metav1.SetMetaDataAnnotation(&gang.ObjectMeta, key, value)
		}
	}
	for _, label := range carriedLabels {
		if value, ok := b.set.Labels[label]; ok {
			gang.Labels[label] = value
		}
	}
	if b.set.UID != "" {
		gang.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(b.set, grovev1alpha1.GroupVersion.WithKind("PodCliqueSet")),
		}
	}
	return gang
}

// named adds to a gang the topology's name, if the gang has a constraint anywhere; the topology for which its pods are
// made; how many pods are expected; the constraint that it shares with the other gangs of its replica; and its
// relations.
func (b builder) named(gang *schedulerv1alpha1.PodGang, related []relations.Relation) *schedulerv1alpha1.PodGang {
	constrained := gang.Spec.TopologyConstraint != nil || len(gang.Spec.TopologyConstraintGroupConfigs) > 0 ||
		len(related) > 0
	for _, group := range gang.Spec.PodGroups {
		constrained = constrained || group.TopologyConstraint != nil
	}
	if constrained {
		metav1.SetMetaDataAnnotation(&gang.ObjectMeta, grovev1alpha1.AnnotationTopologyName,
			b.resolved.SchedulerTopology)
	}
	if b.resolved.Name != "" {
		metav1.SetMetaDataAnnotation(&gang.ObjectMeta, schedulingv2alpha2.AnnotationPodsTopology, b.resolved.Name)
	}
	if kept := topology.Kept(b.resolved.Named, b.resolved.Name); kept != "" {
		metav1.SetMetaDataAnnotation(&gang.ObjectMeta, grovev1alpha1.AnnotationTopologyKept, kept)
	}
	if expected := b.expected(gang).String(); expected != "" {
		metav1.SetMetaDataAnnotation(&gang.ObjectMeta, schedulingv2alpha2.AnnotationExpectedPods, expected)
	}
	if running := b.running(gang).String(); running != "" {
		metav1.SetMetaDataAnnotation(&gang.ObjectMeta, schedulingv2alpha2.AnnotationMinRunning, running)
	}
	if written := relations.Format(related); written != "" {
		metav1.SetMetaDataAnnotation(&gang.ObjectMeta, schedulingv2alpha2.AnnotationRelations, written)
	}
	b.share(gang)
	return gang
}

// expected returns how many pods the groups of a gang are to have, made already or not.
func (b builder) expected(gang *schedulerv1alpha1.PodGang) podgrouptree.Expected {
	expected := podgrouptree.Expected{}
	for _, group := range gang.Spec.PodGroups {
		expected[group.Name] = b.replicas[group.Name]
	}
	return expected
}

// running returns with how many pods the groups of a gang keep running after they have started, if that is fewer than
// their minimum.
func (b builder) running(gang *schedulerv1alpha1.PodGang) podgrouptree.MinRunning {
	running := podgrouptree.MinRunning{}
	for _, group := range gang.Spec.PodGroups {
		if least := b.least[group.Name]; least < group.MinReplicas {
			running[group.Name] = least
		}
	}
	return running
}

// share makes the set's constraint hold over all gangs of the replica. If there can ever be scaled gangs, the base gang
// has the annotation from the beginning, so that it does not change when they come and go.
func (b builder) share(gang *schedulerv1alpha1.PodGang) {
	shared := b.resolved.Translate(b.set.Spec.Template.TopologyConstraint)
	if shared == nil || len(b.set.Spec.Template.PodCliqueScalingGroups) == 0 {
		return
	}
	metav1.SetMetaDataAnnotation(&gang.ObjectMeta, schedulingv2alpha2.AnnotationBaseGang,
		layout.BaseGang(b.set.Name, b.replica))
	metav1.SetMetaDataAnnotation(&gang.ObjectMeta, schedulingv2alpha2.AnnotationSharedTopology,
		b.resolved.SchedulerTopology)
	if required := shared.PackConstraint.Required; required != nil {
		metav1.SetMetaDataAnnotation(&gang.ObjectMeta, schedulingv2alpha2.AnnotationSharedRequired, *required)
	}
	if preferred := shared.PackConstraint.Preferred; preferred != nil {
		metav1.SetMetaDataAnnotation(&gang.ObjectMeta, schedulingv2alpha2.AnnotationSharedPreferred, *preferred)
	}
}

func (b builder) podGroups(members []layout.Member) []schedulerv1alpha1.PodGroup {
	var groups []schedulerv1alpha1.PodGroup
	for _, member := range members {
		replicas, ok := b.live.Replicas(member.Name)
		if !ok {
			replicas = member.Clique.Spec.Replicas
		}
		if replicas == 0 {
			continue
		}
		b.replicas[member.Name], b.least[member.Name] = replicas, layout.MinRunning(&member.Clique.Spec)
		groups = append(groups, schedulerv1alpha1.PodGroup{
			Name:          member.Name,
			PodReferences: b.references(member.Name),
			// A clique that was scaled below its minimum must not make its gang wait for ever.
			MinReplicas:        min(layout.MinAvailable(&member.Clique.Spec), replicas),
			TopologyConstraint: b.resolved.Translate(member.Clique.TopologyConstraint),
		})
	}
	return groups
}

func (b builder) references(podClique string) []schedulerv1alpha1.NamespacedName {
	references := []schedulerv1alpha1.NamespacedName{}
	for _, pod := range b.live.Pods(podClique) {
		references = append(references, schedulerv1alpha1.NamespacedName{Namespace: b.set.Namespace, Name: pod})
	}
	return references
}

func (b builder) groupConfig(
	group *grovev1alpha1.PodCliqueScalingGroupConfig, copyIndex int32, podGroups []schedulerv1alpha1.PodGroup,
) *schedulerv1alpha1.TopologyConstraintGroupConfig {
	constraint := b.resolved.Translate(group.TopologyConstraint)
	// Relations name a copy by its group config, which without a constraint exists only for them.
	if constraint == nil && !b.related(group) || len(podGroups) == 0 {
		return nil
	}
	config := &schedulerv1alpha1.TopologyConstraintGroupConfig{
		Name:               layout.GroupConfig(b.set.Name, b.replica, group.Name, copyIndex),
		TopologyConstraint: constraint,
	}
	for _, podGroup := range podGroups {
		config.PodGroupNames = append(config.PodGroupNames, podGroup.Name)
	}
	return config
}
