package children

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
)

// HeadlessService gives the pods of one replica their DNS names.
func HeadlessService(set *grovev1alpha1.PodCliqueSet, replica int32) *corev1.Service {
	own := map[string]string{grovev1alpha1.LabelPodCliqueSetReplicaIndex: index(replica)}
	name := layout.HeadlessService(set.Name, replica)
	service := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metadata(set, name, grovev1alpha1.ComponentHeadlessService, nil, own),
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone,
			Selector: map[string]string{
				grovev1alpha1.LabelPartOf:                   set.Name,
				grovev1alpha1.LabelPodCliqueSetReplicaIndex: index(replica),
			},
			PublishNotReadyAddresses: publishNotReady(set),
		},
	}
	service.OwnerReferences = ownedBySet(set)
	return service
}

func publishNotReady(set *grovev1alpha1.PodCliqueSet) bool {
	config := set.Spec.Template.HeadlessServiceConfig
	return config == nil || config.PublishNotReadyAddresses == nil || *config.PublishNotReadyAddresses
}
