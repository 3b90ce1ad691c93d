// Package templatehash sums up what a pod is made from. A changed hash means that pods have to be replaced.
package templatehash

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

// template is what the user wrote about a clique's pods. What the operator adds to pods is left out, so that a newer
// operator rolls nothing.
type template struct {
	Labels            map[string]string `json:"labels,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	PriorityClassName string            `json:"priorityClassName,omitempty"`
	PodSpec           *corev1.PodSpec   `json:"podSpec"`
}

// OfClique is the hash of the pods of a clique.
func OfClique(set *grovev1alpha1.PodCliqueSet, clique *grovev1alpha1.PodCliqueTemplateSpec) string {
	return sum(template{
		Labels:            clique.Labels,
		Annotations:       clique.Annotations,
		PriorityClassName: set.Spec.Template.PriorityClassName,
		PodSpec:           &clique.Spec.PodSpec,
	})
}

// OfSet is the hash of all pods of a set. It does not depend on the order of the cliques.
func OfSet(set *grovev1alpha1.PodCliqueSet) string {
	hashes := map[string]string{}
	for i := range set.Spec.Template.Cliques {
		clique := &set.Spec.Template.Cliques[i]
		hashes[clique.Name] = OfClique(set, clique)
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
