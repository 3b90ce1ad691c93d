package pods

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/shared/api/dynamo/v1beta1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

const (
	topologyVolume = "topology-labels"
	topologyPath   = "/etc/dynamo/topology"
)

// TopologyLabel is the label of a pod that names its domain: a copied node label, or a label for a level of a
// ClusterTopology.
func TopologyLabel(policy *v1beta1.KVTransferPolicy) string {
	if policy.LabelKey != "" {
		return policy.LabelKey
	}
	return v1beta1.LabelTopologyPrefix + policy.Domain
}

// KVTransferPolicyOf is a deployment's policy; nil if it has none.
func KVTransferPolicyOf(deployment *v1beta1.DynamoGraphDeployment) *v1beta1.KVTransferPolicy {
	if deployment.Spec.Experimental == nil {
		return nil
	}
	return deployment.Spec.Experimental.KVTransferPolicy
}

// addTopology gives a worker its domain, in a file that follows a label of its pod, and the policy by which a router
// chooses.
func (m *maker) addTopology(made *Template) {
	policy := KVTransferPolicyOf(m.deployment)
	if policy == nil || !IsWorker(m.component.Type) {
		return
	}
	enforcement := policy.Enforcement
	if enforcement == "" {
		enforcement = "required"
	}
	env := []corev1.EnvVar{
		{Name: "DYN_KV_TRANSFER_DOMAIN", Value: policy.Domain},
		{Name: "DYN_KV_TRANSFER_ENFORCEMENT", Value: enforcement},
		{Name: "DYN_TOPOLOGY_ENABLED", Value: "true"},
		{Name: "DYN_TOPOLOGY_MOUNT_PATH", Value: topologyPath},
	}
	if weight := policy.PreferredWeight; weight != nil {
		env = append(env, corev1.EnvVar{Name: "DYN_KV_TRANSFER_PREFERRED_WEIGHT",
			Value: strconv.FormatFloat(*weight, 'f', -1, 64)})
	}
	main := made.Main()
	main.Env = withEnv(env, main.Env)
	file := corev1.DownwardAPIVolumeFile{
		Path:     policy.Domain,
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: fmt.Sprintf("metadata.labels['%s']", TopologyLabel(policy))},
	}
	addVolume(&made.Spec, topologyVolume,
		corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{file}}})
	mount(main, corev1.VolumeMount{Name: topologyVolume, MountPath: topologyPath, ReadOnly: true})
	if policy.LabelKey != "" {
		made.Annotations[v1beta1.AnnotationTopologyLabelKey] = policy.LabelKey
	} else {
		made.Annotations[v1beta1.AnnotationTopologyName] = policy.ClusterTopologyName
	}
}

// copied are the node labels that Kubernetes copies onto pods when it binds them.
var copied = []string{"topology.kubernetes.io/zone", "topology.kubernetes.io/region"}

// AskForLevel makes the scheduler copy the node label of the policy's level onto a pod when it binds the pod. The
// node label is the policy's, or the given one if the policy names a topology; a pod gets no label if its level is
// not known.
func (t *Template) AskForLevel(policy *v1beta1.KVTransferPolicy, level string) {
	var asked string
	switch {
	case t.Annotations[v1beta1.AnnotationTopologyLabelKey] != "" && !slices.Contains(copied, policy.LabelKey):
		asked = policy.LabelKey
	case t.Annotations[v1beta1.AnnotationTopologyName] != "" && level != "":
		asked = TopologyLabel(policy) + "=" + level
	default:
		return
	}
	if own := t.Annotations[scheduling.AnnotationNodeLabels]; own != "" {
		asked = own + "," + asked
	}
	t.Annotations[scheduling.AnnotationNodeLabels] = asked
}

// LevelAskedFor is the level that AskForLevel wrote into a pod's annotations for a policy that names a topology; empty
// if it wrote none.
func LevelAskedFor(annotations map[string]string, policy *v1beta1.KVTransferPolicy) string {
	for asked := range strings.SplitSeq(annotations[scheduling.AnnotationNodeLabels], ",") {
		if level, found := strings.CutPrefix(asked, TopologyLabel(policy)+"="); found {
			return level
		}
	}
	return ""
}
