package grove

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/dynamo-operator/internal/pods"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// services are the Services of a component. The first one has every pod: Dynamo's runtime reads from its EndpointSlices
// which pods are ready, and data parallel ranks are on the workers of several nodes too. The second one has the leaders
// alone, which serve for a replica as a whole.
func services(
	deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec, pod *pods.Template,
) []client.Object {
	served := ports(component, pod)
	discovery := pods.DiscoveryOf(deployment, component)
	var made []client.Object
	if len(served) > 0 || discovery.Kubernetes {
		service := componentService(deployment, component, pod, names.Selector(deployment, component), orSystem(served))
		maps.Copy(service.Labels, discovery.Labels())
		made = append(made, service)
	}
	if component.Multinode != nil && len(served) > 0 {
		leaders := componentService(deployment, component, pod, names.Leaders(deployment, component), served)
		leaders.Spec.Selector[v1beta1.LabelMultinodeRole] = v1beta1.RoleLeader
		made = append(made, leaders)
	}
	return made
}

// orSystem is the port at which Dynamo's runtime would answer, for a Service of pods that name none: a Service has to
// have a port.
func orSystem(served []corev1.ServicePort) []corev1.ServicePort {
	if len(served) > 0 {
		return served
	}
	return []corev1.ServicePort{{
		Name: "system", Port: pods.SystemNumber, Protocol: corev1.ProtocolTCP,
		TargetPort: intstr.FromInt32(pods.SystemNumber),
	}}
}

func componentService(
	deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec, pod *pods.Template, name string,
	served []corev1.ServicePort,
) *corev1.Service {
	meta := childMeta(deployment, name)
	for _, key := range []string{
		v1beta1.LabelSelector, v1beta1.LabelComponent, v1beta1.LabelComponentType, v1beta1.LabelSubComponentType,
		v1beta1.LabelDynamoNamespace,
	} {
		if value, ok := pod.Labels[key]; ok {
			meta.Labels[key] = value
		}
	}
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: meta,
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, Ports: served,
			Selector: map[string]string{
				v1beta1.LabelSelector:        names.Selector(deployment, component),
				v1beta1.LabelDynamoNamespace: names.DynamoNamespace(deployment, component),
			},
		},
	}
}

// ports are those of the containers that run Dynamo, each number once for a protocol as in every Service, and each name
// once.
func ports(component *v1beta1.ComponentSpec, pod *pods.Template) []corev1.ServicePort {
	all := slices.Clone(pod.Main().Ports)
	if name := component.DynamoSidecar; name != nil {
		if sidecar := pods.Named(pod.Spec.InitContainers, *name); sidecar != nil {
			all = append(all, sidecar.Ports...)
		}
	}
	var served []corev1.ServicePort
	for _, port := range all {
		next := servicePort(port)
		if component.Type == v1beta1.TypeEPP && next.Port == pods.GRPCNumber {
			next.AppProtocol = new("http2")
		}
		if !slices.ContainsFunc(served, func(p corev1.ServicePort) bool {
			return p.Port == next.Port && p.Protocol == next.Protocol || p.Name == next.Name
		}) {
			served = append(served, next)
		}
	}
	return served
}

func servicePort(port corev1.ContainerPort) corev1.ServicePort {
	protocol := cmp.Or(port.Protocol, corev1.ProtocolTCP)
	served := corev1.ServicePort{Name: port.Name, Port: port.ContainerPort, Protocol: protocol,
		TargetPort: intstr.FromString(port.Name)}
	if port.Name == "" {
		served.Name, served.TargetPort = fmt.Sprintf("port-%d", port.ContainerPort),
			intstr.FromInt32(port.ContainerPort)
		if protocol != corev1.ProtocolTCP {
			served.Name += "-" + strings.ToLower(string(protocol))
		}
	}
	return served
}

// models are the Services of the models that a deployment serves: headless, each with the pods of every component that
// serves it.
func models(deployment *v1beta1.DynamoGraphDeployment) []client.Object {
	var made []client.Object
	seen := map[string]bool{}
	for i := range deployment.Spec.Components {
		model := deployment.Spec.Components[i].ModelRef
		if model == nil || seen[model.Name] {
			continue
		}
		seen[model.Name] = true
		meta := childMeta(deployment, names.Model(deployment, model.Name))
		meta.Labels[v1beta1.LabelBaseModelHash] = names.ModelHash(model.Name)
		if meta.Annotations == nil {
			meta.Annotations = map[string]string{}
		}
		meta.Annotations[v1beta1.AnnotationBaseModel] = model.Name
		made = append(made, &corev1.Service{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: meta,
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeClusterIP, ClusterIP: corev1.ClusterIPNone, Ports: orSystem(nil),
				Selector: map[string]string{
					v1beta1.LabelBaseModelHash:  names.ModelHash(model.Name),
					v1beta1.LabelDeploymentName: names.Deployment(deployment),
				},
			},
		})
	}
	return made
}
