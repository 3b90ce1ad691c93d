package grove

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/dynamo-operator/internal/launch"
	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/dynamo-operator/internal/pods"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// childMeta is the metadata of an object that belongs to a deployment and is deleted with it.
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
	// A deployment that is not in a cluster has no UID, and can own nothing.
	if deployment.UID != "" {
		meta.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(deployment, v1beta1.GroupVersion.WithKind("DynamoGraphDeployment")),
		}
	}
	return meta
}

// launchNode says how the pods of a replica reach one another in Grove: by their host names under the headless Service.
// Host names start with the name of the scaling group's replica. Name is the beginning of the names of its cliques.
func launchNode(
	deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec, name string, leader bool,
) launch.Node {
	address := func(clique string, index int32) string {
		return fmt.Sprintf("$(%s)-$(%s)-%s-%d.$(%s)", grovev1alpha1.EnvPodCliqueScalingGroupName,
			grovev1alpha1.EnvPodCliqueScalingGroupIndex, clique, index, grovev1alpha1.EnvHeadlessService)
	}
	return launch.Node{
		Leader:        leader,
		Count:         component.Multinode.NodeCount,
		LeaderAddress: address(name+names.LeaderSuffix, 0),
		WorkerAddress: func(index int32) string { return address(name+names.WorkerSuffix, index) },
		RankVariable:  grovev1alpha1.EnvPodIndex,
		Executor:      pods.Setting(deployment, component, v1beta1.AnnotationVLLMExecutor),
	}
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
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: *claim.Size},
			},
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
