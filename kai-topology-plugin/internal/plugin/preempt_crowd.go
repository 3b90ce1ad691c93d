package plugin

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/preemption"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

// crowd is who stands around a gang that does not fit.
type crowd struct {
	// workloads have to give way to the gang; pods are theirs, in the same order, and gangs their keys.
	workloads []preemption.Workload
	pods      [][]*corev1.Pod
	gangs     []gang.Key
	// leaving are pods, of whoever it be, that are being deleted.
	leaving []*corev1.Pod
	budgets *disruptionBudgets
}

// stays reports whether nobody moves or can be moved.
func (c *crowd) stays() bool { return len(c.workloads) == 0 && len(c.leaving) == 0 }

// crowdAround reads who stands on the nodes of a cycle. Pods of the gang itself are not among them.
func (p *Plugin) crowdAround(assembled *gang.Gang, nodes []fwk.NodeInfo) (*crowd, error) {
	rank := assembled.Rank()
	budgets, err := p.disruptionBudgets()
	if err != nil {
		return nil, err
	}
	c := &crowd{budgets: budgets}
	gangs := map[gang.Key][]*corev1.Pod{}
	for _, node := range nodes {
		for _, info := range node.GetPods() {
			pod := info.GetPod()
			key, member := gang.KeyOf(pod)
			switch {
			case pod.DeletionTimestamp != nil:
				c.leaving = append(c.leaving, pod)
			case member && key == rank.Gang:
			case member:
				gangs[key] = append(gangs[key], pod)
			case kubeframework.Priority(pod) < rank.Priority:
				c.add(gang.Key{}, preemption.Workload{Priority: kubeframework.Priority(pod)}, []*corev1.Pod{pod})
			}
		}
	}
	for key, pods := range gangs {
		workload, err := p.workloadOf(key, pods)
		if err != nil {
			return nil, err
		}
		if !workload.Protected && workload.Priority < rank.Priority {
			c.add(key, workload, pods)
		}
	}
	return c, c.sort()
}

// workloadOf reads the minima of a gang that stands, and whether it ever leaves for others.
func (p *Plugin) workloadOf(key gang.Key, pods []*corev1.Pod) (preemption.Workload, error) {
	workload := preemption.Workload{Gang: true, Priority: kubeframework.Priority(pods[0])}
	for _, pod := range pods {
		workload.Priority = max(workload.Priority, kubeframework.Priority(pod))
	}
	podGroup, err := p.podGroups.PodGroups(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return workload, nil
	}
	if err != nil {
		return workload, fmt.Errorf("reading PodGroup %s: %w", key, err)
	}
	workload.Protected = podGroup.Spec.Preemptibility == scheduling.NonPreemptible
	if tree, errs := podgrouptree.New(&podGroup.Spec); len(errs) == 0 {
		workload.Tree = tree
	}
	return workload, nil
}

func (c *crowd) add(key gang.Key, workload preemption.Workload, pods []*corev1.Pod) {
	c.workloads = append(c.workloads, workload)
	c.pods = append(c.pods, pods)
	c.gangs = append(c.gangs, key)
}

// sort brings the workloads into an order that depends on their names alone, and reads their pods.
func (c *crowd) sort() error {
	order := make([]int, len(c.workloads))
	for i := range order {
		order[i] = i
		slices.SortFunc(c.pods[i], func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(
			cmp.Compare(c.pods[a][0].Namespace, c.pods[b][0].Namespace),
			cmp.Compare(c.gangs[a].Name, c.gangs[b].Name),
			cmp.Compare(c.pods[a][0].Name, c.pods[b][0].Name),
		)
	})
	sorted := crowd{leaving: c.leaving, budgets: c.budgets}
	for _, i := range order {
		workload := c.workloads[i]
		for _, pod := range c.pods[i] {
			read, err := c.read(pod)
			if err != nil {
				return err
			}
			workload.Pods = append(workload.Pods, read)
		}
		sorted.add(c.gangs[i], workload, c.pods[i])
	}
	*c = sorted
	return nil
}

func (c *crowd) read(pod *corev1.Pod) (preemption.Pod, error) {
	requests, err := kubeframework.Requests(pod)
	if err != nil {
		return preemption.Pod{}, fmt.Errorf("reading the requests of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return preemption.Pod{
		ID: clusterview.StandingID(pod), Node: pod.Spec.NodeName, Requests: requests, Leaf: gang.LeafOf(pod),
		Since: pod.CreationTimestamp.Time, Budgets: c.budgets.counting(pod),
	}, nil
}

// byNode returns all pods of the crowd by their node.
func (c *crowd) byNode() map[string][]*corev1.Pod {
	result := map[string][]*corev1.Pod{}
	for _, pods := range append(slices.Clone(c.pods), c.leaving) {
		for _, pod := range pods {
			result[pod.Spec.NodeName] = append(result[pod.Spec.NodeName], pod)
		}
	}
	return result
}
