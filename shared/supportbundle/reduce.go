package supportbundle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grove "packtree.dev/shared/api/grove/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Every object of a bundle is built anew, from fields that are named here one by one: a field that was forgotten, or
// that a later Kubernetes adds, is left out.

// annotations are the keys that the scheduler reads on pods, PodGroups and Topologies.
var annotations = append(scheduling.CarriedAnnotations(),
	scheduling.AnnotationPodGroupName,
	scheduling.AnnotationExpectedPods,
	grove.AnnotationTopologyName,
	kai.AnnotationTopology,
	kai.AnnotationSkipPodGrouper,
	kai.AnnotationLeftAlone,
)

// identity has the fields that name an object, order it among others and tie it to its owners.
func identity(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{
		Name:              meta.Name,
		Namespace:         meta.Namespace,
		UID:               meta.UID,
		Generation:        meta.Generation,
		CreationTimestamp: meta.CreationTimestamp,
		DeletionTimestamp: meta.DeletionTimestamp,
		OwnerReferences:   meta.OwnerReferences,
	}
	for _, key := range annotations {
		if value, ok := meta.Annotations[key]; ok {
			metav1.SetMetaDataAnnotation(&kept, key, value)
		}
	}
	return kept
}

// labelled also keeps the labels, by which selectors choose.
func labelled(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	kept := identity(meta)
	kept.Labels = meta.Labels
	return kept
}

func reduceNode(node *corev1.Node) *corev1.Node {
	kept := &corev1.Node{TypeMeta: node.TypeMeta, ObjectMeta: labelled(&node.ObjectMeta)}
	kept.Spec.Unschedulable, kept.Spec.Taints = node.Spec.Unschedulable, node.Spec.Taints
	kept.Status.Allocatable = node.Status.Allocatable
	for _, condition := range node.Status.Conditions {
		kept.Status.Conditions = append(kept.Status.Conditions, corev1.NodeCondition{
			Type: condition.Type, Status: condition.Status, LastTransitionTime: condition.LastTransitionTime,
		})
	}
	return kept
}

func reduceTopology(topology *kai.Topology) *kai.Topology {
	return &kai.Topology{TypeMeta: topology.TypeMeta, ObjectMeta: identity(&topology.ObjectMeta), Spec: topology.Spec}
}

// zonesOfNode is what the scheduler reads of a NodeResourceTopology.
type zonesOfNode struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	TopologyPolicies  []string        `json:"topologyPolicies,omitempty"`
	Attributes        []zoneAttribute `json:"attributes,omitempty"`
	Zones             []zone          `json:"zones,omitempty"`
}

type zoneAttribute struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type zone struct {
	Name      string         `json:"name"`
	Type      string         `json:"type"`
	Resources []zoneResource `json:"resources,omitempty"`
}

type zoneResource struct {
	Name        string             `json:"name"`
	Capacity    *resource.Quantity `json:"capacity,omitempty"`
	Allocatable *resource.Quantity `json:"allocatable,omitempty"`
	Available   *resource.Quantity `json:"available,omitempty"`
}

// reduceZones keeps the attributes that say by which rule the kubelet takes pods: agents may write others.
func reduceZones(zones *zonesOfNode) *zonesOfNode {
	kept := *zones
	kept.ObjectMeta = identity(&zones.ObjectMeta)
	kept.Attributes = slices.DeleteFunc(slices.Clone(zones.Attributes), func(attribute zoneAttribute) bool {
		return attribute.Name != "topologyManagerPolicy" && attribute.Name != "topologyManagerScope"
	})
	return &kept
}

// reducePodGroup keeps the whole spec: it has names and numbers, and nothing of the pods' templates.
func reducePodGroup(podGroup *scheduling.PodGroup) *scheduling.PodGroup {
	kept := &scheduling.PodGroup{TypeMeta: podGroup.TypeMeta, ObjectMeta: labelled(&podGroup.ObjectMeta),
		Spec: podGroup.Spec}
	kept.Status.Conditions = reduceConditions(podGroup.Status.Conditions)
	for i := range podGroup.Status.SchedulingConditions {
		condition := podGroup.Status.SchedulingConditions[i]
		condition.Message = ""
		kept.Status.SchedulingConditions = append(kept.Status.SchedulingConditions, condition)
	}
	kept.Status.Placement, kept.Status.Seats = podGroup.Status.Placement, podGroup.Status.Seats
	kept.Status.Reservations = podGroup.Status.Reservations
	return kept
}

// reduceConditions keeps only messages of the scheduler, which consist of names and amounts, unless they quote an
// annotation. Messages of others can quote an answer of the API server, and with it values of a pod template.
func reduceConditions(conditions []metav1.Condition) []metav1.Condition {
	said := []string{scheduling.ConditionScheduled, scheduling.ConditionRepairPlanned}
	kept := slices.Clone(conditions)
	for i := range kept {
		if !slices.Contains(said, kept[i].Type) || kept[i].Reason == scheduling.ReasonInvalidPolicy {
			kept[i].Message = ""
		}
	}
	return kept
}

