// Package rendering shows without a cluster what a first reconcile on an empty cluster would create, with the functions
// that the webhooks and controllers call.
package rendering

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	"packtree.dev/shared/manifests"
	"packtree.dev/shared/offline"

	"packtree.dev/grove-operator/internal/admission"
	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/gangs"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/topology"
)

var (
	setKind             = grovev1alpha1.GroupVersion.WithKind("PodCliqueSet").GroupKind()
	clusterTopologyKind = grovev1alpha1.GroupVersion.WithKind(topology.KindClusterTopology).GroupKind()
	bindingKind         = grovev1alpha1.GroupVersion.WithKind(topology.KindClusterTopologyBinding).GroupKind()
)

// Decide replaces PodCliqueSets, ClusterTopologies and ClusterTopologyBindings by the objects that are created for
// them, and passes everything else through. The objects of each are in its place.
func Decide(
	documents []manifests.Document, configuration *groveconfigv1alpha1.OperatorConfiguration,
) ([]runtime.Object, []manifests.Finding) {
	topologies, findings := readTopologies(documents, configuration)
	findings = append(findings, manifests.Repeated(documents, setKind, clusterTopologyKind, bindingKind)...)
	var objects []runtime.Object
	if made := topology.Default(configuration.TopologyAwareScheduling); made != nil && len(made.Spec.Levels) > 0 {
		objects = append(objects, topology.ForScheduler(topology.Of(made)))
	}
	for _, document := range documents {
		switch document.Object.GroupVersionKind().GroupKind() {
		case clusterTopologyKind, bindingKind:
			described := topologies[document.Object.GetName()]
			if described != nil && described.Referenced == "" && !isDefaultOf(configuration, described.Name) {
				objects = append(objects, topology.ForScheduler(described))
			}
		case setKind:
			set, wrong := admit(document, configuration, topologies)
			findings = append(findings, wrong...)
			if set != nil {
				objects = append(objects, expand(set, configuration, topologies)...)
				made, warnings := sharedClaims(set, document, documents)
				objects, findings = append(objects, made...), append(findings, warnings...)
			}
		default:
			objects = append(objects, document.Object)
		}
	}
	objects, err := withoutStatus(objects)
	if err != nil {
		findings = append(findings, manifests.Finding{Reason: err.Error()})
	}
	return objects, findings
}

// withoutStatus drops statuses: nothing was observed.
func withoutStatus(objects []runtime.Object) ([]runtime.Object, error) {
	bare := make([]runtime.Object, 0, len(objects))
	for _, object := range objects {
		if _, passedThrough := object.(*unstructured.Unstructured); passedThrough {
			bare = append(bare, object)
			continue
		}
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return nil, fmt.Errorf("printing %T: %w", object, err)
		}
		delete(manifests.WithoutUnset(fields), "status")
		bare = append(bare, &unstructured.Unstructured{Object: fields})
	}
	return bare, nil
}

func isDefaultOf(configuration *groveconfigv1alpha1.OperatorConfiguration, name string) bool {
	return name == grovev1alpha1.DefaultClusterTopologyName && len(configuration.TopologyAwareScheduling.Levels) > 0
}

// readTopologies returns the ClusterTopologies and ClusterTopologyBindings of the input by name, and the one that the
// operator makes from its configuration, which wins.
func readTopologies(
	documents []manifests.Document, configuration *groveconfigv1alpha1.OperatorConfiguration,
) (map[string]*topology.Topology, []manifests.Finding) {
	topologies := map[string]*topology.Topology{}
	var findings []manifests.Finding
	if made := topology.Default(configuration.TopologyAwareScheduling); made != nil && len(made.Spec.Levels) > 0 {
		topologies[made.Name] = topology.Of(made)
	}
	for _, document := range documents {
		if document.Object.GroupVersionKind().GroupKind() != clusterTopologyKind {
			continue
		}
		clusterTopology := &grovev1alpha1.ClusterTopology{}
		wrong := offline.Admit(document, clusterTopology, offline.Admission[*grovev1alpha1.ClusterTopology]{
			Judge: admission.ValidateClusterTopology,
		})
		findings = append(findings, wrong...)
		if name := document.Object.GetName(); topologies[name] == nil || !isDefaultOf(configuration, name) {
			topologies[name] = topology.Of(clusterTopology)
		}
	}
	return topologies, append(findings, readBindings(documents, topologies)...)
}

