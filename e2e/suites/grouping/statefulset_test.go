package grouping_test

import (
	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
)

// statefulSet has a StatefulSet whose pods come again under their names.
func statefulSet(w *world) *features.FeatureBuilder {
	pods := labelled("app", "db")
	var stood []string
	return features.New("statefulset").
		Setup(w.create).
		Assess("all pods stand in one rack",
			suite.AllOf(w.Applies("statefulset.yaml"), w.TheOperatorDies, w.stands(w.inRack("db", 2, pods)))).
		Assess("a pod that was deleted comes again where the others stand", suite.AllOf(
			w.remembers(w.inRack("db", 2, pods), &stood),
			w.WhileTheOperatorIsDead(w.Kubectl("delete", "pod", "db-1")),
			w.standsAsIn(&stood, w.inRack("db", 2, pods)))).
		Assess("a further pod joins them", suite.AllOf(
			w.WhileTheOperatorIsDead(w.Kubectl("scale", "statefulset", "db", "--replicas=3")),
			w.standsAsIn(&stood, w.inRack("db", 3, pods)))).
		Assess("a StatefulSet of the same name begins anew", suite.AllOf(
			w.WhileTheOperatorIsDead(w.Kubectl("delete", "statefulset", "db", "--cascade=foreground"),
				w.Applies("statefulset.yaml")),
			w.stands(w.inRack("db", 2, pods)), w.isOnlyGroupOf("statefulset", "db", "root 2 pods"))).
		Teardown(w.remove)
}
