package kubeframework

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Following is an Offline that follows a cluster: each call is given everything, and takes over what differs from the
// last call. Objects are compared by their address: a changed object must be a new one, as informers do. Nothing else
// may change it.
type Following struct {
	*Offline
	known    map[string]*followed[corev1.Node]
	standing map[types.UID]*followed[corev1.Pod]
	// pass counts how often it was given the cluster.
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

// Follow takes all nodes that there are, and all pods that have a node; those on unknown nodes are not shown. After an
// error it is of no use any more.
func (f *Following) Follow(nodes []*corev1.Node, pods []*corev1.Pod) error {
	f.pass++
	var change Change
	for _, node := range nodes {
		switch known := f.known[node.Name]; {
		case known == nil:
			change.Up = append(change.Up, node)
		case known.object == node:
			known.pass = f.pass
			continue
		default:
			change.Update = append(change.Update, node)
		}
		f.known[node.Name] = &followed[corev1.Node]{node, f.pass}
	}
	for _, pod := range pods {
		known := f.standing[pod.UID]
		switch {
		case known == nil:
			change.Stand = append(change.Stand, pod)
		case known.object == pod:
			known.pass = f.pass
			continue
		case known.pass == f.pass:
			return fmt.Errorf("pods %s/%s and %s have one UID", pod.Namespace, pod.Name, known.object.Name)
		default:
			change.Leave, change.Stand = append(change.Leave, known.object), append(change.Stand, pod)
		}
		f.standing[pod.UID] = &followed[corev1.Pod]{pod, f.pass}
	}
	change.Leave = append(change.Leave, gone(f.standing, f.pass)...)
	change.Down = gone(f.known, f.pass)
	return f.Change(change)
}

// gone takes away what was not there in a pass.
func gone[Key comparable, Object any](known map[Key]*followed[Object], pass int) (objects []*Object) {
	for key, one := range known {
		if one.pass != pass {
			objects = append(objects, one.object)
			delete(known, key)
		}
	}
	return objects
}
