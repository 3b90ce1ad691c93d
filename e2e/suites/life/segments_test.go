package life_test

import (
	"context"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
)

// bothTopologies makes the two of testdata/topologies.yaml and waits until both can be used.
func (w *segmentWorld) bothTopologies(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	return suite.AllOf(w.Applies("segments/topologies.yaml"),
		w.topologyIs(w.h100(), w.Name+"/zone", "h100."+w.Name+"/rack", "kubernetes.io/hostname"),
		w.topologyIs(w.gb200(), w.Name+"/zone", "gb200."+w.Name+"/block", "gb200."+w.Name+"/rack",
			"kubernetes.io/hostname"),
	)(ctx, t, config)
}

func (w *segmentWorld) h100() string  { return w.Name + "-" + h100 }
func (w *segmentWorld) gb200() string { return w.Name + "-" + gb200 }

// segments are sets for two networks in one cluster, which only the topologies of the sets distinguish.
func segments(w *segmentWorld) *features.FeatureBuilder {
	var placed standing
	return features.New("segments").
		Setup(w.create).
		Assess("two topologies are made", w.bothTopologies).
		Assess("each set stands in its own segment and domains", suite.AllOf(
			w.Applies("segments/segments.yaml"), w.TheOperatorDies, w.stands("on-h100", h100), w.stands("on-gb200", gb200))).
		Assess("the gangs name their topologies",
			suite.AllOf(w.follows("on-h100", w.h100()), w.follows("on-gb200", w.gb200()))).
		Assess("who uses what is readable", suite.AllOf(
			w.Reads("1", "ct", w.h100(), "{.status.inUse}"),
			w.Reads("12 12 4 1", "ct", w.gb200(),
				"{.status.nodes} {.status.levels[1].nodes} {.status.levels[2].domainCount} {.status.inUse}"),
			w.Shows([]string{w.h100(), "zone,rack,host", w.gb200(), "zone,block,rack,host"}, "get", "ct"),
			w.Shows([]string{w.h100(), w.gb200()}, "get", "pcs"),
			w.Shows([]string{w.h100(), w.gb200()}, "get", "pg"))).
		Assess("another replica has a rack of its own in the same segment", suite.AllOf(
			w.remembers("on-h100", &placed), w.Kubectl("scale", "pcs/on-h100", "--replicas=2"), w.TheOperatorDies,
			w.stands("on-h100", h100), w.hasKept("on-h100", &placed))).
		Teardown(w.remove)
}

// turns is kubectl patch of the topology that a set names.
func (w *segmentWorld) turns(set, topology string) types.StepFunc {
	return w.Kubectl(turning(set, topology)...)
}

func turning(set, topology string) []string {
	return []string{"patch", "pcs", set, "--type=merge", "--patch",
		`{"spec":{"template":{"clusterTopologyName":"` + topology + `"}}}`}
}
