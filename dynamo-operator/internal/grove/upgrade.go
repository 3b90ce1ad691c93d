package grove

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// templates is the content of AnnotationPodTemplates on a PodCliqueSet. By it, another version of the operator, which
// may make pods in another way, does not replace the pods of deployments that ask for nothing new.
type templates struct {
	// Version of the operator that wrote it.
	Version string `json:"version"`
	// Generation of the deployment for which it did; 0 of versions that did not note it.
	Generation int64 `json:"generation,omitempty"`
	// Cliques by name.
	Cliques map[string]asked `json:"cliques"`
}

// asked records how that version makes the pods of a clique.
type asked struct {
	// Hash of the pods as they are made from the deployment.
	Hash string `json:"hash"`
	// Kept is set if the clique has the pods that an earlier version made, until Hash changes.
	Kept bool `json:"kept,omitempty"`
}

// keepPods keeps the pods of a set as they were before an upgrade of the operator, clique by clique, until the
// deployment asks for other pods or for a restart. A set without the annotation was written by a version that did not
// write it.
func (s Standing) keepPods(set *grovev1alpha1.PodCliqueSet) error {
	before, err := s.templates()
	if err != nil {
		return err
	}
	upgraded := before.Version != s.Version && before.carriedOut(s.Deployment)
	now := templates{Version: s.Version, Generation: s.Deployment.Generation, Cliques: map[string]asked{}}
	for i := range set.Spec.Template.Cliques {
		clique := &set.Spec.Template.Cliques[i]
		hash, err := hashOf(clique)
		if err != nil {
			return err
		}
		standing, noted := s.clique(clique.Name), before.Cliques[clique.Name]
		kept := standing != nil && noted.Kept
		if standing != nil && noted.Hash != hash {
			kept = upgraded && !samePods(clique, standing)
		}
		kept = kept && !restarts(clique, standing)
		if kept {
			clique.Labels, clique.Annotations, clique.Spec.PodSpec = standing.Labels, standing.Annotations,
				standing.Spec.PodSpec
		}
		now.Cliques[clique.Name] = asked{Hash: hash, Kept: kept}
	}
	text, err := json.Marshal(now)
	if err != nil {
		return fmt.Errorf("noting how pods are made: %w", err)
	}
	if set.Annotations == nil {
		set.Annotations = map[string]string{}
	}
	set.Annotations[v1beta1.AnnotationPodTemplates] = string(text)
	return nil
}

// unwritten are the reasons of a deployment that is not Ready because its objects are not all written.
var unwritten = []string{v1beta1.ReasonNameTaken, v1beta1.ReasonRejected, v1beta1.ReasonNotInstalled,
	v1beta1.ReasonNotYetWritten}

// carriedOut reports whether the existing set is the one that the deployment asks for. Of a version that did not note
// for which generation it wrote the set, the status says so.
func (t templates) carriedOut(deployment *v1beta1.DynamoGraphDeployment) bool {
	if t.Generation != 0 {
		return t.Generation == deployment.Generation
	}
	ready := meta.FindStatusCondition(deployment.Status.Conditions, v1beta1.ConditionReady)
	return deployment.Status.ObservedGeneration == deployment.Generation &&
		(ready == nil || !slices.Contains(unwritten, ready.Reason))
}

// templates returns the record of pods on the existing set.
func (s Standing) templates() (noted templates, err error) {
	if s.PodCliqueSet == nil || s.PodCliqueSet.Annotations[v1beta1.AnnotationPodTemplates] == "" {
		return templates{}, nil
	}
	if err := json.Unmarshal([]byte(s.PodCliqueSet.Annotations[v1beta1.AnnotationPodTemplates]), &noted); err != nil {
		return templates{}, fmt.Errorf("reading annotation %s of PodCliqueSet %s: %w", v1beta1.AnnotationPodTemplates,
			s.PodCliqueSet.Name, err)
	}
	return noted, nil
}

// clique returns the existing clique of a name; nil if there is none.
func (s Standing) clique(name string) *grovev1alpha1.PodCliqueTemplateSpec {
	if s.PodCliqueSet == nil {
		return nil
	}
	cliques := s.PodCliqueSet.Spec.Template.Cliques
	at := slices.IndexFunc(cliques,
		func(clique grovev1alpha1.PodCliqueTemplateSpec) bool { return clique.Name == name })
	if at < 0 {
		return nil
	}
	return &cliques[at]
}

// podsOf are the fields of a clique that its pods are made from.
func podsOf(clique *grovev1alpha1.PodCliqueTemplateSpec) any {
	return struct {
		Labels, Annotations map[string]string
		Spec                corev1.PodSpec
	}{clique.Labels, clique.Annotations, clique.Spec.PodSpec}
}

// restarts reports whether pods of a clique that stands are to be made anew by a restart.
func restarts(clique, standing *grovev1alpha1.PodCliqueTemplateSpec) bool {
	return clique.Annotations[v1beta1.AnnotationRestart] != standing.Annotations[v1beta1.AnnotationRestart]
}

func samePods(a, b *grovev1alpha1.PodCliqueTemplateSpec) bool {
	return equality.Semantic.DeepEqual(podsOf(a), podsOf(b))
}

func hashOf(clique *grovev1alpha1.PodCliqueTemplateSpec) (string, error) {
	text, err := json.Marshal(podsOf(clique))
	if err != nil {
		return "", fmt.Errorf("reading how pods of %s are made: %w", clique.Name, err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}
