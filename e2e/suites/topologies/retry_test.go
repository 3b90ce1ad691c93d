package topologies_test

import (
	"sigs.k8s.io/e2e-framework/pkg/features"
)

// retry has a set wait in vain in one segment and turn to the other, where it runs and stays.
func retry(w *world) *features.FeatureBuilder {
	var placed standing
	return features.New("retry").
		Setup(w.create).
		Setup(w.bothTopologies).
		Assess("eight pods find no GB200 rack", allOf(w.applies("eight-in-a-rack.yaml"), w.waits("eight"), w.follows("eight", w.gb200()))).
		Assess("a topology that is not there is refused", w.refused(
			[]string{"spec.template.clusterTopologyName", w.name + "-b300", "there is no ClusterTopology of this name"}, turning("eight", w.name+"-b300")...)).
		Assess("an H100 rack has room", allOf(
			w.turns("eight", w.h100()), w.theOperatorDies, w.follows("eight", w.h100()), w.stands("eight", h100), w.remembers("eight", &placed))).
		Assess("there is no way back", w.refused(
			[]string{"spec.template.clusterTopologyName", w.h100(), "8 pods of the set are scheduled"}, turning("eight", w.gb200())...)).
		Assess("nor to the default", w.refused(
			[]string{"spec.template.clusterTopologyName", "8 pods of the set are scheduled"},
			"patch", "pcs", "eight", "--type=json", "--patch", `[{"op":"remove","path":"/spec/template/clusterTopologyName"}]`)).
		Assess("and nothing has moved", allOf(w.theOperatorDies, w.stands("eight", h100), w.hasKept("eight", &placed))).
		Teardown(w.remove)
}