// readBindings adds the ClusterTopologyBindings of the input to the topologies. A name that is taken is a finding.
func readBindings(documents []manifests.Document, topologies map[string]*topology.Topology) []manifests.Finding {
	var findings []manifests.Finding
	for _, document := range documents {
		if document.Object.GroupVersionKind().GroupKind() != bindingKind {
			continue
		}
		binding := &grovev1alpha1.ClusterTopologyBinding{}
		name := document.Object.GetName()
		findings = append(findings, offline.Admit(document, binding,
			offline.Admission[*grovev1alpha1.ClusterTopologyBinding]{
				Judge: admission.ValidateBinding,
				Validate: func(binding *grovev1alpha1.ClusterTopologyBinding) ([]string, field.ErrorList) {
					return admission.WarnOfBinding(binding),
						admission.ValidateNameFree(topology.KindClusterTopologyBinding, name, topologies[name])
				},
			})...)
		if topologies[name] == nil {
			topologies[name] = topology.OfBinding(binding)
		}
	}
	return findings
}

// admit returns nil for a set that the webhooks would refuse.
func admit(
	document manifests.Document, configuration *groveconfigv1alpha1.OperatorConfiguration,
	topologies map[string]*topology.Topology,
) (*grovev1alpha1.PodCliqueSet, []manifests.Finding) {
	set := &grovev1alpha1.PodCliqueSet{}
	findings := offline.Admit(document, set, offline.Admission[*grovev1alpha1.PodCliqueSet]{
		Default: admission.SetDefaults,
		Validate: func(set *grovev1alpha1.PodCliqueSet) ([]string, field.ErrorList) {
			return admission.ValidateCreate(set, admission.Cluster{
				TopologyAware:    configuration.TopologyAwareScheduling.Enabled,
				Lookup:           func(name string) *topology.Topology { return topologies[name] },
				DefaultScheduler: *configuration.DefaultSchedulerName,
			})
		},
	})
	for _, finding := range findings {
		if !finding.Warning {
			return nil, findings
		}
	}
	if set.Namespace == "" {
		set.Namespace = metav1.NamespaceDefault
	}
	return set, findings
}

func expand(
	set *grovev1alpha1.PodCliqueSet, configuration *groveconfigv1alpha1.OperatorConfiguration,
	topologies map[string]*topology.Topology,
) []runtime.Object {
	objects := []runtime.Object{children.ServiceAccount(set), children.Role(set), children.RoleBinding(set, nil)}
	resolved := topology.Resolve(set, func(name string) *topology.Topology { return topologies[name] })
	for replica := range layout.Replicas(set) {
		objects = append(objects, expandReplica(set, replica, configuration, resolved)...)
	}
	return objects
}

func expandReplica(
	set *grovev1alpha1.PodCliqueSet, replica int32, configuration *groveconfigv1alpha1.OperatorConfiguration,
	resolved topology.Resolution,
) []runtime.Object {
	objects := []runtime.Object{children.HeadlessService(set, replica)}
	for _, autoscaler := range children.Autoscalers(set, replica) {
		objects = append(objects, autoscaler)
	}
	groups := set.Spec.Template.PodCliqueScalingGroups
	for i := range groups {
		objects = append(objects, children.ScalingGroup(set, replica, &groups[i]))
	}
	var madePods []runtime.Object
	podNames := map[string][]string{}
	for _, member := range layout.Members(set, replica, layout.GroupReplicas) {
		podClique := children.PodClique(set, member, nil)
		objects = append(objects, podClique)
		for _, pod := range podsOf(set, member, podClique, configuration) {
			madePods = append(madePods, pod)
			podNames[member.Name] = append(podNames[member.Name], pod.Name)
		}
	}
	for _, gang := range gangs.Desired(set, replica, resolved, firstReconcile(podNames)) {
		objects = append(objects, gang)
	}
	return append(objects, madePods...)
}

// podsOf returns the pods as they are once their gang is complete and, for a scaled gang, its base gang is scheduled.
func podsOf(
	set *grovev1alpha1.PodCliqueSet, member layout.Member, podClique *grovev1alpha1.PodClique,
	configuration *groveconfigv1alpha1.OperatorConfiguration,
) []*corev1.Pod {
	maker := pods.Maker{
		Set: set, Member: member, PodClique: podClique, Topology: topology.NameFor(set),
		DefaultScheduler: *configuration.DefaultSchedulerName, Startup: configuration.StartupOrder,
	}
	var made []*corev1.Pod
	for index := range podClique.Spec.Replicas {
		pod := maker.Make(layout.Hostname(podClique.Name, index), index)
		pod.GenerateName = ""
		pods.Ungate(pod)
		made = append(made, pod)
	}
	return made
}

// firstReconcile is an empty cluster except for the pods: a gang lists them as soon as they exist.
func firstReconcile(podNames map[string][]string) gangs.Live {
	return gangs.Live{
		Copies:   func(string) (int32, bool) { return 0, false },
		Replicas: func(string) (int32, bool) { return 0, false },
		Pods:     func(podClique string) []string { return podNames[podClique] },
		Gang:     func(string) *schedulerv1alpha1.PodGang { return nil },
	}
}
