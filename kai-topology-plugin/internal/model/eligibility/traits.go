package eligibility

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

// traits are what filters look at in a pod besides its requests. Names, hostnames, environment and the like differ
// from pod to pod of a gang, and no filter reads them.
type traits struct {
	Namespace    string
	NodeSelector map[string]string                 `json:",omitempty"`
	Affinity     *corev1.Affinity                  `json:",omitempty"`
	Tolerations  []corev1.Toleration               `json:",omitempty"`
	Spread       []corev1.TopologySpreadConstraint `json:",omitempty"`
	Volumes      []corev1.Volume                   `json:",omitempty"`
	OS           *corev1.PodOS                     `json:",omitempty"`
	HostNetwork  bool                              `json:",omitempty"`
	HostUsers    *bool                             `json:",omitempty"`
	// Labels are the labels that make a difference.
	Labels map[string]string `json:",omitempty"`
}

// traitsOf returns a text that is equal for pods that filters cannot tell apart, but for what they request, for
// claims, and for labels that rules of pods on the nodes read.
func traitsOf(pod *corev1.Pod) (string, error) {
	spec := &pod.Spec
	t := traits{
		Namespace:    pod.Namespace,
		NodeSelector: spec.NodeSelector,
		Affinity:     spec.Affinity,
		Tolerations:  spec.Tolerations,
		Spread:       spec.TopologySpreadConstraints,
		Volumes:      attachable(spec.Volumes),
		OS:           spec.OS,
		HostNetwork:  spec.HostNetwork,
		HostUsers:    spec.HostUsers,
	}
	t.Labels = labelsOf(pod, OwnRules(pod))
	key, err := json.Marshal(t)
	return string(key), err
}

// labelsOf returns the labels with the given keys, nil if there are none. The others, such as the number that owners
// give each of their pods, would only keep pods of one kind from sharing an answer.
func labelsOf(pod *corev1.Pod, keys sets.Set[string]) map[string]string {
	var read map[string]string
	for key := range keys {
		if value, ok := pod.Labels[key]; ok {
			if read == nil {
				read = map[string]string{}
			}
			read[key] = value
		}
	}
	return read
}

// OwnRules returns the keys of labels that a pod's own rules about other pods read. The pod itself may be among those.
func OwnRules(pod *corev1.Pod) sets.Set[string] {
	spec := &pod.Spec
	if len(spec.TopologySpreadConstraints) == 0 && spec.Affinity == nil {
		return nil
	}
	keys := sets.New[string]()
	for i := range spec.TopologySpreadConstraints {
		rule := &spec.TopologySpreadConstraints[i]
		keys.Insert(rule.MatchLabelKeys...)
		insertKeys(keys, rule.LabelSelector)
	}
	for _, term := range slices.Concat(kubeframework.RequiredAffinity(pod), kubeframework.RequiredAntiAffinity(pod)) {
		keys.Insert(term.MatchLabelKeys...)
		keys.Insert(term.MismatchLabelKeys...)
		insertKeys(keys, term.LabelSelector)
	}
	return keys
}

func insertKeys(keys sets.Set[string], selector *metav1.LabelSelector) {
	if selector == nil {
		return
	}
	for key := range selector.MatchLabels {
		keys.Insert(key)
	}
	for i := range selector.MatchExpressions {
		keys.Insert(selector.MatchExpressions[i].Key)
	}
}

// attachable leaves out the volumes that every node can provide, and those of claims, which are another matter than
// their names.
func attachable(volumes []corev1.Volume) []corev1.Volume {
	var result []corev1.Volume
	for _, volume := range volumes {
		source := volume.VolumeSource
		local := source.EmptyDir != nil || source.ConfigMap != nil ||
			source.Secret != nil || source.DownwardAPI != nil || source.Projected != nil
		if !local && source.PersistentVolumeClaim == nil && source.Ephemeral == nil {
			result = append(result, volume)
		}
	}
	return result
}

// hosts returns the names of the hosts that the selectors of a pod leave; nil if they leave others than those they
// name.
func hosts(spec *corev1.PodSpec) []string {
	if host, ok := spec.NodeSelector[corev1.LabelHostname]; ok {
		return []string{host}
	}
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil ||
		spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	var all []string
	for _, term := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		at := slices.IndexFunc(term.MatchExpressions, func(rule corev1.NodeSelectorRequirement) bool {
			return rule.Key == corev1.LabelHostname && rule.Operator == corev1.NodeSelectorOpIn
		})
		if at < 0 {
			return nil
		}
		all = append(all, term.MatchExpressions[at].Values...)
	}
	return all
}

// selecting returns the keys of the node labels that the selectors of a pod read.
func selecting(spec *corev1.PodSpec) []string {
	keys := sets.New[string]()
	for key := range spec.NodeSelector {
		keys.Insert(key)
	}
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil ||
		spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return sets.List(keys)
	}
	for _, term := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for i := range term.MatchExpressions {
			keys.Insert(term.MatchExpressions[i].Key)
		}
	}
	return sets.List(keys)
}
