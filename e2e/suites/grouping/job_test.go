package grouping_test

import (
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
)

// job is a Job of which half of the pods are created when the others are grouped already.
func job(w *world) *features.FeatureBuilder {
	pods := labelled(batchv1.JobNameLabel, "train")
	comes := suite.AllOf(w.grouped(2, pods), w.WhileTheOperatorIsDead(w.raisesParallelism("train", "4")))
	return features.New("job").
		Setup(w.create).
		Assess("all pods stand in one rack", suite.AllOf(w.Applies("job.yaml"), comes,
			w.stands(w.inRack("train", 4, pods)))).
		Assess("the PodGroup says what the Job says", w.isOnlyGroupOf("job", "train", "root 4 pods")).
		Assess("a Job of the same name begins anew", suite.AllOf(
			w.WhileTheOperatorIsDead(w.Kubectl("delete", "job", "train", "--cascade=foreground"),
				w.Applies("job.yaml")), comes,
			w.stands(w.inRack("train", 4, pods)), w.isOnlyGroupOf("job", "train", "root 4 pods"))).
		Teardown(w.remove)
}

func (w *world) raisesParallelism(name, pods string) types.StepFunc {
	return w.Kubectl("patch", "job", name, "--type=merge", "--patch", `{"spec":{"parallelism":`+pods+`}}`)
}
