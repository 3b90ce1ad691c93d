package kubeframework

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// ownNodes are nodes and their pods as filters see them, for a single owner that changes them in place. kube-scheduler
// has a cache and a copy instead, and each change compares all nodes.
type ownNodes struct {
	// Snapshot is empty: it says what filters ask about besides nodes.
	*cache.Snapshot
	byName map[string]*ownNode
	// all are the nodes by name. Affine and repelling are those with pods that have rules about others, which are
	// listed anew once a pod with rules came or went.
	all, affine, repelling []fwk.NodeInfo
	unlisted               bool
	// changed are the indices of the nodes that have changed since takeChanged.
	changed []int
}

// ownNode is a node at its place among all.
type ownNode struct {
	*framework.NodeInfo
	place   int
	changed bool
}

func newOwnNodes() *ownNodes {
	return &ownNodes{Snapshot: cache.NewEmptySnapshot(), byName: map[string]*ownNode{}}
}

// replace removes nodes and adds others, which have no pods.
func (o *ownNodes) replace(gone, come []*corev1.Node) {
	for _, node := range gone {
		delete(o.byName, node.Name)
	}
	for _, node := range come {
		made := &ownNode{NodeInfo: framework.NewNodeInfo()}
		made.SetNode(node)
		o.byName[node.Name] = made
	}
	// An earlier caller may still hold the old list, which is not changed.
	sorted := slices.SortedFunc(maps.Values(o.byName), func(a, b *ownNode) int {
		return cmp.Compare(a.Node().Name, b.Node().Name)
	})
	o.all, o.changed = make([]fwk.NodeInfo, len(sorted)), nil
	for place, node := range sorted {
		o.all[place], node.place, node.changed = node.NodeInfo, place, false
	}
	o.unlisted = true
}

// update takes a node as it is now.
func (o *ownNodes) update(node *corev1.Node) error {
	known, err := o.named(node.Name)
	if err == nil {
		known.SetNode(node)
		o.touch(known)
	}
	return err
}

// of returns the node that a pod names.
func (o *ownNodes) of(pod *corev1.Pod) (*ownNode, error) { return o.named(pod.Spec.NodeName) }

func (o *ownNodes) named(name string) (*ownNode, error) {
	node := o.byName[name]
	if node == nil {
		return nil, fmt.Errorf("there is no node %q", name)
	}
	return node, nil
}

func (o *ownNodes) stand(info *framework.PodInfo) error {
	node, err := o.of(info.Pod)
	if err != nil {
		return err
	}
	node.AddPodInfo(info)
	o.note(node, info.Pod)
	return nil
}

func (o *ownNodes) leave(pod *corev1.Pod) error {
	node, err := o.of(pod)
	if err != nil {
		return err
	}
	if err := node.RemovePod(klog.Background(), pod); err != nil {
		return err
	}
	o.note(node, pod)
	return nil
}

// note records that a pod came to a node, or left it.
func (o *ownNodes) note(node *ownNode, pod *corev1.Pod) {
	o.touch(node)
	affinity := pod.Spec.Affinity
	o.unlisted = o.unlisted || affinity != nil && (affinity.PodAffinity != nil || affinity.PodAntiAffinity != nil)
}

func (o *ownNodes) touch(node *ownNode) {
	if node != nil && !node.changed {
		node.changed = true
		o.changed = append(o.changed, node.place)
	}
}

// touched records that a node is shown without some of its pods, or with them again. Callers that compare generations
// need not know.
func (o *ownNodes) touched(name string) {
	if o != nil {
		o.touch(o.byName[name])
	}
}

func (o *ownNodes) takeChanged() []int {
	changed := o.changed
	o.changed = nil
	for _, place := range changed {
		o.byName[o.all[place].Node().Name].changed = false
	}
	return changed
}

// listRules lists the nodes with pods that have rules about others.
func (o *ownNodes) listRules() {
	if !o.unlisted {
		return
	}
	o.affine, o.repelling, o.unlisted = nil, nil, false
	for _, node := range o.all {
		if len(node.GetPodsWithAffinity()) > 0 {
			o.affine = append(o.affine, node)
		}
		if len(node.GetPodsWithRequiredAntiAffinity()) > 0 {
			o.repelling = append(o.repelling, node)
		}
	}
}

// NodeInfos implements fwk.SharedLister.
func (o *ownNodes) NodeInfos() fwk.NodeInfoLister { return o }

// List implements fwk.NodeInfoLister.
func (o *ownNodes) List() ([]fwk.NodeInfo, error) { return o.all, nil }

// HavePodsWithAffinityList implements fwk.NodeInfoLister.
func (o *ownNodes) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) { return o.affine, nil }

// HavePodsWithRequiredAntiAffinityList implements fwk.NodeInfoLister.
func (o *ownNodes) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return o.repelling, nil
}

// Get implements fwk.NodeInfoLister.
func (o *ownNodes) Get(name string) (fwk.NodeInfo, error) {
	node, err := o.named(name)
	if err != nil {
		return nil, err
	}
	return node.NodeInfo, nil
}

// AssumePod shows a pod on a node until ForgetPod. As in kube-scheduler's snapshot, the node's generation stays, so
// that a comparison of generations does not see the pod.
func (o *ownNodes) AssumePod(info *framework.PodInfo) error {
	node, err := o.of(info.Pod)
	if err != nil {
		return err
	}
	generation := node.Generation
	node.AddPodInfo(info)
	node.Generation = generation
	return nil
}

// ForgetPod takes a pod off the node that it was assumed on.
func (o *ownNodes) ForgetPod(logger klog.Logger, pod *corev1.Pod) error {
	node, err := o.of(pod)
	if err != nil {
		return err
	}
	generation := node.Generation
	err = node.RemovePod(logger, pod)
	node.Generation = generation
	return err
}
