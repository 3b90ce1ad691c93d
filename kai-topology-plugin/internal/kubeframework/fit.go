package kubeframework

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
)

// FitsBeside reports whether a node has the resources and host ports for a pod once the others stand on it too.
func FitsBeside(pod *corev1.Pod, node fwk.NodeInfo, others []*corev1.Pod) (bool, error) {
	crowded := node.Snapshot()
	for _, other := range others {
		info, err := framework.NewPodInfo(other)
		if err != nil {
			return false, fmt.Errorf("reading pod %s/%s: %w", other.Namespace, other.Name, err)
		}
		crowded.AddPodInfo(info)
	}
	lacking := noderesources.Fits(pod, crowded, nil, noderesources.ResourceRequestsOptions{EnablePodLevelResources: true})
	return len(lacking) == 0 && nodeports.Fits(pod, crowded), nil
}
