package pods

import (
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// Infrastructure are the addresses that the pods of all deployments get. Each may be empty: then the pods do not get
// it.
type Infrastructure struct {
	// NATSAddress and EtcdAddress are those of the servers by which Dynamo's runtime sends requests and finds other
	// pods, if it uses them.
	NATSAddress, EtcdAddress string
	// ModelExpressURL is where weights are fetched from.
	ModelExpressURL string
	// PrometheusEndpoint is where a planner reads metrics.
	PrometheusEndpoint string
}

func (i Infrastructure) env() []corev1.EnvVar {
	var env []corev1.EnvVar
	for _, address := range []corev1.EnvVar{
		{Name: "NATS_SERVER", Value: i.NATSAddress},
		{Name: "ETCD_ENDPOINTS", Value: i.EtcdAddress},
		{Name: "MODEL_EXPRESS_URL", Value: i.ModelExpressURL},
		{Name: "PROMETHEUS_ENDPOINT", Value: i.PrometheusEndpoint},
	} {
		if address.Value != "" {
			env = append(env, address)
		}
	}
	return env
}

// environment are the variables of a container that runs Dynamo: its identity, its place, how it finds others, and
// those of its kind.
func (m *maker) environment(container, componentType string, kind kind) []corev1.EnvVar {
	namespace := names.DynamoNamespace(m.deployment, m.component)
	env := []corev1.EnvVar{
		{Name: "DYN_NAMESPACE", Value: namespace},
		{Name: "DYN_COMPONENT", Value: componentType},
		{Name: "DYN_PARENT_DGD_K8S_NAME", Value: m.deployment.Name},
		{Name: "DYN_PARENT_DGD_K8S_NAMESPACE", Value: m.deployment.Namespace},
		{Name: "POD_NAME", ValueFrom: FieldRef("metadata.name")},
		{Name: "POD_NAMESPACE", ValueFrom: FieldRef("metadata.namespace")},
		{Name: "POD_UID", ValueFrom: FieldRef("metadata.uid")},
	}
	if m.discovery.Kubernetes {
		env = append(env, corev1.EnvVar{Name: "DYN_DISCOVERY_BACKEND", Value: discoveryKubernetes})
	}
	if m.discovery.Containers {
		env = append(env, corev1.EnvVar{Name: "CONTAINER_NAME", Value: container},
			corev1.EnvVar{Name: "DYN_KUBE_DISCOVERY_MODE", Value: discoveryContainer})
	}
	env = append(append(env, m.infrastructure.env()...), kind.env...)
	if componentType == v1beta1.TypeFrontend {
		env = append(env, corev1.EnvVar{Name: "DYN_NAMESPACE_PREFIX", Value: namespace})
	}
	return env
}

// FieldRef is the value of a field of the pod.
func FieldRef(path string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
}
