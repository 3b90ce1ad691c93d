package podtemplate

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// template are the user's fields for a clique's pods. Fields that the operator adds to pods are left out, so that a
// newer operator does not replace pods.
type template struct {
	Labels            map[string]string `json:"labels,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	PriorityClassName string            `json:"priorityClassName,omitempty"`
	PodSpec           *corev1.PodSpec   `json:"podSpec"`
}

// ways are the ways in which operators have hashed a template, the newest first. Objects have hashes from older
// operators; no way may be removed as long as a cluster can have such hashes.
var ways = []func(*corev1.PodSpec) *corev1.PodSpec{
	withoutDefaults,
	func(spec *corev1.PodSpec) *corev1.PodSpec { return spec }, // With the defaults that were written into it.
}

// A changed hash means that pods have to be replaced.

// HashOfClique is the hash of the pods of a clique.
func HashOfClique(set *grovev1alpha1.PodCliqueSet, clique *grovev1alpha1.PodCliqueTemplateSpec) string {
	return ofClique(set, clique, ways[0])
}

// HashOfSet is the hash of all pods of a set. It does not depend on the order of the cliques.
func HashOfSet(set *grovev1alpha1.PodCliqueSet) string {
	return ofSet(set, ways[0])
}

// KnownHashes are the hashes of the template of a clique by all ways, the newest first: a pod or a PodClique with any
// of them is made from that template.
func KnownHashes(set *grovev1alpha1.PodCliqueSet, clique *grovev1alpha1.PodCliqueTemplateSpec) []string {
	var known []string
	for _, way := range ways {
		known = append(known, ofClique(set, clique, way))
	}
	return known
}

// SetUnchanged reports whether a stored hash of a set is a hash of its current template.
func SetUnchanged(stored string, set *grovev1alpha1.PodCliqueSet) bool {
	for _, way := range ways {
		if ofSet(set, way) == stored {
			return true
		}
	}
	return false
}

func ofClique(
	set *grovev1alpha1.PodCliqueSet, clique *grovev1alpha1.PodCliqueTemplateSpec,
	way func(*corev1.PodSpec) *corev1.PodSpec,
) string {
	return sum(template{
		Labels:            clique.Labels,
		Annotations:       clique.Annotations,
		PriorityClassName: set.Spec.Template.PriorityClassName,
		PodSpec:           way(&clique.Spec.PodSpec),
	})
}

func ofSet(set *grovev1alpha1.PodCliqueSet, way func(*corev1.PodSpec) *corev1.PodSpec) string {
	hashes := map[string]string{}
	for i := range set.Spec.Template.Cliques {
		clique := &set.Spec.Template.Cliques[i]
		hashes[clique.Name] = ofClique(set, clique, way)
	}
	var ordered []string
	for _, name := range slices.Sorted(maps.Keys(hashes)) {
		ordered = append(ordered, name, hashes[name])
	}
	return sum(ordered)
}

func sum(value any) string {
	written, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("hashing a pod template: %v", err)) // API types always marshal.
	}
	hash := fnv.New64a()
	hash.Write(written)
	return rand.SafeEncodeString(fmt.Sprint(hash.Sum64()))
}
