package plugin

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/component-helpers/storage/ephemeral"

	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

// claims finds the claims of pods that plans for moves do not look at.
type claims struct {
	volumeClaims corelisters.PersistentVolumeClaimLister
	volumes      corelisters.PersistentVolumeLister
}

// tied names a claim of a pod that may be of no use on another node; empty if there is none. A claim for devices is
// one, and that for a volume which is made with the pod, is not bound, or names the nodes that it can be used on.
func (c claims) tied(pod *corev1.Pod) string {
	if len(pod.Spec.ResourceClaims) > 0 {
		return "device claim " + pod.Spec.ResourceClaims[0].Name
	}
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		switch {
		case volume.Ephemeral != nil:
			return "volume " + volume.Name
		case volume.PersistentVolumeClaim != nil && c.isTied(pod.Namespace, volume.PersistentVolumeClaim.ClaimName):
			return "volume claim " + volume.PersistentVolumeClaim.ClaimName
		}
	}
	return ""
}

// unbound names a claim of a pod for a volume that is made, or chosen, once the pod has a node; empty if there is none.
func (c claims) unbound(pod *corev1.Pod) string {
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		var name string
		switch {
		case volume.Ephemeral != nil:
			name = ephemeral.VolumeClaimName(pod, volume)
		case volume.PersistentVolumeClaim != nil:
			name = volume.PersistentVolumeClaim.ClaimName
		default:
			continue
		}
		claim, err := c.volumeClaims.PersistentVolumeClaims(pod.Namespace).Get(name)
		if err == nil && claim.Spec.VolumeName == "" {
			return name
		}
	}
	return ""
}

func (c claims) isTied(namespace, name string) bool {
	claim, err := c.volumeClaims.PersistentVolumeClaims(namespace).Get(name)
	if err != nil || claim.Spec.VolumeName == "" {
		return true
	}
	volume, err := c.volumes.Get(claim.Spec.VolumeName)
	return err != nil || volume.Spec.NodeAffinity != nil
}

// giveBack has the devices deallocated that pods of a gang which does not fit have claims for, and that no other pod
// uses: they tie the gang to nodes, or could not be prepared. It reports whether there are any. The gang is woken once
// that is done.
func (p *Plugin) giveBack(ctx context.Context, pods []*corev1.Pod) (given bool, err error) {
	for _, pod := range pods {
		for _, claim := range kubeframework.Unused(p.handle.SharedDRAManager(), pod) {
			unused := claim.DeepCopy()
			unused.Status.ReservedFor, unused.Status.Allocation, unused.Status.Devices = nil, nil, nil
			_, err := p.handle.ClientSet().ResourceV1().ResourceClaims(claim.Namespace).UpdateStatus(ctx, unused,
				metav1.UpdateOptions{})
			if given = true; err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				return given, fmt.Errorf("deallocating claim %s/%s: %w", claim.Namespace, claim.Name, err)
			}
		}
	}
	return given, nil
}
