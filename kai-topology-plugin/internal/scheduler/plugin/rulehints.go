package plugin

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

// onRules are hints on what else can open nodes to pods that have rules: other pods to be near or to be level with,
// volumes, and devices. We turn down the pods of a gang in the name of all filters, so that the events of those do
// not wake them.
func (h *queueingHints) onRules() []hint {
	changed := fwk.Add | fwk.Update
	hints := []hint{
		hintOn(fwk.Pod, fwk.Add|fwk.UpdatePodLabel, h.neighbourHelps),
		hintOn(fwk.ResourceClaim, fwk.Update|fwk.Delete, h.deviceClaimHelps),
		hintOn(fwk.DeviceClass, changed, h.deviceClassHelps),
		hintOn(fwk.VolumeAttachment, fwk.Delete, h.suppliesHelp),
	}
	for _, resource := range []fwk.EventResource{
		fwk.PersistentVolume, fwk.PersistentVolumeClaim, fwk.StorageClass, fwk.CSINode, fwk.CSIStorageCapacity,
		fwk.ResourceSlice,
	} {
		hints = append(hints, hintOn(resource, changed, h.suppliesHelp))
	}
	return hints
}

// helpsAny asks the pod that asks for its gang on behalf of all: each may have rules that the others have not.
func (h *queueingHints) helpsAny(
	asker *gangstate.Waiting, helps func(waiting *corev1.Pod) (bool, error),
) (bool, error) {
	if !asker.Asks() {
		return false, nil
	}
	waiting := []*corev1.Pod{asker.Pod}
	if asker.Gang.Name != "" {
		members, err := h.lister.Shown(asker.Gang)
		if err != nil {
			return true, err
		}
		waiting = members
	}
	for _, pod := range waiting {
		if pod.Spec.NodeName != "" {
			continue
		}
		if helped, err := helps(pod); helped || err != nil {
			return true, err
		}
	}
	return false, nil
}

// neighbourHelps is for a pod that has appeared on a node, or has other labels.
func (h *queueingHints) neighbourHelps(asker *gangstate.Waiting, before, after any) (bool, error) {
	if !asker.LooksAtPods() {
		return false, nil
	}
	return h.helpsAny(asker, func(waiting *corev1.Pod) (bool, error) {
		for _, object := range []any{before, after} {
			pod, ok := object.(*corev1.Pod)
			if !ok || pod.Spec.NodeName == "" {
				continue
			}
			if concerned, err := kubeframework.Concerns(waiting, pod); concerned || err != nil {
				return concerned, err
			}
		}
		return false, nil
	})
}

// suppliesHelp is for anything that volumes or devices come from.
func (h *queueingHints) suppliesHelp(asker *gangstate.Waiting, _, _ any) (bool, error) {
	return h.helpsAny(asker, func(waiting *corev1.Pod) (bool, error) {
		return h.view.Resources().Supplied(waiting), nil
	})
}

// deviceClassHelps is for a class of devices. It may provide a resource that no node has.
func (h *queueingHints) deviceClassHelps(asker *gangstate.Waiting, _, _ any) (bool, error) {
	resources := h.view.Resources()
	return h.helpsAny(asker, func(waiting *corev1.Pod) (bool, error) {
		_, unprovided := resources.ByDevices(waiting)
		return resources.Supplied(waiting) || len(unprovided) > 0, nil
	})
}

// deviceClaimHelps is for a claim that a pod uses itself, or one that releases its devices. A claim also changes each
// time that a pod begins to use it, which helps no other pod.
func (h *queueingHints) deviceClaimHelps(asker *gangstate.Waiting, before, after any) (bool, error) {
	old, _ := before.(*resourcev1.ResourceClaim)
	claim, exists := after.(*resourcev1.ResourceClaim)
	givenBack := old != nil && old.Status.Allocation != nil && (!exists || claim.Status.Allocation == nil)
	return h.helpsAny(asker, func(waiting *corev1.Pod) (bool, error) {
		provided, _ := h.view.Resources().ByDevices(waiting)
		claims := len(waiting.Spec.ResourceClaims) > 0 || len(provided) > 0
		return claims && (givenBack || exists && kubeframework.Uses(waiting, claim)), nil
	})
}
