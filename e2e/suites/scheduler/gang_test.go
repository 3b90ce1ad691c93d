package scheduler_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/types"
	"sigs.k8s.io/yaml"

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
	// indexed pods have their number as an index.
	indexed bool
	// owner is the controller of the pods, nil if they are not recreated.
	owner *metav1.OwnerReference
}

// gang reads testdata/<file>, puts it into the world under a name, and gives its constraints the world's Topology.
func (w *world) gang(t *testing.T, file, name string) *gang {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	group := &scheduling.PodGroup{}
	if err := yaml.UnmarshalStrict(content, group); err != nil {
		t.Fatalf("reading %s: %v", file, err)
	}
	group.Name, group.Namespace = name, w.Name
	constraints := []*scheduling.TopologyConstraint{group.Spec.TopologyConstraint}
	for i := range group.Spec.SubGroups {
		constraints = append(constraints, group.Spec.SubGroups[i].TopologyConstraint)
	}
	for _, constraint := range constraints {
		if constraint != nil {
			constraint.Topology = w.Name
		}
	}
	return &gang{world: w, name: name, group: group}
}

// exists creates the PodGroup and as many pods, numbered from 0.
func (g *gang) exists(pods int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		g.create(ctx, t, pods)
		return ctx
	}
}

func (g *gang) create(ctx context.Context, t *testing.T, pods int) {
	t.Helper()
	g.world.Must(ctx, t, cluster.Create(ctx, g.group.DeepCopy()))
	for i := range pods {
		g.addPod(ctx, t, i)
	}
}

func (g *gang) addPod(ctx context.Context, t *testing.T, i int) {
	t.Helper()
	g.world.Must(ctx, t, cluster.Create(ctx, g.pod(i)))
}

// podComes creates one more pod.
func (g *gang) podComes(i int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		g.addPod(ctx, t, i)
		return ctx
	}
}

func (g *gang) podName(i int) string { return fmt.Sprintf("%s-%d", g.name, i) }

// pod needs the GPU of its node, and so a node for itself.
func (g *gang) pod(i int) *corev1.Pod {
	one := corev1.ResourceList{live.GPU: resource.MustParse("1"), corev1.ResourceCPU: resource.MustParse("1")}
	labels := map[string]string{}
	if g.indexed {
		labels[appsv1.PodIndexLabel] = strconv.Itoa(i)
	}
	var owners []metav1.OwnerReference
	if g.owner != nil {
		owners = append(owners, *g.owner)
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: g.podName(i), Namespace: g.world.Name, Labels: labels, OwnerReferences: owners,
			Annotations: map[string]string{scheduling.AnnotationPodGroupName: g.name,
				kai.AnnotationSkipPodGrouper: "true"},
		},
		Spec: corev1.PodSpec{
			SchedulerName:     kai.SchedulerName,
			PriorityClassName: g.group.Spec.PriorityClassName,
			NodeSelector:      map[string]string{suite.WorldLabel: g.world.Name},
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
		g.awaitBound(ctx, t, count)
		racks, err := g.racks(ctx)
		g.world.Must(ctx, t, err)
		if len(racks) != 1 {
			t.Errorf("gang %s stands in racks %v, and its constraint is one rack\n%s", g.name, racks,
				g.world.Report(ctx))
		}
		return ctx
	}
}

func (g *gang) awaitBound(ctx context.Context, t *testing.T, count int) {
	t.Helper()
	g.world.Until(ctx, t, fmt.Sprintf("%d pods of gang %s are bound", count, g.name),
		func(ctx context.Context) (bool, string, error) {
			nodes, err := g.bound(ctx)
			return len(nodes) == count, fmt.Sprintf("%d are", len(nodes)), err
		})
}

// waits is a step until the PodGroup says why its gang waits; it checks that no pod is bound.
func (g *gang) waits(reason, says string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		g.awaitReason(ctx, t, reason, says)
		nodes, err := g.bound(ctx)
		g.world.Must(ctx, t, err)
		if len(nodes) > 0 {
			t.Errorf("gang %s waits, and yet pods are bound: %v\n%s", g.name, nodes, g.world.Report(ctx))
		}
		return ctx
	}
}

func (g *gang) awaitReason(ctx context.Context, t *testing.T, reason, says string) {
	t.Helper()
	g.world.Until(ctx, t, fmt.Sprintf("PodGroup %s says %s: …%s…", g.name, reason, says),
		func(ctx context.Context) (bool, string, error) {
			condition, err := g.scheduled(ctx)
			if err != nil || condition == nil {
				return false, "it says nothing", err
			}
			return condition.Reason == reason && strings.Contains(condition.Message, says), condition.Reason + ": " +
				condition.Message, nil
		})
}

func (g *gang) scheduled(ctx context.Context) (*metav1.Condition, error) {
	group := &scheduling.PodGroup{}
	if err := cluster.Get(ctx, client.ObjectKeyFromObject(g.group), group); err != nil {
		return nil, err
	}
	return meta.FindStatusCondition(group.Status.Conditions, scheduling.ConditionScheduled), nil
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
