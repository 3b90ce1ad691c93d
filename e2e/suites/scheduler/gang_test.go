package scheduler_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/live"
	"packtree.dev/e2e/suites/internal/suite"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// gang is a PodGroup of a world and its pods.
type gang struct {
	world *world
	name  string
	group *scheduling.PodGroup
}

// pod needs the GPU of its node, and so a node for itself.
func (g *gang) pod(i int) *corev1.Pod {
	one := corev1.ResourceList{live.GPU: resource.MustParse("1"), corev1.ResourceCPU: resource.MustParse("1")}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%d", g.name, i), Namespace: g.world.Name, Labels: map[string]string{},
			Annotations: map[string]string{scheduling.AnnotationPodGroupName: g.name,
				kai.AnnotationSkipPodGrouper: "true"},
		},
		Spec: corev1.PodSpec{
			SchedulerName: kai.SchedulerName,
			NodeSelector:  map[string]string{suite.WorldLabel: g.world.Name},
			Containers: []corev1.Container{
				{Name: "c", Image: "none", Resources: corev1.ResourceRequirements{Requests: one, Limits: one}},
			},
		},
	}
}

// bound are the nodes of the gang's pods that have one and are not being deleted.
func (g *gang) bound(ctx context.Context) (map[string]string, error) {
	pods, err := g.world.Pods(ctx)
	if err != nil {
		return nil, err
	}
	nodes := map[string]string{}
	for i := range pods {
		if pods[i].Annotations[scheduling.AnnotationPodGroupName] == g.name && pods[i].Spec.NodeName != "" &&
			pods[i].DeletionTimestamp == nil {
			nodes[pods[i].Name] = pods[i].Spec.NodeName
		}
	}
	return nodes, nil
}

// racks are those of the gang's pods.
func (g *gang) racks(ctx context.Context) ([]string, error) {
	nodes, err := g.bound(ctx)
	if err != nil {
		return nil, err
	}
	racks := map[string]bool{}
	for _, node := range nodes {
		racks[g.world.rackOf(node)] = true
	}
	return slices.Sorted(maps.Keys(racks)), nil
}

func (w *world) rackOf(node string) string {
	rack, _, _ := strings.Cut(strings.TrimPrefix(node, w.Name+"-"), "-")
	return rack
}

// stands waits until as many pods are bound, and checks that they share a rack.
func (g *gang) stands(count int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		g.world.Until(ctx, t, fmt.Sprintf("%d pods of gang %s are bound", count, g.name),
			func(ctx context.Context) (bool, string, error) {
				nodes, err := g.bound(ctx)
				return len(nodes) == count, fmt.Sprintf("%d are", len(nodes)), err
			})
		racks, err := g.racks(ctx)
		g.world.Must(ctx, t, err)
		if len(racks) != 1 {
			t.Errorf("gang %s stands in racks %v, and its constraint is one rack\n%s", g.name, racks,
				g.world.Report(ctx))
		}
		return ctx
	}
}

// goes deletes the gang's pods and its PodGroup.
func (g *gang) goes(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	pods, err := g.world.Pods(ctx)
	g.world.Must(ctx, t, err)
	for i := range pods {
		if pods[i].Annotations[scheduling.AnnotationPodGroupName] == g.name {
			g.world.Must(ctx, t, client.IgnoreNotFound(cluster.Delete(ctx, &pods[i], client.GracePeriodSeconds(0))))
		}
	}
	g.world.Must(ctx, t, client.IgnoreNotFound(cluster.Delete(ctx, g.group.DeepCopy())))
	return ctx
}