// reducePod leaves out pods that have ended: they use no node and wait for none.
func reducePod(pod *corev1.Pod) *corev1.Pod {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	kept := &corev1.Pod{TypeMeta: pod.TypeMeta, ObjectMeta: labelled(&pod.ObjectMeta)}
	kept.Spec = corev1.PodSpec{
		NodeName:                  pod.Spec.NodeName,
		SchedulerName:             pod.Spec.SchedulerName,
		SchedulingGates:           pod.Spec.SchedulingGates,
		NodeSelector:              pod.Spec.NodeSelector,
		Affinity:                  pod.Spec.Affinity,
		Tolerations:               pod.Spec.Tolerations,
		TopologySpreadConstraints: pod.Spec.TopologySpreadConstraints,
		Priority:                  pod.Spec.Priority,
		PriorityClassName:         pod.Spec.PriorityClassName,
		PreemptionPolicy:          pod.Spec.PreemptionPolicy,
		HostNetwork:               pod.Spec.HostNetwork,
		Overhead:                  pod.Spec.Overhead,
		Resources:                 pod.Spec.Resources,
		InitContainers:            reduceContainers(pod.Spec.InitContainers),
		Containers:                reduceContainers(pod.Spec.Containers),
	}
	kept.Status = corev1.PodStatus{
		Phase:                 pod.Status.Phase,
		NominatedNodeName:     pod.Status.NominatedNodeName,
		Conditions:            reducePodConditions(pod.Status.Conditions),
		InitContainerStatuses: reduceContainerStatuses(pod.Status.InitContainerStatuses),
		ContainerStatuses:     reduceContainerStatuses(pod.Status.ContainerStatuses),
		Resources:             pod.Status.Resources,
		AllocatedResources:    pod.Status.AllocatedResources,
	}
	return kept
}

// reduceContainers keeps what a container uses of a node: resources and ports of the host. restartPolicy Always of an
// init container is kept, because the container then counts beside the others.
func reduceContainers(containers []corev1.Container) []corev1.Container {
	var kept []corev1.Container
	for i := range containers {
		container := &containers[i]
		reduced := corev1.Container{
			Name: container.Name, Resources: container.Resources, RestartPolicy: container.RestartPolicy,
		}
		for _, port := range container.Ports {
			if port.HostPort != 0 {
				reduced.Ports = append(reduced.Ports, corev1.ContainerPort{
					ContainerPort: port.ContainerPort, HostPort: port.HostPort, HostIP: port.HostIP,
					Protocol: port.Protocol,
				})
			}
		}
		kept = append(kept, reduced)
	}
	return kept
}

// reduceContainerStatuses keeps the resources that a container holds while it is being resized.
func reduceContainerStatuses(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for i := range statuses {
		status := &statuses[i]
		if status.Resources != nil || len(status.AllocatedResources) > 0 {
			kept = append(kept, corev1.ContainerStatus{
				Name: status.Name, Resources: status.Resources, AllocatedResources: status.AllocatedResources,
			})
		}
	}
	return kept
}

func reducePodConditions(conditions []corev1.PodCondition) []corev1.PodCondition {
	var kept []corev1.PodCondition
	for _, condition := range conditions {
		reduced := corev1.PodCondition{
			Type: condition.Type, Status: condition.Status, Reason: condition.Reason,
			LastTransitionTime: condition.LastTransitionTime,
		}
		if condition.Type == corev1.PodScheduled {
			reduced.Message = condition.Message
		}
		kept = append(kept, reduced)
	}
	return kept
}

// workload is the reduced form of the objects that gangs are made for: their templates have everything that a bundle
// must not contain, so only identity and status are left.
type workload struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Status            workloadStatus `json:"status,omitempty"`
}

type workloadStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

func reduceWorkload(object *workload) *workload {
	return &workload{
		TypeMeta:   object.TypeMeta,
		ObjectMeta: identity(&object.ObjectMeta),
		Status:     workloadStatus{Conditions: reduceConditions(object.Status.Conditions)},
	}
}

// historic are the kinds with events that make up the history of a gang.
var historic = []string{"PodGroup", "PodGang", "Pod"}

// schedulers are the actions in the events of kube-scheduler and its plugin.
var schedulers = []string{"Scheduling", "Binding", "Preempting"}

// reduceEvent keeps only notes of schedulers, which consist of names and amounts. Notes of others can quote a manifest.
// A kubelet's events about pods are left out, except warnings: they say nothing about placement.
func reduceEvent(event *corev1.Event) *corev1.Event {
	scheduling := slices.Contains(schedulers, event.Action)
	about := event.InvolvedObject
	usual := about.Kind == "Pod" && !scheduling && event.Type != corev1.EventTypeWarning
	if !slices.Contains(historic, about.Kind) || usual {
		return nil
	}
	kept := &corev1.Event{TypeMeta: event.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Name: event.Name, Namespace: event.Namespace, CreationTimestamp: event.CreationTimestamp,
	}}
	kept.InvolvedObject = corev1.ObjectReference{Kind: about.Kind, Namespace: about.Namespace, Name: about.Name}
	kept.Type, kept.Reason, kept.Action = event.Type, event.Reason, event.Action
	kept.FirstTimestamp, kept.LastTimestamp, kept.EventTime = event.FirstTimestamp, event.LastTimestamp, event.EventTime
	kept.Count, kept.Series = event.Count, event.Series
	if scheduling {
		kept.Message = event.Message
	}
	return kept
}
