package load

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Step is what one change of a set cost.
type Step struct {
	Name string `json:"name"`
	Pods int    `json:"pods"`
	// Seconds is the time until all pods are as they are to be: without the operator's gate, or gone.
	Seconds float64 `json:"seconds"`
	// Settled is the time until the operator rests, its statuses included.
	Settled float64 `json:"settledSeconds"`
	// CPUSeconds are those of the operator, APIServerCPUSeconds those of the API server, until the operator rests.
	CPUSeconds          float64 `json:"cpuSeconds"`
	APIServerCPUSeconds float64 `json:"apiServerCPUSeconds"`
	// Writes are all that anybody wrote meanwhile, by verb and resource.
	Writes map[string]int `json:"writes"`
	// Reconciles says how long those of each controller took.
	Reconciles []Reconciles `json:"reconciles"`
}

// profiled is how many seconds of a step a profile covers.
const profiled = 20

// step makes a change and waits until there are as many pods, none of them gated, and the operator rests.
func (b *setsBench) step(ctx context.Context, name string, pods int, change func() error) (Step, error) {
	before, err := b.read(ctx)
	if err != nil {
		return Step{}, err
	}
	profile := b.profile(ctx, name, profiled)
	began := time.Now()
	if err := change(); err != nil {
		return Step{}, err
	}
	var last time.Time
	err = b.until(ctx, fmt.Sprintf("there are %d pods without gates", pods), func(context.Context) (bool, string, error) {
		exist, ungated, changed := b.pods.count()
		last = changed
		return exist == pods && ungated == pods, fmt.Sprintf("%d pods, %d without gates", exist, ungated), nil
	})
	if err != nil {
		return Step{}, err
	}
	settled, err := b.settle(ctx)
	if err != nil {
		return Step{}, err
	}
	if err := profile(); err != nil {
		return Step{}, err
	}
	after, err := b.read(ctx)
	if err != nil {
		return Step{}, err
	}
	s := Step{
		Name: name, Pods: pods, Seconds: last.Sub(began).Seconds(), Settled: settled.Sub(began).Seconds(),
		CPUSeconds: (after.operatorCPU - before.operatorCPU).Seconds(), APIServerCPUSeconds: (after.restCPU - before.restCPU).Seconds(),
		Writes: writes(before, after), Reconciles: reconciles(before, after),
	}
	b.say("%s: %d pods after %.1f s, at rest after %.1f s", name, pods, s.Seconds, s.Settled)
	return s, nil
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
