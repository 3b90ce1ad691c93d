package rollout

import (
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/podtemplate"
)

// InPlace returns a decision in which pods that need only other images are not deleted, if the set's user asks for
// that: their images are changed in place.
func (o Objects) InPlace(decision Decision) Decision {
	if o.Set.Annotations[grovev1alpha1.AnnotationImageUpdate] != grovev1alpha1.ImageUpdateInPlace {
		return decision
	}
	replaced := decision.Delete
	decision.Delete = nil
	for _, pod := range replaced {
		podClique := o.podClique(pod.Labels[grovev1alpha1.LabelPodClique])
		member, _ := layout.Find(o.Set, podClique)
		if images, ok := podtemplate.NewImages(o.Set, member.Clique, pod); ok {
			hash := podClique.Labels[grovev1alpha1.LabelPodTemplateHash]
			decision.Images = append(decision.Images, pods.ImageUpdate{Pod: pod, Images: images, Hash: hash})
		} else {
			decision.Delete = append(decision.Delete, pod)
		}
	}
	return decision
}
