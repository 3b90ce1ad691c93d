// Package pods makes the pods of a component from its pod template: it fills in fields that the template leaves open,
// by the component's type, and changes nothing that the user has set.
package pods

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

const (
	// Scheduler places the pods unless the user names another.
	Scheduler = "kai-scheduler"

	defaultQueue            = "dynamo"
	terminationGraceSeconds = 60
	// pickerGraceSeconds is how long an endpoint picker waits for its requests to end.
	pickerGraceSeconds = 130
	defaultGroup       = 1000
)

// Template is the pod of a component, before it is made one node of several.
type Template struct {
	// Labels and Annotations of the pod.
	Labels, Annotations map[string]string
	// Spec of the pod. Its first container is the main one.
	Spec corev1.PodSpec
}

// Main is the workload container.
func (t *Template) Main() *corev1.Container {
	return &t.Spec.Containers[0]
}

// maker has what the pod of a component is made from.
type maker struct {
	deployment     *v1beta1.DynamoGraphDeployment
	component      *v1beta1.ComponentSpec
	infrastructure Infrastructure
	discovery      Discovery
}

// Make returns the pod of a component. Admission guarantees that the template has a container named main.
func Make(
	deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec, infrastructure Infrastructure,
) Template {
	m := &maker{deployment, component, infrastructure, DiscoveryOf(deployment, component)}
	template := component.PodTemplate.DeepCopy()
	made := Template{
		Labels:      m.labels(template.Labels),
		Annotations: m.annotations(template.Annotations),
		Spec:        template.Spec,
	}
	mainFirst(&made.Spec)
	m.fillPod(&made.Spec)
	mounts := slices.Clone(made.Main().VolumeMounts)
	m.fillMain(&made)
	m.fillSidecars(&made.Spec, mounts)
	return made
}

// mainFirst puts the main container first, so that kubectl logs shows it.
func mainFirst(pod *corev1.PodSpec) {
	slices.SortStableFunc(pod.Containers, func(a, b corev1.Container) int {
		return rank(a) - rank(b)
	})
}

func rank(container corev1.Container) int {
	if container.Name == v1beta1.MainContainer {
		return 0
	}
	return 1
}

func (m *maker) labels(own map[string]string) map[string]string {
	component, componentType := m.component, m.component.Type
	labels := map[string]string{}
	if Setting(m.deployment, component, v1beta1.AnnotationEnableMetrics) != "false" {
		labels[v1beta1.LabelMetricsEnabled] = "true"
	}
	maps.Copy(labels, m.deployment.Spec.Labels)
	maps.Copy(labels, own)
	maps.Copy(labels, m.discovery.Labels())
	labels[v1beta1.LabelDeploymentName] = names.Deployment(m.deployment)
	labels[v1beta1.LabelSelector] = names.Selector(m.deployment, component)
	labels[v1beta1.LabelComponent] = component.Name
	labels[v1beta1.LabelDynamoNamespace] = names.DynamoNamespace(m.deployment, component)
	if componentType != "" {
		labels[v1beta1.LabelComponentType] = componentType
	}
	if isPart(componentType) {
		labels[v1beta1.LabelSubComponentType] = componentType
	}
	if IsWorker(componentType) && HasType(m.deployment, v1beta1.TypeEPP) {
		labels[v1beta1.LabelComponentClass] = v1beta1.TypeWorker
	}
	if model := component.ModelRef; model != nil {
		labels[v1beta1.LabelBaseModelHash] = names.ModelHash(model.Name)
	}
	if labels[v1beta1.LabelQueue] == "" {
		labels[v1beta1.LabelQueue] = defaultQueue
		if queue := m.deployment.Annotations[v1beta1.AnnotationQueue]; queue != "" {
			labels[v1beta1.LabelQueue] = queue
		}
	}
	return labels
}

func (m *maker) annotations(own map[string]string) map[string]string {
	annotations := map[string]string{}
	maps.Copy(annotations, m.deployment.Spec.Annotations)
	maps.Copy(annotations, own)
	annotations[v1beta1.AnnotationDiscoveryBackend] = m.discovery.Backend()
	if model := m.component.ModelRef; model != nil {
		annotations[v1beta1.AnnotationBaseModel] = model.Name
	}
	return annotations
}

func (m *maker) fillPod(pod *corev1.PodSpec) {
	if pod.TerminationGracePeriodSeconds == nil {
		pod.TerminationGracePeriodSeconds = new(int64(terminationGraceSeconds))
		if m.component.Type == v1beta1.TypeEPP {
			*pod.TerminationGracePeriodSeconds = pickerGraceSeconds
		}
	}
	if pod.SchedulerName == "" {
		pod.SchedulerName = Scheduler
	}
	// Images with another user than root have to be able to write to volumes.
	if pod.SecurityContext == nil {
		pod.SecurityContext = &corev1.PodSecurityContext{FSGroup: new(int64(defaultGroup))}
	}
	if named := builtInAccounts[m.component.Type]; named != "" && pod.ServiceAccountName == named {
		pod.ServiceAccountName = ""
	}
	if pod.ServiceAccountName == "" && pod.DeprecatedServiceAccount == "" {
		pod.ServiceAccountName = m.account()
	}
}

func (m *maker) fillMain(made *Template) {
	main, kind := made.Main(), kindOf(m.component.Type)
	if m.component.DynamoSidecar != nil {
		main.Env = withEnv(m.deployment.Spec.Env, main.Env)
	} else {
		own := withEnv(m.deployment.Spec.Env, main.Env)
		main.Env = nil
		kind.fill(main, withEnv(m.environment(main.Name, m.part(), kind), own))
	}
	limitWhatCannotBeShared(main)
	if m.component.Type == v1beta1.TypeEPP {
		m.fillEndpointPicker(&made.Spec, main)
	}
	m.addCompilationCache(&made.Spec, main)
	m.addTopology(made)
	addClaims(&made.Spec, main)
	addSharedMemory(m.component.SharedMemorySize, &made.Spec, main)
}

// part is the runtime's name for a component, in its pods.
func (m *maker) part() string {
	if m.component.Type == "" {
		return names.Component(m.component.Name)
	}
	return m.component.Type
}

// fillSidecars fills the containers beside main that run Dynamo too. A frontend reads the model from the same place as
// main.
func (m *maker) fillSidecars(pod *corev1.PodSpec, mounts []corev1.VolumeMount) {
	if name := m.component.FrontendSidecar; name != nil {
		if container := Named(pod.Containers, *name); container != nil {
			frontend.fill(container, m.environment(*name, v1beta1.TypeFrontend, frontend))
			container.VolumeMounts = append(container.VolumeMounts, missing(container.VolumeMounts, mounts)...)
		}
	}
	if name := m.component.DynamoSidecar; name != nil {
		if container := Named(pod.InitContainers, *name); container != nil {
			sidecar.fill(container, m.environment(*name, m.part(), sidecar))
		}
	}
}

// Named is the container with a name; nil if there is none.
func Named(containers []corev1.Container, name string) *corev1.Container {
	at := slices.IndexFunc(containers, func(container corev1.Container) bool { return container.Name == name })
	if at < 0 {
		return nil
	}
	return &containers[at]
}
