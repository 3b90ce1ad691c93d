package pods

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// kind is what a component's type means for its main container; a nil probe or an empty list means no default.
type kind struct {
	command, args                []string
	ports                        []corev1.ContainerPort
	startup, liveness, readiness *corev1.Probe
	env                          []corev1.EnvVar
}

const (
	httpPort   = "http"
	systemPort = "system"
	nixlPort   = "nixl"
)

var frontend = kind{
	command: []string{"python3"},
	args:    []string{"-m", "dynamo.frontend"},
	ports:   []corev1.ContainerPort{{Name: httpPort, ContainerPort: 8000, Protocol: corev1.ProtocolTCP}},
	liveness: &corev1.Probe{
		ProbeHandler: get("/live", httpPort), InitialDelaySeconds: 15, PeriodSeconds: 10, TimeoutSeconds: 1, FailureThreshold: 3,
	},
	readiness: &corev1.Probe{
		ProbeHandler: get("/health", httpPort), InitialDelaySeconds: 10, PeriodSeconds: 10, TimeoutSeconds: 3, FailureThreshold: 3,
	},
}

// worker loads a model before it is alive, which may take two hours.
var worker = kind{
	ports: []corev1.ContainerPort{
		{Name: systemPort, ContainerPort: 9090, Protocol: corev1.ProtocolTCP},
		{Name: nixlPort, ContainerPort: 19090, Protocol: corev1.ProtocolTCP},
	},
	startup:   &corev1.Probe{ProbeHandler: get("/live", systemPort), PeriodSeconds: 10, TimeoutSeconds: 5, FailureThreshold: 720},
	liveness:  &corev1.Probe{ProbeHandler: get("/live", systemPort), PeriodSeconds: 5, TimeoutSeconds: 4, FailureThreshold: 3},
	readiness: &corev1.Probe{ProbeHandler: get("/health", systemPort), PeriodSeconds: 10, TimeoutSeconds: 4, FailureThreshold: 3},
	// The runtime serves /live and /health only when it is told to.
	env: []corev1.EnvVar{
		{Name: "DYN_SYSTEM_ENABLED", Value: "true"},
		{Name: "DYN_SYSTEM_PORT", Value: "9090"},
	},
}

func get(path, port string) corev1.ProbeHandler {
	return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString(port)}}
}

func kindOf(componentType string) kind {
	switch componentType {
	case "frontend":
		return frontend
	case "worker", "prefill", "decode":
		return worker
	default:
		return kind{}
	}
}

func fillCommand(main *corev1.Container, kind kind) {
	if len(main.Command) > 0 {
		return
	}
	main.Command = slices.Clone(kind.command)
	if len(main.Args) == 0 {
		main.Args = slices.Clone(kind.args)
	}
}

// fillPorts adds the ports that the user has not given another number or name.
func fillPorts(main *corev1.Container, kind kind) {
	for _, port := range kind.ports {
		if !slices.ContainsFunc(main.Ports, func(set corev1.ContainerPort) bool {
			return set.Name == port.Name || set.ContainerPort == port.ContainerPort
		}) {
			main.Ports = append(main.Ports, port)
		}
	}
}

func fillProbes(main *corev1.Container, kind kind) {
	for _, probe := range []struct{ set, otherwise **corev1.Probe }{
		{&main.StartupProbe, &kind.startup},
		{&main.LivenessProbe, &kind.liveness},
		{&main.ReadinessProbe, &kind.readiness},
	} {
		if *probe.set == nil {
			*probe.set = withPortOf(main, (*probe.otherwise).DeepCopy())
		}
	}
}

// withPortOf makes a probe ask the port by number where the user has given that port another name.
func withPortOf(main *corev1.Container, probe *corev1.Probe) *corev1.Probe {
	if probe == nil {
		return nil
	}
	name := probe.HTTPGet.Port.StrVal
	if !slices.ContainsFunc(main.Ports, func(port corev1.ContainerPort) bool { return port.Name == name }) {
		for _, port := range slices.Concat(frontend.ports, worker.ports) {
			if port.Name == name {
				probe.HTTPGet.Port = intstr.FromInt32(port.ContainerPort)
			}
		}
	}
	return probe
}

func environment(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec, kind kind) []corev1.EnvVar {
	part := component.Type
	if part == "" {
		part = names.Component(component.Name)
	}
	return append([]corev1.EnvVar{
		{Name: "DYN_NAMESPACE", Value: names.DynamoNamespace(deployment)},
		{Name: "DYN_COMPONENT", Value: part},
		{Name: "DYN_PARENT_DGD_K8S_NAME", Value: deployment.Name},
		{Name: "DYN_PARENT_DGD_K8S_NAMESPACE", Value: deployment.Namespace},
		{Name: "POD_NAME", ValueFrom: fieldRef("metadata.name")},
		{Name: "POD_NAMESPACE", ValueFrom: fieldRef("metadata.namespace")},
		{Name: "POD_UID", ValueFrom: fieldRef("metadata.uid")},
		{Name: "DYN_DISCOVERY_BACKEND", Value: "kubernetes"},
	}, kind.env...)
}

func fieldRef(path string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
}

// IsExtended says whether a resource is one that a device plugin counts, such as nvidia.com/gpu.
func IsExtended(name corev1.ResourceName) bool {
	return strings.Contains(string(name), "/") && !strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}
