package grouping_test

import (
	"context"
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// mistakes are Jobs with annotations that cannot be followed: the Job and the PodGroup report that, the pods wait, and
// start when the annotations are corrected.
func mistakes(w *world) *features.FeatureBuilder {
	early, wrong := labelled(batchv1.JobNameLabel, "early"), labelled(batchv1.JobNameLabel, "wrong")
	noTopology := []string{
		"metadata.annotations[kai.scheduler/topology]", `"` + w.Name + `-later"`,
		"no Topology has this name: create it, or name another",
	}
	allWrong := []string{
		"metadata.annotations[kai.scheduler/segment-size]", `"four"`, "must be a whole number above 0",
		"metadata.annotations[kai.scheduler/batch-min-member]", "must not be empty",
		"metadata.annotations[kai.scheduler/segment-topology-required-placement]",
		`"` + w.rackKey()[:len(w.rackKey())-4] + `rock"`, "did you mean " + w.rackKey(),
	}
	return features.New("mistakes").
		Setup(w.create).
		Assess("a Topology that does not exist is reported", suite.AllOf(
			w.Undisturbed(w.WhileTheOperatorIsDead(w.Applies("unknown-topology.yaml")),
				w.HasEvent("Job", "early", "InvalidGrouping", noTopology...)),
			w.says("early", scheduling.ConditionValid, metav1.ConditionFalse, noTopology...),
			w.says("early", scheduling.ConditionScheduled, metav1.ConditionFalse, noTopology[1:]...),
			w.noneStands(early, 4))).
		Assess("once it exists the pods stand where they should", suite.AllOf(
			w.TheOperatorDies, w.Applies("topology-later.yaml"), w.stands(w.inRack("early", 4, early)),
			w.says("early", scheduling.ConditionValid, metav1.ConditionTrue),
			w.says("early", scheduling.ConditionScheduled, metav1.ConditionTrue))).
		Assess("all that is wrong is reported at once", suite.AllOf(
			w.Undisturbed(w.Applies("wrong.yaml"), w.HasEvent("Job", "wrong", "InvalidGrouping", allWrong...)),
			w.says("wrong", scheduling.ConditionValid, metav1.ConditionFalse, allWrong...),
			w.says("wrong", scheduling.ConditionScheduled, metav1.ConditionFalse, "requiredTopologyLevel", "/rock"),
			w.noneStands(wrong, 4))).
		Assess("once it is mended the pods stand where they should", suite.AllOf(
			w.WhileTheOperatorIsDead(w.Kubectl("annotate", "job", "wrong", "--overwrite",
				"kai.scheduler/segment-size=2",
				"kai.scheduler/batch-min-member=4", "kai.scheduler/segment-topology-required-placement="+w.rackKey())),
			w.stands(w.inZone("all", 4, wrong), w.inRack("first two", 2, indexed(wrong, 0, 1)),
				w.inRack("last two", 2, indexed(wrong, 2, 3))),
			w.says("wrong", scheduling.ConditionValid, metav1.ConditionTrue),
			w.says("wrong", scheduling.ConditionScheduled, metav1.ConditionTrue))).
		Teardown(w.remove)
}

// says waits until a condition of a Job's PodGroup has such a status and message.
func (w *world) says(job, condition string, status metav1.ConditionStatus, parts ...string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		name := podGroupName("job", job, w.Answer(ctx, t, "get", "job", job, "-o", "jsonpath={.metadata.uid}"))
		w.Until(ctx, t, fmt.Sprintf("PodGroup %s is %s=%s", name, condition, status),
			func(ctx context.Context) (bool, string, error) {
				group := &scheduling.PodGroup{}
				if err := cluster.Get(ctx, client.ObjectKey{Namespace: w.Name, Name: name}, group); err != nil {
					return false, "", err
				}
				now := meta.FindStatusCondition(group.Status.Conditions, condition)
				if now == nil {
					return false, "it has no such condition", nil
				}
				missing := suite.Missing(now.Message, parts)
				return now.Status == status &&
					len(missing) == 0, fmt.Sprintf("%s: %s: it lacks %q", now.Status, now.Message, missing), nil
			})
		return ctx
	}
}

// noneStands checks that there are so many pods, and that none has a node.
func (w *world) noneStands(selects selector, count int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		w.grouped(count, selects)(ctx, t, config)
		pods, err := w.Pods(ctx)
		w.Must(ctx, t, err)
		for i := range pods {
			if selects(&pods[i]) && pods[i].Spec.NodeName != "" {
				t.Errorf("pod %s stands on %s, and should wait\n%s", pods[i].Name, pods[i].Spec.NodeName, w.Report(ctx))
			}
		}
		return ctx
	}
}
