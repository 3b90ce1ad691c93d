package kubeframework

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// Following is an Offline that follows a cluster: each time it is told everything, and takes over what is another than
// before. Objects are told apart by where they are in memory, so that whoever changes one gives it as a new one, as
// informers do. Nothing else may change it.
type Following struct {
	*Offline
	known    map[string]*followed[corev1.Node]
	standing map[types.UID]*followed[corev1.Pod]
	// pass counts how often it was told.
	pass int
}

// followed is an object, and the last time that it was there.
type followed[Object any] struct {
	object *Object
	pass   int
}

// NewFollowing returns one that has nothing yet. Its filters run until ctx is done.
func NewFollowing(ctx context.Context) (*Following, error) {
	offline, err := NewOffline(ctx, nil, nil)
	if err != nil {
		return nil, err
	}
	return &Following{
		Offline: offline, known: map[string]*followed[corev1.Node]{}, standing: map[types.UID]*followed[corev1.Pod]{},
	}, nil
}

// Follow takes all nodes that there are, and all pods that have a node; those on unknown nodes are left out. After an
// error it is of no use any more.
func (f *Following) Follow(nodes []*corev1.Node, pods []*corev1.Pod) error {
	f.pass++
	for _, node := range nodes {
		f.addNode(node)
	}
	for _, pod := range pods {
		if on := f.known[pod.Spec.NodeName]; on == nil || on.pass != f.pass {
			continue
		}
		if err := f.addPod(pod); err != nil {
			return err
		}
	}
	if err := f.removeGone(); err != nil {
		return err
	}
	return f.show()
}

func (f *Following) addNode(node *corev1.Node) {
	known := f.known[node.Name]
	switch {
	case known == nil:
		known = &followed[corev1.Node]{}
		f.known[node.Name] = known
		f.cache.AddNode(klog.Background(), node)
		f.nodes = nil
	case known.object != node:
		f.cache.UpdateNode(klog.Background(), known.object, node)
	}
	known.object, known.pass = node, f.pass
}

func (f *Following) addPod(pod *corev1.Pod) error {
	known := f.standing[pod.UID]
	if known != nil && known.object == pod {
		known.pass = f.pass
		return nil
	}
	if known != nil && known.pass != f.pass { // Of two with one UID the cache refuses the second.
		if err := f.removePod(known.object); err != nil {
			return err
		}
	}
	if err := f.cache.AddPod(klog.Background(), pod); err != nil {
		return fmt.Errorf("adding pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	f.standing[pod.UID] = &followed[corev1.Pod]{object: pod, pass: f.pass}
	return nil
}

func (f *Following) removePod(pod *corev1.Pod) error {
	if err := f.cache.RemovePod(klog.Background(), pod); err != nil {
		return fmt.Errorf("taking pod %s/%s off node %s: %w", pod.Namespace, pod.Name, pod.Spec.NodeName, err)
	}
	return nil
}

// removeGone removes what was not among what it was told last: pods first, as they stand on nodes.
func (f *Following) removeGone() error {
	for uid, known := range f.standing {
		if known.pass == f.pass {
			continue
		}
		if err := f.removePod(known.object); err != nil {
			return err
		}
		delete(f.standing, uid)
	}
	for name, known := range f.known {
		if known.pass == f.pass {
			continue
		}
		if err := f.cache.RemoveNode(klog.Background(), known.object); err != nil {
			return fmt.Errorf("removing node %s: %w", name, err)
		}
		delete(f.known, name)
		f.nodes = nil
	}
	return nil
}
