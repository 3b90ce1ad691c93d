package plugin

import (
	"context"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Bind binds a pod of a gang that names a topology, or one that asks for labels of its node, and writes to the pod
// where it is in the very request: the API server copies the annotations and labels of a Binding to its pod. Other pods
// are left to kube-scheduler's own plugin.
func (p *Plugin) Bind(ctx context.Context, _ fwk.CycleState, pod *corev1.Pod, node string) *fwk.Status {
	latest := p.lister.Latest(pod)
	hints, labels := p.topologyHints(latest, node), p.nodeLabels(latest, node)
	if hints == nil && labels == nil {
		return fwk.NewStatus(fwk.Skip)
	}
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Annotations: hints,
			Labels: labels},
		Target: corev1.ObjectReference{Kind: "Node", Name: node},
	}
	klog.FromContext(ctx).V(3).Info("Binding a pod, which gets the labels of its place", "pod", klog.KObj(pod),
		"node", node)
	return fwk.AsStatus(p.bind(ctx, binding))
}

// nodeLabels are the labels of its node that a pod asks for; nil if it asks for none, or its node has none of them.
func (p *Plugin) nodeLabels(pod *corev1.Pod, node string) map[string]string {
	asked := pod.Annotations[scheduling.AnnotationNodeLabels]
	if asked == "" {
		return nil
	}
	found, err := p.lister.Nodes.Get(node)
	if err != nil {
		return nil
	}
	return copied(asked, found.Labels)
}

// copied are the labels of a node that AnnotationNodeLabels lets a pod have; nil if there are none. The API server does
// not check the labels of a Binding, so invalid label keys are left out: a pod with one could not be changed any more.
func copied(asked string, labels map[string]string) map[string]string {
	var made map[string]string
	for entry := range strings.SplitSeq(asked, ",") {
		key, nodeKey, renamed := strings.Cut(strings.TrimSpace(entry), "=")
		if !renamed {
			nodeKey = key
		}
		value, labelled := labels[nodeKey]
		if !labelled || len(validation.IsQualifiedName(key)) > 0 {
			continue
		}
		if made == nil {
			made = map[string]string{}
		}
		made[key] = value
	}
	return made
}

// bind goes the way of kube-scheduler's own binder.
func (p *Plugin) bind(ctx context.Context, binding *corev1.Binding) error {
	cacher := p.handle.APICacher()
	if cacher == nil {
		return p.handle.ClientSet().CoreV1().Pods(binding.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
	}
	finished, err := cacher.BindPod(binding)
	if err != nil {
		return err
	}
	return cacher.WaitOnFinish(ctx, finished)
}

// topologyHints are the annotations with a pod's domain and rank; nil if no topology is named for it, or
// its node is in no domain of that.
func (p *Plugin) topologyHints(pod *corev1.Pod, node string) map[string]string {
	key, member := gang.KeyOf(pod)
	if !member {
		return nil
	}
	podGroup, err := p.lister.PodGroup(key)
	if err != nil {
		return nil
	}
	levels := p.levelsOf(podGroup, gang.LeafOf(pod))
	domain := p.lister.Domain(levels, node)
	if len(domain) == 0 {
		return nil
	}
	rank := p.gangs.Rank(key, pod.UID, func(planned map[types.UID]string) []gangstate.Member {
		planned[pod.UID] = node
		return p.placedWith(key, pod, planned, levels)
	})
	return map[string]string{
		scheduling.AnnotationTopologyDomain: domain.String(),
		scheduling.AnnotationTopologyRank:   strconv.Itoa(rank),
	}
}

// levelsOf returns the levels of the Topology that is named for a leaf, or nearest above it, or for the gang and its
// related gangs.
func (p *Plugin) levelsOf(podGroup *scheduling.PodGroup, leaf string) []string {
	tree, hold := gang.Read(podGroup, p.lister.Levels)
	if hold != nil {
		return nil
	}
	name := podGroup.Annotations[scheduling.AnnotationSharedTopology]
	for group := tree.Leaf(leaf); group != nil; group = group.Parent {
		if group.Constraint.Topology != "" {
			name = group.Constraint.Topology
			break
		}
	}
	return p.lister.LevelKeys(name)
}

// placedWith are the pods of a pod's leaf that have a node or a plan, given the nodes of plans.
func (p *Plugin) placedWith(
	key gang.Key, pod *corev1.Pod, planned map[types.UID]string, levels []string,
) []gangstate.Member {
	pods, err := p.lister.Shown(key)
	if err != nil {
		return nil
	}
	var members []gangstate.Member
	for _, other := range pods {
		at := planned[other.UID]
		if gang.Standing(other) {
			at = other.Spec.NodeName
		}
		if at == "" || gang.LeafOf(other) != gang.LeafOf(pod) {
			continue
		}
		members = append(members, gangstate.Member{
			UID: other.UID, Name: other.Name, Path: append(p.lister.Domain(levels, at), at), Rank: rankOf(other),
		})
	}
	return members
}

// rankOf is the rank with which a pod was bound.
func rankOf(pod *corev1.Pod) int {
	rank, err := strconv.Atoi(pod.Annotations[scheduling.AnnotationTopologyRank])
	if err != nil || pod.Spec.NodeName == "" {
		return gangstate.NoRank // Also if the pod's template was copied from another pod.
	}
	return rank
}
