// Package podtemplate says what the pods of a clique are made from. A PodClique carries all of it: while an update is under
// way, PodCliques of a set have different templates, and a pod that is lost comes back as it was until it is its turn.
package podtemplate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Template is what the pods of a clique are made from.
type Template struct {
	Beside
	// PodSpec is the clique's.
	PodSpec corev1.PodSpec
	// Hash sums the template up, and GenerationHash all templates of the set that it belongs to.
	Hash, GenerationHash string
}

// Beside is the part of a template that a PodClique's spec has no place for. The PodClique's own labels and annotations do
// not tell: others add to them, and those of the operator hide the user's of the same names.
type Beside struct {
	Labels            map[string]string `json:"labels,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	PriorityClassName string            `json:"priorityClassName,omitempty"`
}

// placeLabels are those by which the operator finds what it made. Nobody else says where an object belongs.
var placeLabels = []string{
	grovev1alpha1.LabelPodClique, grovev1alpha1.LabelPodIndex, grovev1alpha1.LabelPodTemplateHash,
	grovev1alpha1.LabelPodGang, grovev1alpha1.LabelBasePodGang, grovev1alpha1.LabelPodCliqueSetReplicaIndex,
	grovev1alpha1.LabelPodCliqueScalingGroup, grovev1alpha1.LabelPodCliqueScalingGroupReplicaIndex,
	grovev1alpha1.LabelStandsForCopy, grovev1alpha1.LabelStandsForReplica,
}

// OwnLabels are the labels of a template as they are put on objects: without those that say where an object belongs.
func (b Beside) OwnLabels() map[string]string {
	own := map[string]string{}
	maps.Copy(own, b.Labels)
	for _, label := range placeLabels {
		delete(own, label)
	}
	return own
}

// Of is the template that a clique of the set has now.
func Of(set *grovev1alpha1.PodCliqueSet, clique *grovev1alpha1.PodCliqueTemplateSpec) Template {
	return Template{
		Beside: Beside{
			Labels: clique.Labels, Annotations: clique.Annotations, PriorityClassName: set.Spec.Template.PriorityClassName,
		},
		PodSpec:        clique.Spec.PodSpec,
		Hash:           HashOfClique(set, clique),
		GenerationHash: HashOfSet(set),
	}
}

// In is the template that a PodClique carries. ok is false for one by an operator that did not write all of it down.
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

// Next is the template that a PodClique is to have. As long as the clique's stays what it was, the PodClique keeps the hash
// that it has, whichever version of the operator summed it up. Another template waits until an update has reached the
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

// Annotation is how a PodClique has it written down.
func (b Beside) Annotation() string {
	written, err := json.Marshal(b)
	if err != nil {
		panic(fmt.Sprintf("writing a pod template: %v", err)) // Maps of strings always marshal.
	}
	return string(written)
}
