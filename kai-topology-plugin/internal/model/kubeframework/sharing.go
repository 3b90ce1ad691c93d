package kubeframework

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// kube-scheduler allocates a claim when the first pod that uses it is bound, and turns other pods down until then. All
// pods of a gang get their nodes before any is bound. So the filters are shown the claim as it will be allocated, and
// pods that share it are bound after the one for which it is.

// Sharing is what a pod that was put on a node has to do with claims that are not allocated yet, by their names.
type Sharing struct {
	// Allocates are the claims that are allocated when the pod is bound, and that other pods wait for.
	Allocates []string
	// Rides are the claims that another pod allocates.
	Rides []string
}

// Share returns what a pod for which devices have just been reserved shares with others, and has the filters see that
// for them. Unreserve ends it.
func Share(manager fwk.SharedDRAManager, pod *corev1.Pod) (sharing Sharing, err error) {
	for i := range pod.Spec.ResourceClaims {
		used := &pod.Spec.ResourceClaims[i]
		claim, pending := inFlight(manager, pod, used)
		switch {
		case pending == nil:
		case claim.Status.Allocation != nil:
			sharing.Rides = append(sharing.Rides, claim.Name)
			err = manager.ResourceClaims().SignalClaimPendingAllocation(claim.UID, claim)
		case used.ResourceClaimName != nil:
			sharing.Allocates = append(sharing.Allocates, claim.Name)
			allocated := claim.DeepCopy()
			allocated.Status.Allocation = pending
			err = manager.ResourceClaims().AssumeClaimAfterAPICall(allocated)
		case isConditional(pending):
			sharing.Allocates = append(sharing.Allocates, claim.Name)
		}
		if err != nil {
			return sharing, fmt.Errorf("sharing claim %s/%s: %w", claim.Namespace, claim.Name, err)
		}
	}
	return sharing, nil
}

// Unused returns the claims of a pod that are allocated, and that no other pod uses.
func Unused(manager fwk.SharedDRAManager, pod *corev1.Pod) (claims []*resourcev1.ResourceClaim) {
	for i := range pod.Spec.ResourceClaims {
		claim, pending := inFlight(manager, pod, &pod.Spec.ResourceClaims[i])
		if claim == nil || pending != nil || claim.Status.Allocation == nil {
			continue
		}
		if !slices.ContainsFunc(claim.Status.ReservedFor, func(by resourcev1.ResourceClaimConsumerReference) bool {
			return by.UID != pod.UID
		}) {
			claims = append(claims, claim)
		}
	}
	return claims
}

// inFlight returns a claim of a pod and how it will be allocated, nil if that is not decided, or written already.
func inFlight(
	manager fwk.SharedDRAManager, pod *corev1.Pod, used *corev1.PodResourceClaim,
) (*resourcev1.ResourceClaim, *resourcev1.AllocationResult) {
	if manager == nil {
		return nil, nil
	}
	claim, err := manager.ResourceClaims().Get(pod.Namespace, deviceClaim(pod, used))
	if err != nil {
		return nil, nil
	}
	return claim, manager.ResourceClaims().GetPendingAllocation(claim.UID)
}

// isConditional reports whether pods wait for a device to be prepared before they are bound.
func isConditional(allocation *resourcev1.AllocationResult) bool {
	for i := range allocation.Devices.Results {
		if len(allocation.Devices.Results[i].BindingConditions) > 0 {
			return true
		}
	}
	return false
}

// outOfReach objects to a node that cannot use a device which is set aside for another pod that shares its claim; nil
// if there is none. The filters do not look at that.
func outOfReach(manager fwk.SharedDRAManager, pod *corev1.Pod, node *corev1.Node) *fwk.Status {
	for i := range pod.Spec.ResourceClaims {
		claim, pending := inFlight(manager, pod, &pod.Spec.ResourceClaims[i])
		if pending == nil || pending.NodeSelector == nil {
			continue
		}
		selector, err := nodeaffinity.NewNodeSelector(pending.NodeSelector)
		if err != nil {
			return fwk.AsStatus(fmt.Errorf("reading where claim %s/%s can be used: %w", claim.Namespace, claim.Name, err))
		}
		if !selector.Match(node) {
			reason := fmt.Sprintf("claim %s is shared, and its device cannot be used from all nodes that its pods need: "+
				"give each pod a claim of its own, by a ResourceClaimTemplate", claim.Name)
			return fwk.NewStatus(fwk.Unschedulable, reason).WithPlugin(names.DynamicResources)
		}
	}
	return nil
}
