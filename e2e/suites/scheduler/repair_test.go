package scheduler_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	e2e "sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// replicated is a gang whose groups four and two are ReplicaSets: lost or evicted pods are made again. Their room is
// held for longer than any scenario takes.
type replicated struct {
	*gang
	// stood has the node of each pod of the gang's first placement.
	stood map[string]string
}

func (w *world) replicated(t *testing.T, move, after string) *replicated {
	g := w.gang(t, "four-and-two.yaml", "gang")
	g.group.Annotations = map[string]string{scheduling.AnnotationRepairMove: move,
		scheduling.AnnotationRepairAfter: after, scheduling.AnnotationSeatHold: "1h"}
	return &replicated{gang: g}
}

func (g *replicated) replicaSet(group string, replicas int32) *appsv1.ReplicaSet {
	like := g.pod(0)
	labels := map[string]string{kai.LabelSubGroupName: group}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: group, Namespace: g.world.Name},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels,
				Annotations: like.Annotations},
				Spec: like.Spec},
		},
	}
}

// comes creates the gang, and waits until it stands.
func (g *replicated) comes(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	g.world.Must(ctx, t, cluster.Create(ctx, g.group.DeepCopy()))
	g.world.Must(ctx, t, cluster.Create(ctx, g.replicaSet("four", 4)))
	g.world.Must(ctx, t, cluster.Create(ctx, g.replicaSet("two", 2)))
	g.awaitReason(ctx, t, scheduling.ReasonPlaced, "")
	g.awaitBound(ctx, t, 6)
	var err error
	g.stood, err = g.bound(ctx)
	g.world.Must(ctx, t, err)
	return ctx
}

// goesAway deletes the owners that make the pods again.
func (g *replicated) goesAway(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	for _, group := range []string{"four", "two"} {
		g.world.Must(ctx, t, client.IgnoreNotFound(cluster.Delete(ctx, g.replicaSet(group, 0))))
	}
	return ctx
}

// hasPods waits until so many pods exist, bound or not.
func (w *world) hasPods(count int) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, fmt.Sprintf("%d pods exist", count), func(ctx context.Context) (bool, string, error) {
			pods, err := w.Pods(ctx)
			return len(pods) == count, fmt.Sprintf("%d do", len(pods)), err
		})
		return ctx
	}
}

// quota lets nobody make more pods than there are while it exists.
func (w *world) quota() *corev1.ResourceQuota {
	none := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	return &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none", Namespace: w.Name},
		Spec: corev1.ResourceQuotaSpec{Hard: none}}
}

func (w *world) quotaComes(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	quota := w.quota()
	w.Must(ctx, t, cluster.Create(ctx, quota))
	w.Until(ctx, t, "the quota is in force", func(ctx context.Context) (bool, string, error) {
		err := cluster.Get(ctx, client.ObjectKeyFromObject(quota), quota)
		return len(quota.Status.Hard) == 1, fmt.Sprint(quota.Status.Used), err
	})
	return ctx
}

func (w *world) quotaGoes(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	w.Must(ctx, t, cluster.Delete(ctx, w.quota()))
	return ctx
}

// of are the nodes of the pods of a group.
func of(group string, nodes map[string]string) map[string]string {
	nodes = maps.Clone(nodes)
	maps.DeleteFunc(nodes, func(pod, _ string) bool { return !strings.HasPrefix(pod, group+"-") })
	return nodes
}

// losesTwoNodes deletes two nodes of the group of four, with their pods.
func (g *replicated) losesTwoNodes(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	four := of("four", g.stood)
	two := slices.Sorted(maps.Keys(four))[:2]
	for _, pod := range two {
		g.world.nodeGoes(ctx, t, four[pod])
	}
	for _, pod := range two {
		lost := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: g.world.Name}}
		g.world.Must(ctx, t, client.IgnoreNotFound(cluster.Delete(ctx, lost, client.GracePeriodSeconds(0))))
		delete(g.stood, pod)
	}
	return ctx
}

// plans waits until the PodGroup says what is done about the lost pods.
func (g *replicated) plans(reason, says string) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		g.world.Until(ctx, t, fmt.Sprintf("%s is said: …%s…", reason, says), func(ctx context.Context) (bool,
			string, error) {
			group := &scheduling.PodGroup{}
			err := cluster.Get(ctx, client.ObjectKeyFromObject(g.group), group)
			condition := meta.FindStatusCondition(group.Status.Conditions, scheduling.ConditionRepairPlanned)
			if err != nil || condition == nil {
				return false, "nothing is said", err
			}
			return condition.Reason == reason && strings.Contains(condition.Message, says), condition.Reason + ": " +
				condition.Message, nil
		})
		return ctx
	}
}

// annotated changes an annotation of the PodGroup.
func (g *replicated) annotated(key, value string) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
		g.world.Must(ctx, t, cluster.Patch(ctx, g.group.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))))
		return ctx
	}
}

