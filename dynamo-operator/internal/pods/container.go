package pods

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"packtree.dev/shared/devices"
)

// fill sets the fields that a container's kind has and the container leaves open. Env is put before the container's own
// variables.
func (k kind) fill(container *corev1.Container, env []corev1.EnvVar) {
	k.fillCommand(container)
	k.fillPorts(container)
	k.fillProbes(container)
	container.Env = withEnv(env, container.Env)
}

func (k kind) fillCommand(container *corev1.Container) {
	if len(container.Command) > 0 {
		return
	}
	container.Command = slices.Clone(k.command)
	if len(container.Args) == 0 {
		container.Args = slices.Clone(k.args)
	}
}

// fillPorts adds the ports, except a number or a name that the user has set.
func (k kind) fillPorts(container *corev1.Container) {
	for _, port := range k.ports {
		if !slices.ContainsFunc(container.Ports, func(set corev1.ContainerPort) bool {
			return set.Name == port.Name || set.ContainerPort == port.ContainerPort
		}) {
			container.Ports = append(container.Ports, port)
		}
	}
}

func (k kind) fillProbes(container *corev1.Container) {
	for _, probe := range []struct{ set, otherwise **corev1.Probe }{
		{&container.StartupProbe, &k.startup},
		{&container.LivenessProbe, &k.liveness},
		{&container.ReadinessProbe, &k.readiness},
	} {
		if *probe.set == nil {
			*probe.set = k.withPortOf(container, (*probe.otherwise).DeepCopy())
		}
	}
}

// withPortOf makes a probe ask the port by number if the user has given that port another name.
func (k kind) withPortOf(container *corev1.Container, probe *corev1.Probe) *corev1.Probe {
	if probe == nil || probe.HTTPGet == nil {
		return probe
	}
	name := probe.HTTPGet.Port.StrVal
	if !slices.ContainsFunc(container.Ports, func(port corev1.ContainerPort) bool { return port.Name == name }) {
		for _, port := range k.ports {
			if port.Name == name {
				probe.HTTPGet.Port = intstr.FromInt32(port.ContainerPort)
			}
		}
	}
	return probe
}

// withEnv puts the defaults that env does not set before it, so that env can refer to them.
func withEnv(defaults, env []corev1.EnvVar) []corev1.EnvVar {
	all := slices.DeleteFunc(slices.Clone(defaults), func(variable corev1.EnvVar) bool {
		return slices.ContainsFunc(env, func(set corev1.EnvVar) bool { return set.Name == variable.Name })
	})
	return append(all, env...)
}

// limitWhatCannotBeShared repeats requests of extended resources as limits: Kubernetes takes no request for a GPU
// without an equal limit.
func limitWhatCannotBeShared(main *corev1.Container) {
	for name, amount := range main.Resources.Requests {
		if _, limited := main.Resources.Limits[name]; limited || !devices.Is(name) {
			continue
		}
		if main.Resources.Limits == nil {
			main.Resources.Limits = corev1.ResourceList{}
		}
		main.Resources.Limits[name] = amount
	}
}
