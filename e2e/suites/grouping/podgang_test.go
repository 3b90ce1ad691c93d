package grouping_test

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
	grove "packtree.dev/shared/api/grove/v1alpha1"
)

// podGang is a PodGang that a user writes by hand, with pods that name it.
func podGang(w *world) *features.FeatureBuilder {
	all := labelled(grove.LabelPodGang, "serve")
	prefill := func(pod *corev1.Pod) bool {
		return all(pod) && pod.Labels[grove.LabelPodClique] != "serve-router"
	}
	const tree = "root all groups, prefill 2 groups, serve-leader 1 pods, serve-router 1 pods, serve-worker 3 pods"
	comes := suite.AllOf(
		w.Applies("podgang.yaml"), w.Applies("podgang-leaders.yaml"), w.grouped(2, all),
		w.WhileTheOperatorIsDead(w.Applies("podgang-workers.yaml")))
	stands := w.stands(w.inZone("all", 5, all), w.inRack("prefill", 4, prefill))
	return features.New("podgang").
		Setup(w.create).
		Assess("each group stands in its domain", suite.AllOf(comes, stands)).
		Assess("the PodGroup is the PodGang's tree", w.isOnlyGroupOf("podgang", "serve", tree)).
		Assess("the PodGang says so",
			w.Reads("True", "podgang", "serve", `{.status.conditions[?(@.type=="Scheduled")].status}`)).
		Assess("a PodGang of the same name begins anew", suite.AllOf(
			w.WhileTheOperatorIsDead(w.Kubectl("delete", "podgang", "serve"), w.Kubectl("delete", "pods", "--all")),
			comes, stands, w.isOnlyGroupOf("podgang", "serve", tree))).
		Teardown(w.remove)
}
