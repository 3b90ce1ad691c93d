package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// reach changes sets and waits until there are so many pods, none of them gated.
func (b *setsBench) reach(ctx context.Context, name string, pods int, change func() error) error {
	return b.step(ctx, name, change, b.are(pods))
}

// create creates sets and waits until their pods exist beside the earlier ones, none of them gated.
func (b *setsBench) create(ctx context.Context, name string, pods int, sets ...*grovev1alpha1.PodCliqueSet) error {
	return b.reach(ctx, name, b.pods.count()+pods, func() error { return createAll(ctx, b.bench, sets) })
}

// setOf is a PodCliqueSet with one clique.
func setOf(name string, replicas, pods int) *grovev1alpha1.PodCliqueSet {
	set := &grovev1alpha1.PodCliqueSet{ObjectMeta: named(name)}
	set.Spec.Replicas = int32(replicas)
	set.Spec.Template.Cliques = []grovev1alpha1.PodCliqueTemplateSpec{cliqueOf("worker", pods)}
	return set
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: namespace} }

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
		{Name: "serve", CliqueNames: []string{"leader", "worker"}, Replicas: new(int32(2)),
			MinAvailable: new(int32(2))},
	}
	return set
}

const podsOfSmallSet = 6

// replicas scales a set, a PodClique or a PodCliqueScalingGroup.
const replicas = `{"spec":{"replicas":%d}}`

func (b *setsBench) scaleSet(ctx context.Context, name string, to int) error {
	return b.merge(ctx, &grovev1alpha1.PodCliqueSet{ObjectMeta: named(name)}, replicas, to)
}
