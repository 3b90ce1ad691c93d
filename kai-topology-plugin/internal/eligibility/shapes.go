// Package eligibility finds out which nodes the profile's own filters accept for which pods, and what the others lack. Pods
// that the filters cannot tell apart share one answer.
package eligibility

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/shared/packing"
)

// Shapes answers for the pods of one decision on one snapshot of the nodes.
type Shapes struct {
	filters kubeframework.Filters
	nodes   []fwk.NodeInfo
	// byLabels is set if pods on the nodes repel others by label, so that even pods without rules of their own differ.
	byLabels bool
	known    map[string]packing.Shape
}

// New returns the shapes of a decision on these nodes, in which filters see the same nodes.
func New(filters kubeframework.Filters, nodes []fwk.NodeInfo) *Shapes {
	return &Shapes{filters: filters, nodes: nodes, byLabels: anyRepels(nodes), known: map[string]packing.Shape{}}
}

func anyRepels(nodes []fwk.NodeInfo) bool {
	for _, node := range nodes {
		if len(node.GetPodsWithRequiredAntiAffinity()) > 0 {
			return true
		}
	}
	return false
}

// Of returns the shape of a pod: what it requests, and why nodes are excluded for it. A node that only lacks free resources
// is not excluded: packing sees by itself what is free, and explains it.
func (s *Shapes) Of(ctx context.Context, pod *corev1.Pod) (packing.Shape, error) {
	requests, err := Requests(pod)
	if err != nil {
		return packing.Shape{}, err
	}
	key, err := s.keyOf(pod, requests)
	if err != nil {
		return packing.Shape{}, fmt.Errorf("telling the shape of pod %s: %w", pod.Name, err)
	}
	if shape, ok := s.known[key]; ok {
		return shape, nil
	}
	excluded, err := s.excluded(ctx, pod)
	if err != nil {
		return packing.Shape{}, fmt.Errorf("running the filters for pod %s: %w", pod.Name, err)
	}
	shape := packing.Shape{
		Key:      key,
		Requests: requests,
		Excluded: func(node string) string { return excluded[node] },
	}
	s.known[key] = shape
	return shape, nil
}

// Requests returns what a pod takes of a node, its host ports included: see HostPorts.
func Requests(pod *corev1.Pod) (packing.Resources, error) {
	requests, err := kubeframework.Requests(pod)
	if err != nil {
		return nil, fmt.Errorf("reading the requests of pod %s: %w", pod.Name, err)
	}
	for port := range hostPorts(pod) {
		requests[port] = 1
	}
	return requests, nil
}

// traits are what filters look at in a pod. Names, hostnames, environment and the like differ from pod to pod of a gang,
// and no filter reads them.
type traits struct {
	Requests       packing.Resources
	Namespace      string
	NodeSelector   map[string]string
	Affinity       *corev1.Affinity
	Tolerations    []corev1.Toleration
	Spread         []corev1.TopologySpreadConstraint
	Ports          sets.Set[string]
	Volumes        []corev1.Volume
	ResourceClaims []corev1.PodResourceClaim
	OS             *corev1.PodOS
	HostNetwork    bool
	HostUsers      *bool
	// Labels and Name are set only where they can make a difference.
	Labels map[string]string
	Name   string
}

func (s *Shapes) keyOf(pod *corev1.Pod, requests packing.Resources) (string, error) {
	spec := &pod.Spec
	t := traits{
		Requests:       requests,
		Namespace:      pod.Namespace,
		NodeSelector:   spec.NodeSelector,
		Affinity:       spec.Affinity,
		Tolerations:    spec.Tolerations,
		Spread:         spec.TopologySpreadConstraints,
		Ports:          hostPorts(pod),
		Volumes:        attachable(spec.Volumes),
		ResourceClaims: spec.ResourceClaims,
		OS:             spec.OS,
		HostNetwork:    spec.HostNetwork,
		HostUsers:      spec.HostUsers,
	}
	if s.byLabels || spec.Affinity != nil || len(spec.TopologySpreadConstraints) > 0 {
		t.Labels = pod.Labels
	}
	if ownClaims(spec) {
		t.Name = pod.Name
	}
	key, err := json.Marshal(t)
	return string(key), err
}

// attachable leaves out the volumes that every node can provide.
func attachable(volumes []corev1.Volume) []corev1.Volume {
	var result []corev1.Volume
	for _, volume := range volumes {
		source := volume.VolumeSource
		local := source.EmptyDir != nil || source.ConfigMap != nil ||
			source.Secret != nil || source.DownwardAPI != nil || source.Projected != nil
		if !local {
			result = append(result, volume)
		}
	}
	return result
}

// ownClaims reports whether the pod gets volumes or devices that are made for it alone and named after it.
func ownClaims(spec *corev1.PodSpec) bool {
	for _, volume := range spec.Volumes {
		if volume.Ephemeral != nil {
			return true
		}
	}
	for _, claim := range spec.ResourceClaims {
		if claim.ResourceClaimTemplateName != nil {
			return true
		}
	}
	return false
}
