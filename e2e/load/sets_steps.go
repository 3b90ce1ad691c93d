package load

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// become makes a change of sets and waits until there are so many pods, none of them gated.
func (b *setsBench) become(ctx context.Context, name string, pods int, change func() error) error {
	return b.step(ctx, name, change, b.are(pods))
}

// setOf is a PodCliqueSet with one clique.
func setOf(name string, replicas, pods int) *grovev1alpha1.PodCliqueSet {
	set := &grovev1alpha1.PodCliqueSet{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	set.Spec.Replicas = int32(replicas)
	set.Spec.Template.Cliques = []grovev1alpha1.PodCliqueTemplateSpec{cliqueOf("worker", pods)}
	return set
}

func cliqueOf(name string, pods int) grovev1alpha1.PodCliqueTemplateSpec {
	clique := grovev1alpha1.PodCliqueTemplateSpec{Name: name}
	clique.Spec.Replicas = int32(pods)
	clique.Spec.PodSpec = corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none"}}}
	return clique
}

// smallSet has two cliques of one pod, and a group of two copies with a leader and a worker each.
func smallSet(name string) *grovev1alpha1.PodCliqueSet {
	set := setOf(name, 1, 1)
	set.Spec.Template.Cliques = []grovev1alpha1.PodCliqueTemplateSpec{
		cliqueOf("front", 1), cliqueOf("router", 1), cliqueOf("leader", 1), cliqueOf("worker", 1),
	}
	set.Spec.Template.PodCliqueScalingGroups = []grovev1alpha1.PodCliqueScalingGroupConfig{
		{Name: "serve", CliqueNames: []string{"leader", "worker"}, Replicas: new(int32(2)), MinAvailable: new(int32(2))},
	}
	return set
}

const podsOfSmallSet = 6

func (b *setsBench) createSet(ctx context.Context, set *grovev1alpha1.PodCliqueSet) error {
	_, err := b.kai.GroveV1alpha1().PodCliqueSets(namespace).Create(ctx, set, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating set %s: %w", set.Name, err)
	}
	return nil
}

func (b *setsBench) scaleSet(ctx context.Context, name string, replicas int) error {
	_, err := b.kai.GroveV1alpha1().PodCliqueSets(namespace).Patch(ctx, name, types.MergePatchType, replicasPatch(replicas), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("scaling set %s: %w", name, err)
	}
	return nil
}
