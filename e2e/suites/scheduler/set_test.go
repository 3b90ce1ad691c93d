package scheduler_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/yaml"

	"packtree.dev/e2e/suites/internal/suite"
	grove "packtree.dev/shared/api/grove/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// gangNamed is a gang of that name. The test or the operators make its PodGroup and pods.
func (w *world) gangNamed(name string) *gang {
	group := &scheduling.PodGroup{}
	group.Name, group.Namespace = name, w.Name
	return &gang{world: w, name: name, group: group}
}

func (w *world) set(t *testing.T) *grove.PodCliqueSet {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "set-apart.yaml"))
	require.NoError(t, err)
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

func (w *world) setGoes(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	w.Must(ctx, t, client.IgnoreNotFound(cluster.Delete(ctx, w.set(t))))
	w.Until(ctx, t, "the set's pods are gone", func(ctx context.Context) (bool, string, error) {
		pods, err := w.Pods(ctx)
		return len(pods) == 0, fmt.Sprintf("%d are left", len(pods)), err
	})
	return ctx
}
