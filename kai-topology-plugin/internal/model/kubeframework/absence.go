package kubeframework

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Without runs a function while nodes of the scheduling cycle's snapshot are shown without some of their pods; the
// filters do not see these pods either. Only the caller uses the snapshot during a cycle. Afterwards the nodes are as
// before.
func Without(nodes fwk.NodeInfoLister, pods []*corev1.Pod, run func() error) error {
	emptied := map[string]*emptied{}
	defer func() {
		for _, node := range emptied {
			*node.info = *node.before
		}
	}()
	for _, pod := range pods {
		name := pod.Spec.NodeName
		if emptied[name] == nil {
			node, err := emptiable(nodes, name)
			if err != nil {
				return err
			}
			emptied[name] = node
		}
		if err := emptied[name].info.RemovePod(klog.Background(), pod); err != nil {
			return fmt.Errorf("taking pod %s/%s off node %s: %w", pod.Namespace, pod.Name, name, err)
		}
	}
	return run()
}

// emptied is a node of the snapshot that is shown without some of its pods, and what it was before.
type emptied struct {
	info, before *framework.NodeInfo
}

func emptiable(nodes fwk.NodeInfoLister, name string) (*emptied, error) {
	node, err := nodes.Get(name)
	if err != nil {
		return nil, fmt.Errorf("finding node %s in the snapshot: %w", name, err)
	}
	info, ok := node.(*framework.NodeInfo)
	if !ok {
		return nil, fmt.Errorf("kube-scheduler's node %T cannot be emptied: this Kubernetes minor is not supported",
			node)
	}
	return &emptied{info: info, before: info.SnapshotConcrete()}, nil
}
