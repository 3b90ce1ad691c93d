package scheduler_test

import (
	"context"
	"fmt"
	"testing"

	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func TestPreemptionClearsOneRackAndBreaksNoGangHalfWay(t *testing.T) {
	w := newWorld(4, 4)
	first, second := w.gang(t, "four-in-a-rack.yaml", "first"), w.gang(t, "four-in-a-rack.yaml", "second")
	urgent := w.gang(t, "three-in-a-rack.yaml", "urgent")
	urgent.group.Spec.PriorityClassName = w.Name
	cluster.Test(t, features.New("preemption").
		Setup(suite.AllOf(w.create, w.classComes(1000))).
		Assess("two gangs fill both racks",
			suite.AllOf(first.exists(4), first.stands(4), second.exists(4), second.stands(4))).
		Assess("a gang of higher priority gets one of the racks", suite.AllOf(urgent.exists(3), urgent.stands(3))).
		Assess("one gang went whole, and the other stands whole", w.oneOfTwoStands(first, second, 4)).
		Teardown(suite.AllOf(w.classGoes, w.remove)))
}

func TestPreemptionTakesPodsAboveTheMinimumFirst(t *testing.T) {
	w := newWorld(4)
	elastic, urgent := w.gang(t, "three-in-a-rack.yaml", "elastic"), w.gang(t, "two-in-a-rack.yaml", "urgent")
	urgent.group.Spec.PriorityClassName, urgent.group.Spec.MinMember = w.Name, new(int32(1))
	cluster.Test(t, features.New("preemption of a pod above the minimum").
		Setup(suite.AllOf(w.create, w.classComes(1000))).
		Assess("a gang stands with one pod more than it needs", suite.AllOf(elastic.exists(4), elastic.stands(4))).
		Assess("a gang of one pod and higher priority gets that pod's node",
			suite.AllOf(urgent.exists(1), urgent.stands(1))).
		Assess("and the others still stand", elastic.stands(3)).
		Teardown(suite.AllOf(w.classGoes, w.remove)))
}

func TestPreemptionLeavesNonPreemptibleGangsAlone(t *testing.T) {
	w := newWorld(4)
	sacred, urgent := w.gang(t, "four-in-a-rack.yaml", "sacred"), w.gang(t, "two-in-a-rack.yaml", "urgent")
	sacred.group.Spec.Preemptibility = scheduling.NonPreemptible
	urgent.group.Spec.PriorityClassName = w.Name
	cluster.Test(t, features.New("preemption of a non-preemptible gang").
		Setup(suite.AllOf(w.create, w.classComes(1000))).
		Assess("a non-preemptible gang fills the rack", suite.AllOf(sacred.exists(4), sacred.stands(4))).
		Assess("a gang of higher priority waits",
			suite.AllOf(urgent.exists(2), urgent.waits(scheduling.ReasonInfeasible, ""))).
		Assess("and the other stands", sacred.stands(4)).
		Teardown(suite.AllOf(w.classGoes, w.remove)))
}

// classComes makes a PriorityClass of the world's name.
func (w *world) classComes(value int32) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: w.Name}, Value: value}
		w.Must(ctx, t, cluster.Create(ctx, class))
		return ctx
	}
}

func (w *world) classGoes(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: w.Name}}
	w.Must(ctx, t, client.IgnoreNotFound(cluster.Delete(ctx, class)))
	return ctx
}

// oneOfTwoStands waits until one of the gangs has all of its pods on nodes and the other none left: a preemptor that
// needs fewer nodes may be bound before the last victim is evicted.
func (w *world) oneOfTwoStands(a, b *gang, pods int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, fmt.Sprintf("of %s and %s one is whole and the other gone", a.name, b.name),
			func(ctx context.Context) (bool, string, error) {
				ofA, err := a.bound(ctx)
				if err != nil {
					return false, "", err
				}
				ofB, err := b.bound(ctx)
				return len(ofA)+len(ofB) == pods && len(ofA)*len(ofB) == 0,
					fmt.Sprintf("%d and %d pods stand", len(ofA), len(ofB)), err
			})
		return ctx
	}
}
