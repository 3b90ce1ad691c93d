package life_test

import (
	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
)

// retry has a set wait in vain in one segment and change to the other one, where it runs and stays.
func retry(w *segmentWorld) *features.FeatureBuilder {
	var placed standing
	return features.New("retry").
		Setup(w.create).
		Setup(w.bothTopologies).
		Assess("eight pods find no GB200 rack",
			suite.AllOf(w.Applies("segments/eight-in-a-rack.yaml"), w.waits("eight"), w.follows("eight", w.gb200()))).
		Assess("a topology that is not there is refused", w.Refused(
			[]string{"spec.template.clusterTopologyName", w.Name + "-b300", "there is no ClusterTopology of this name"},
			turning("eight", w.Name+"-b300")...)).
		Assess("an H100 rack has room", suite.AllOf(
			w.turns("eight", w.h100()), w.TheOperatorDies, w.follows("eight", w.h100()), w.stands("eight", h100),
			w.remembers("eight", &placed))).
		Assess("there is no way back", w.Refused(
			[]string{"spec.template.clusterTopologyName", w.h100(), "8 pods of the set are scheduled"},
			turning("eight", w.gb200())...)).
		Assess("nor to the default", w.Refused(
			[]string{"spec.template.clusterTopologyName", "8 pods of the set are scheduled"},
			"patch", "pcs", "eight", "--type=json", "--patch",
			`[{"op":"remove","path":"/spec/template/clusterTopologyName"}]`)).
		Assess("and nothing has moved", suite.AllOf(w.TheOperatorDies, w.stands("eight", h100),
			w.hasKept("eight", &placed))).
		Teardown(w.remove)
}
