package pods

import (
	"slices"

	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

const (
	discoveryKubernetes = "kubernetes"
	discoveryEtcd       = "etcd"
	discoveryContainer  = "container"
)

// Discovery says how the pods of a component find others and are found.
type Discovery struct {
	// Kubernetes is true if they use the API server, false if they use etcd.
	Kubernetes bool
	// Containers is true if each container is found, by its Pod, and not each pod, by an EndpointSlice.
	Containers bool
}

// DiscoveryOf reads the annotations of a deployment and of a component.
func DiscoveryOf(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec) Discovery {
	if Setting(deployment, component, v1beta1.AnnotationDiscoveryBackend) == discoveryEtcd {
		return Discovery{}
	}
	return Discovery{Kubernetes: true,
		Containers: Setting(deployment, component, v1beta1.AnnotationDiscoveryMode) == discoveryContainer}
}

// Backend is the backend of a discovery in the words of the annotation.
func (d Discovery) Backend() string {
	if d.Kubernetes {
		return discoveryKubernetes
	}
	return discoveryEtcd
}

// Labels are those by which Dynamo's runtime finds EndpointSlices and pods; none with etcd.
func (d Discovery) Labels() map[string]string {
	if !d.Kubernetes {
		return nil
	}
	return map[string]string{v1beta1.LabelDiscoveryBackend: discoveryKubernetes, v1beta1.LabelDiscoveryEnabled: "true"}
}

// Setting is the value of an annotation about a component's pods: the component's own, or else the deployment's.
func Setting(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec, key string) string {
	for _, annotations := range []map[string]string{
		component.PodTemplate.Annotations, deployment.Spec.Annotations, deployment.Annotations,
	} {
		if value := annotations[key]; value != "" {
			return value
		}
	}
	return ""
}

// HasType reports whether a deployment has a component of a type.
func HasType(deployment *v1beta1.DynamoGraphDeployment, componentType string) bool {
	return slices.ContainsFunc(deployment.Spec.Components, func(component v1beta1.ComponentSpec) bool {
		return component.Type == componentType
	})
}

// builtInAccounts are the accounts that manifests name for the two types which have one of their own in other
// operators. Here each deployment has its own accounts, with other names.
var builtInAccounts = map[string]string{v1beta1.TypePlanner: "planner-serviceaccount",
	v1beta1.TypeEPP: "epp-serviceaccount"}

// account is the service account of a component's pods unless they name another; empty for the namespace's own.
func (m *maker) account() string {
	switch {
	case m.component.Type == v1beta1.TypePlanner:
		return names.Planner(m.deployment)
	case m.component.Type == v1beta1.TypeEPP:
		return names.EndpointPicker(m.deployment)
	case m.discovery.Kubernetes:
		return names.Discovery(m.deployment)
	default:
		return ""
	}
}
