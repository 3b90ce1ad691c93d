// Package podtemplate says from which fields the pods of a clique are made. A PodClique has a copy of all of them:
// during an update, PodCliques of a set have different templates, and a lost pod is made from the old one until its
// turn.
package podtemplate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Template are the fields from which the pods of a clique are made.
type Template struct {
	Beside
	// PodSpec of the clique.
	PodSpec corev1.PodSpec
	// Hash of the template, and GenerationHash of all templates of its set.
	Hash, GenerationHash string
}

// Beside is the part of a template for which a PodClique's spec has no fields. The PodClique's own labels and
// annotations cannot be used: others add to them, and those of the operator hide the user's with the same names.
type Beside struct {
	Labels            map[string]string `json:"labels,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	PriorityClassName string            `json:"priorityClassName,omitempty"`
}

// placeLabels are those by which the operator finds its objects. Only the operator sets them.
var placeLabels = []string{
	grovev1alpha1.LabelPodClique, grovev1alpha1.LabelPodIndex, grovev1alpha1.LabelPodTemplateHash,
	grovev1alpha1.LabelPodGang, grovev1alpha1.LabelBasePodGang, grovev1alpha1.LabelPodCliqueSetReplicaIndex,
	grovev1alpha1.LabelPodCliqueScalingGroup, grovev1alpha1.LabelPodCliqueScalingGroupReplicaIndex,
	grovev1alpha1.LabelStandsForCopy, grovev1alpha1.LabelStandsForReplica,
}

// OwnLabels are the labels of a template as they are put on objects: without placeLabels.
func (b Beside) OwnLabels() map[string]string {
	own := map[string]string{}
	maps.Copy(own, b.Labels)
	for _, label := range placeLabels {
		delete(own, label)
	}
	return own
}

// Of is the current template of a clique of the set.
func Of(set *grovev1alpha1.PodCliqueSet, clique *grovev1alpha1.PodCliqueTemplateSpec) Template {
	return Template{
		Beside: Beside{
			Labels: clique.Labels, Annotations: clique.Annotations,
			PriorityClassName: set.Spec.Template.PriorityClassName,
		},
		PodSpec:        clique.Spec.PodSpec,
		Hash:           HashOfClique(set, clique),
		GenerationHash: HashOfSet(set),
	}
}

// In is the template in a PodClique. ok is false for a PodClique from an operator that did not record all of it.
func In(podClique *grovev1alpha1.PodClique) (carried Template, ok bool) {
	beside, ok := podClique.Annotations[grovev1alpha1.AnnotationPodTemplate]
	if !ok || json.Unmarshal([]byte(beside), &carried.Beside) != nil {
		return Template{}, false
	}
	carried.PodSpec = podClique.Spec.PodSpec
	carried.Hash = podClique.Labels[grovev1alpha1.LabelPodTemplateHash]
	carried.GenerationHash = podClique.Annotations[grovev1alpha1.AnnotationGenerationHash]
	return carried, true
}

// Next is the template that a PodClique is to have. If the clique's template is unchanged, the PodClique keeps its
// hash, whichever version of the operator made that hash. Another template waits until an update has reached the
// PodClique. Live is nil while there is none.
func Next(
	set *grovev1alpha1.PodCliqueSet, clique *grovev1alpha1.PodCliqueTemplateSpec, live *grovev1alpha1.PodClique,
	reached bool,
) Template {
	newest := Of(set, clique)
	if live == nil {
		return newest
	}
	if stored := live.Labels[grovev1alpha1.LabelPodTemplateHash]; slices.Contains(KnownHashes(set, clique), stored) {
		newest.Hash = stored
		return newest
	}
	if carried, ok := In(live); ok && !reached {
		return carried
	}
	return newest
}

// Annotation is the form in which a PodClique records it.
func (b Beside) Annotation() string {
	written, err := json.Marshal(b)
	if err != nil {
		panic(fmt.Sprintf("writing a pod template: %v", err)) // Maps of strings always marshal.
	}
	return string(written)
}
