package scheduler_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"
	"sigs.k8s.io/yaml"

	"packtree.dev/e2e/suites/internal/suite"
	grove "packtree.dev/shared/api/grove/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func TestScaledGangFollowsItsBaseGang(t *testing.T) {
	w := newWorld(5)
	base, scaled := w.gangNamed("set-0"), w.gangNamed("set-0-group-0")
	cluster.Test(t, features.New("scale-out").
		Setup(w.create).
		Assess("the base gang stands in the only rack that there is", suite.AllOf(w.setComes, base.stands(3),
			base.inTheFirstRack)).
		Assess("a scaled gang that finds no room there waits and says so, whatever room the other rack has",
			suite.AllOf(w.nodeComes(1, 0), w.nodeComes(1, 1), w.nodeComes(1, 2), w.setIsScaled(2),
				scaled.waits)).
		Assess("and stands there when there is room", suite.AllOf(w.nodeComes(0, 5), scaled.stands(3),
			scaled.inTheFirstRack)).
		Teardown(suite.AllOf(w.setGoes, w.remove)))
}

// gangNamed is a gang of that name. The test or the operators make its PodGroup and pods.
func (w *world) gangNamed(name string) *gang {
	group := &scheduling.PodGroup{}
	group.Name, group.Namespace = name, w.Name
	return &gang{world: w, name: name, group: group}
}

func (w *world) set(t *testing.T) *grove.PodCliqueSet {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", cmp.Or(w.setFile, "set-in-a-rack.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	set := &grove.PodCliqueSet{}
	if err := yaml.UnmarshalStrict(content, set); err != nil {
		t.Fatalf("reading the set: %v", err)
	}
	set.Namespace = w.Name
	for i := range set.Spec.Template.Cliques {
		set.Spec.Template.Cliques[i].Spec.PodSpec.NodeSelector = map[string]string{suite.WorldLabel: w.Name}
	}
	return set
}

func (w *world) setComes(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	w.Must(ctx, t, cluster.Create(ctx, w.set(t)))
	return ctx
}

// setIsScaled changes the replicas of the set's scaling group, as an autoscaler does.
func (w *world) setIsScaled(replicas int32) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		group := &grove.PodCliqueScalingGroup{ObjectMeta: metav1.ObjectMeta{Name: "set-0-group", Namespace: w.Name}}
		w.Must(ctx, t, cluster.Get(ctx, client.ObjectKeyFromObject(group), group))
		before := group.DeepCopy()
		group.Spec.Replicas = replicas
		w.Must(ctx, t, cluster.Patch(ctx, group, client.MergeFrom(before)))
		return ctx
	}
}

func (w *world) setGoes(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	w.Must(ctx, t, client.IgnoreNotFound(cluster.Delete(ctx, w.set(t))))
	w.Until(ctx, t, "the set's pods are gone", func(ctx context.Context) (bool, string, error) {
		pods, err := w.Pods(ctx)
		return len(pods) == 0, fmt.Sprintf("%d are left", len(pods)), err
	})
	return ctx
}