// stays checks that the pods that were not lost are where they were.
func (g *replicated) stays(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	nodes, err := g.bound(ctx)
	g.world.Must(ctx, t, err)
	if !maps.Equal(nodes, g.stood) {
		t.Errorf("pods stand on %v, and stood on %v\n%s", nodes, g.stood, g.world.Report(ctx))
	}
	return ctx
}

// isMovedTo waits until the gang is placed with its group of four in another rack, and checks that the other group is
// where it was.
func (g *replicated) isMovedTo(free string) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		g.world.Until(ctx, t, "four pods stand in "+free, func(ctx context.Context) (bool, string, error) {
			nodes, err := g.bound(ctx)
			there := 0
			for _, node := range of("four", nodes) {
				if g.world.rackOf(node) == free {
					there++
				}
			}
			return there == 4 && len(nodes) == 6, fmt.Sprint(nodes), err
		})
		g.awaitReason(ctx, t, scheduling.ReasonPlaced, "")
		nodes, err := g.bound(ctx)
		g.world.Must(ctx, t, err)
		if two := of("two", nodes); !maps.Equal(two, of("two", g.stood)) {
			t.Errorf("the group of two stands on %v, and stood on %v", two, of("two", g.stood))
		}
		return ctx
	}
}

// brokenIn places a gang with its group of four in the only rack with room for it, adds a further rack, and deletes two
// nodes.
func (g *replicated) brokenIn(w *world) e2e.StepFunc {
	return suite.AllOf(w.create, g.comes, w.rackComes(2, 4), g.losesTwoNodes)
}

// rackComes makes a further rack.
func (w *world) rackComes(rack, count int) e2e.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		for i := range count {
			w.Must(ctx, t, cluster.Create(ctx, w.node(rack, i)))
		}
		return ctx
	}
}

func TestGroupMovesToTheRackThatHasRoom(t *testing.T) {
	w := newWorld(4, 2)
	g := w.replicated(t, scheduling.RepairMoveSubGroup, "1h")
	cluster.Test(t, features.New("a rack loses two nodes").
		Setup(g.brokenIn(w)).
		Assess("it is said what will be moved, and when",
			suite.AllOf(g.plans(scheduling.ReasonMoveAhead, "will move subgroup four (2 pods) from "), g.stays)).
		Assess("once it need not be waited for, the group moves, and the other stays",
			suite.AllOf(g.annotated(scheduling.AnnotationRepairAfter, "0s"), g.isMovedTo("r2"), w.HasEvent("PodGroup", g.name, "Moved",
				"2 pods evicted, moving subgroup four"))).
		Teardown(suite.AllOf(g.goesAway, w.remove)))
}

func TestNothingMovesThatMayNot(t *testing.T) {
	w := newWorld(4, 2)
	g := w.replicated(t, scheduling.RepairMoveNone, "0s")
	cluster.Test(t, features.New("a rack loses two nodes, and nothing may be moved").
		Setup(g.brokenIn(w)).
		Assess("it is said what would help", suite.AllOf(
			g.plans(scheduling.ReasonMoveNotAllowed,
				"would help, which annotation packtree.dev/repair-move: subgroup would allow"), g.stays)).
		Teardown(suite.AllOf(g.goesAway, w.remove)))
}

func TestNothingMovesThatABudgetForbids(t *testing.T) {
	w := newWorld(4, 2)
	g := w.replicated(t, scheduling.RepairMoveGang, "0s")
	one := intstr.FromInt32(1)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "four", Namespace: w.Name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{kai.LabelSubGroupName: "four"}},
		},
	}
	cluster.Test(t, features.New("a rack loses two nodes, and a budget lets one pod go").
		Setup(suite.AllOf(w.create, func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			w.Must(ctx, t, cluster.Create(ctx, budget.DeepCopy()))
			return ctx
		}, g.comes, w.rackComes(2, 4), g.losesTwoNodes)).
		Assess("it is said which budget",
			suite.AllOf(g.plans(scheduling.ReasonMoveBudget,
				"PodDisruptionBudget "+w.Name+"/four does not let all of these pods go"), g.stays)).
		Assess("without it the group moves",
			suite.AllOf(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
				w.Must(ctx, t, cluster.Delete(ctx, budget))
				return ctx
			}, g.isMovedTo("r2"))).
		Teardown(suite.AllOf(g.goesAway, w.remove)))
}

func TestMoveGoesOnAfterTheSchedulerDied(t *testing.T) {
	w := newWorld(4, 2)
	g := w.replicated(t, scheduling.RepairMoveSubGroup, "2s")
	cluster.Test(t, features.New("the scheduler dies while a group moves").
		// As long as moved pods are not made again, room is held.
		Setup(suite.AllOf(w.create, g.comes, g.losesTwoNodes, w.hasPods(6), w.quotaComes, w.rackComes(2, 4))).
		Assess("it dies when room is held, or just after",
			suite.AllOf(g.plans(scheduling.ReasonMoving, "room is held there for 4 pods"), w.schedulerDies)).
		Assess("the next one has the group moved, and the other stays",
			suite.AllOf(w.quotaGoes, w.schedulerStarts, g.isMovedTo("r2"))).
		Teardown(suite.AllOf(g.goesAway, w.remove)))
}
