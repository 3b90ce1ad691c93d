package grove

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/dynamo-operator/internal/launch"
	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/dynamo-operator/internal/pods"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// childMeta is the metadata of what belongs to a deployment and goes with it.
func childMeta(deployment *v1beta1.DynamoGraphDeployment, name string) metav1.ObjectMeta {
	labels := maps.Clone(deployment.Spec.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1beta1.LabelDeploymentName] = names.Deployment(deployment)
	meta := metav1.ObjectMeta{
		Name:        name,
		Namespace:   deployment.Namespace,
		Labels:      labels,
		Annotations: maps.Clone(deployment.Spec.Annotations),
	}
	// A deployment that is not in a cluster has no identity that could own anything.
	if deployment.UID != "" {
		meta.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(deployment, v1beta1.GroupVersion.WithKind("DynamoGraphDeployment")),
		}
	}
	return meta
}

// launchNode is how the pods of a replica reach one another in Grove: by their host names under the headless Service,
// which start with the scaling group replica's.
func launchNode(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec, leader bool) launch.Node {
	address := func(clique string, index int32) string {
		return fmt.Sprintf("$(%s)-$(%s)-%s-%d.$(%s)", grovev1alpha1.EnvPodCliqueScalingGroupName,
			grovev1alpha1.EnvPodCliqueScalingGroupIndex, clique, index, grovev1alpha1.EnvHeadlessService)
	}
	name := names.Component(component.Name)
	return launch.Node{
		Leader:        leader,
		Count:         component.Multinode.NodeCount,
		LeaderAddress: address(name+names.LeaderSuffix, 0),
		WorkerAddress: func(index int32) string { return address(name+names.WorkerSuffix, index) },
		RankVariable:  grovev1alpha1.EnvPodIndex,
		Executor:      vllmExecutor(deployment, component),
	}
}

func vllmExecutor(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec) string {
	if executor := component.PodTemplate.Annotations[v1beta1.AnnotationVLLMExecutor]; executor != "" {
		return executor
	}
	if executor := deployment.Spec.Annotations[v1beta1.AnnotationVLLMExecutor]; executor != "" {
		return executor
	}
	return deployment.Annotations[v1beta1.AnnotationVLLMExecutor]
}

// service is the Service of a component that serves a port: one in front of all its replicas, at their leaders.
func service(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec, pod *pods.Template, narrower map[string]string) []client.Object {
	served := ports(pod.Main())
	if len(served) == 0 {
		return nil
	}
	name := names.Selector(deployment, component)
	selector := map[string]string{v1beta1.LabelSelector: name, v1beta1.LabelDynamoNamespace: names.DynamoNamespace(deployment)}
	maps.Copy(selector, narrower)
	meta := childMeta(deployment, name)
	for _, key := range []string{
		v1beta1.LabelSelector, v1beta1.LabelComponent, v1beta1.LabelComponentType, v1beta1.LabelDynamoNamespace,
	} {
		if value, ok := pod.Labels[key]; ok {
			meta.Labels[key] = value
		}
	}
	return []client.Object{&corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: meta,
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Selector: selector, Ports: served},
	}}
}

// ports are those of a container, each number once for a protocol as in every Service.
func ports(main *corev1.Container) []corev1.ServicePort {
	var served []corev1.ServicePort
	for _, port := range main.Ports {
		next := servicePort(port)
		if !slices.ContainsFunc(served, func(p corev1.ServicePort) bool { return p.Port == next.Port && p.Protocol == next.Protocol }) {
			served = append(served, next)
		}
	}
	return served
}

func servicePort(port corev1.ContainerPort) corev1.ServicePort {
	protocol := cmp.Or(port.Protocol, corev1.ProtocolTCP)
	served := corev1.ServicePort{Name: port.Name, Port: port.ContainerPort, Protocol: protocol, TargetPort: intstr.FromString(port.Name)}
	if port.Name == "" {
		served.Name, served.TargetPort = fmt.Sprintf("port-%d", port.ContainerPort), intstr.FromInt32(port.ContainerPort)
		if protocol != corev1.ProtocolTCP {
			served.Name += "-" + strings.ToLower(string(protocol))
		}
	}
	return served
}

// claims are the persistent volume claims that are to be made for the deployment.
func claims(deployment *v1beta1.DynamoGraphDeployment) []client.Object {
	var made []client.Object
	for _, claim := range deployment.Spec.PVCs {
		if claim.Create == nil || !*claim.Create || claim.Size == nil {
			continue
		}
		mode := claim.VolumeAccessMode
		if mode == "" {
			mode = corev1.ReadWriteOnce
		}
		spec := corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{mode},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: *claim.Size}},
		}
		if claim.StorageClass != "" {
			spec.StorageClassName = new(claim.StorageClass)
		}
		made = append(made, &corev1.PersistentVolumeClaim{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
			ObjectMeta: childMeta(deployment, claim.Name),
			Spec:       spec,
		})
	}
	return made
}

// discoveryRules are what the pods may do to find one another: look for the endpoints of the deployment's Services, and
// publish what they serve themselves.
var discoveryRules = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"pods", "services"}, Verbs: []string{"get", "list", "watch"}},
	{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"get", "list", "watch"}},
	{
		APIGroups: []string{v1beta1.GroupName}, Resources: []string{"dynamoworkermetadatas"},
		Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete"},
	},
}

// discovery is the service account of the pods, unless they name another, and its rights.
func discovery(deployment *v1beta1.DynamoGraphDeployment) []client.Object {
	name := names.Discovery(deployment)
	return []client.Object{
		&corev1.ServiceAccount{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
			ObjectMeta: childMeta(deployment, name),
		},
		&rbacv1.Role{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
			ObjectMeta: childMeta(deployment, name),
			Rules:      discoveryRules,
		},
		&rbacv1.RoleBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
			ObjectMeta: childMeta(deployment, name),
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: deployment.Namespace}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		},
	}
}
