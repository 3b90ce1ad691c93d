package preemption

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

// Standing are the gangs around a pod that belongs to none, for kube-scheduler's own preemption: it chooses pods, and
// what that means for their gangs is said here. Each gang is read once; several nodes may be asked about at a time.
type Standing struct {
	PodGroups PodGroups
	// Members returns the pods of a gang, those without a node included.
	Members func(gang.Key) ([]*corev1.Pod, error)

	known sync.Map
}

// MayLeave reports whether a pod can be asked to leave for one of a priority: any pod of no gang, for kube-scheduler
// has compared their priorities, and of a gang that is not protected if all of its pods are below that priority.
func (s *Standing) MayLeave(pod *corev1.Pod, priority int32) bool {
	key, member := gang.KeyOf(pod)
	if !member {
		return true
	}
	found, err := s.gangOf(key)
	return err == nil && found.mayLeaveFor(priority)
}

// Companions returns the pods, on whatever nodes, that are of no use to their gangs without the victims.
func (s *Standing) Companions(victims []*corev1.Pod) ([]*corev1.Pod, error) {
	chosen := map[gang.Key]map[string]bool{}
	for _, victim := range victims {
		if key, member := gang.KeyOf(victim); member {
			if chosen[key] == nil {
				chosen[key] = map[string]bool{}
			}
			chosen[key][victim.Name] = true
		}
	}
	var more []*corev1.Pod
	for key, names := range chosen {
		found, err := s.gangOf(key)
		if err != nil {
			return nil, fmt.Errorf("reading gang %s: %w", key, err)
		}
		leaves := make([]bool, len(found.Pods))
		for i := range found.Pods {
			leaves[i] = names[found.Pods[i].pod.Name]
		}
		found.Complete(leaves)
		for i := range found.Pods {
			if pod := found.Pods[i].pod; leaves[i] && !names[pod.Name] {
				more = append(more, pod)
			}
		}
	}
	return more, nil
}

func (s *Standing) gangOf(key gang.Key) (*Workload, error) {
	read, _ := s.known.LoadOrStore(key, sync.OnceValues(func() (*Workload, error) { return s.read(key) }))
	return read.(func() (*Workload, error))()
}

func (s *Standing) read(key gang.Key) (*Workload, error) {
	members, err := s.Members(key)
	pods := gang.StandingOf(members)
	if err != nil || len(pods) == 0 {
		return &Workload{}, err
	}
	found, err := s.PodGroups.WorkloadOf(key, pods)
	for _, pod := range pods {
		found.Pods = append(found.Pods, Pod{pod: pod, Leaf: gang.LeafOf(pod)})
	}
	found.index()
	return &found, err
}
