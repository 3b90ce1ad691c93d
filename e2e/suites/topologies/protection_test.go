package topologies_test

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"packtree.dev/e2e/suites/internal/suite"
	grove "packtree.dev/shared/api/grove/v1alpha1"
	scheduler "packtree.dev/shared/api/grovescheduler/v1alpha1"
)

// relevelled is kubectl patch of the levels below the zone.
func (w *world) relevelled(topology, levels string) []string {
	return []string{"patch", "ct", topology, "--type=merge", "--patch",
		`{"spec":{"levels":[{"domain":"zone","key":"` + w.Name + `/zone"},` + levels + `]}}`}
}

const (
	hostAlone = `{"domain":"host","key":"kubernetes.io/hostname"}`
	heldBy    = `jsonpath={.status.conditions[?(@.type=="DeletionBlocked")]}`
)

// protection changes and deletes a topology in whose racks pods are.
func protection(w *world) *features.FeatureBuilder {
	var placed standing
	set := w.Name + "/eight"
	return features.New("protection").
		Setup(w.create).
		Setup(w.bothTopologies).
		Setup(suite.AllOf(w.Applies("eight-in-a-rack.yaml"), w.turns("eight", w.h100()), w.stands("eight", h100),
			w.remembers("eight", &placed))).
		Assess("its levels cannot change", suite.AllOf(w.TheOperatorDies,
			w.Refused([]string{"spec.levels", "cannot be changed", set}, w.relevelled(w.h100(), hostAlone)...))).
		Assess("its labels and annotations can",
			suite.AllOf(w.Kubectl("label", "ct", w.h100(), "team=a"),
				w.Kubectl("annotate", "ct", w.h100(), "example.com/why=because"))).
		Assess("deletion waits, and says for whom", suite.AllOf(
			w.Kubectl("delete", "ct", w.h100(), "--wait=false"), w.TheOperatorDies,
			w.Shows([]string{`"status":"True"`, set}, "get", "ct", w.h100(), "-o", heldBy),
			w.Shows([]string{"deletionTimestamp"}, "get", "ct", w.h100(), "-o", "yaml"))).
		Assess("nobody else can choose it",
			w.TurnedDown("on-h100.yaml", "spec.template.clusterTopologyName", w.h100(), "deleted")).
		Assess("the set does not mind", suite.AllOf(
			w.stands("eight", h100), w.hasKept("eight", &placed),
			w.says("eight", metav1.ConditionFalse, grove.ReasonAllClusterTopologyLevelsAvailable))).
		Assess("deletion goes on when the set has gone",
			suite.AllOf(w.Kubectl("delete", "pcs", "eight"), w.topologyIsGone(w.h100()))).
		Assess("one of that name can be made again, and be used", suite.AllOf(
			w.bothTopologies, w.Applies("eight-in-a-rack.yaml"), w.turns("eight", w.h100()), w.stands("eight", h100))).
		Teardown(w.remove)
}

// levelsFollowed changes a topology so that a waiting set fits.
func levelsFollowed(w *world) *features.FeatureBuilder {
	// The earlier block is a rack now, which has twelve GPUs instead of six.
	wider := w.relevelled(w.gb200(), `{"domain":"rack","key":"gb200.`+w.Name+`/block"},`+hostAlone)
	rack := func(key string) func(*scheduler.PodGang) bool {
		return func(gang *scheduler.PodGang) bool { return constraints(gang)[""] == key+"," }
	}
	return features.New("levels followed").
		Setup(w.create).
		Setup(w.bothTopologies).
		Assess("eight pods find no rack", suite.AllOf(
			w.Applies("eight-in-a-rack.yaml"), w.waits("eight"),
			w.gangsAre("eight", "in a rack", rack("gb200."+w.Name+"/rack")))).
		Assess("racks are as large as blocks now, and it runs in one", suite.AllOf(
			w.Kubectl(wider...), w.TheOperatorDies,
			w.topologyIs(w.gb200(), w.Name+"/zone", "gb200."+w.Name+"/block", "kubernetes.io/hostname"),
			w.gangsAre("eight", "in a block", rack("gb200."+w.Name+"/block")), w.stands("eight", gb200))).
		Assess("which they stay",
			w.Refused([]string{"spec.levels", w.Name + "/eight"}, w.relevelled(w.gb200(), hostAlone)...)).
		Assess("somebody deletes the scheduler's Topology, and it comes back", suite.AllOf(
			w.Kubectl("delete", "topologies.kai.scheduler", w.gb200()), w.TheOperatorDies,
			w.topologyIs(w.gb200(), w.Name+"/zone", "gb200."+w.Name+"/block", "kubernetes.io/hostname"),
			w.stands("eight", gb200))).
		Teardown(w.remove)
}

// lostTopology removes the finalizer of a topology in whose racks pods are.
func lostTopology(w *world) *features.FeatureBuilder {
	var placed standing
	return features.New("lost topology").
		Setup(w.create).
		Setup(w.bothTopologies).
		Setup(suite.AllOf(w.Applies("eight-in-a-rack.yaml"), w.turns("eight", w.h100()), w.stands("eight", h100),
			w.remembers("eight", &placed))).
		Assess("it goes under the set", suite.AllOf(
			w.Kubectl("delete", "ct", w.h100(), "--wait=false"),
			w.Kubectl("patch", "ct", w.h100(), "--type=merge", "--patch", `{"metadata":{"finalizers":null}}`),
			w.topologyIsGone(w.h100()))).
		Assess("which says so, and runs on", suite.AllOf(
			w.says("eight", metav1.ConditionUnknown, grove.ReasonClusterTopologyNotFound, w.h100()), w.TheOperatorDies,
			w.hasKept("eight", &placed))).
		Assess("no other set can name it", w.TurnedDown("on-h100.yaml",
			"spec.template.clusterTopologyName", w.h100(), "there is no ClusterTopology of this name")).
		Assess("it is made again, and all is as it was", suite.AllOf(
			w.bothTopologies, w.TheOperatorDies,
			w.says("eight", metav1.ConditionFalse, grove.ReasonAllClusterTopologyLevelsAvailable),
			w.follows("eight", w.h100()),
			w.gangsAre("eight", "in a rack",
				func(gang *scheduler.PodGang) bool { return constraints(gang)[""] == "h100."+w.Name+"/rack," }),
			w.stands("eight", h100), w.hasKept("eight", &placed))).
		Teardown(w.remove)
}
