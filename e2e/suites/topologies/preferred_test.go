package topologies_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
	scheduler "packtree.dev/shared/api/grovescheduler/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// preferred follows preferences at three levels from the user's object through PodGang and PodGroup to the nodes.
func preferred(w *world) *features.FeatureBuilder {
	zone, block, rack := w.Name+"/zone", "gb200."+w.Name+"/block", "gb200."+w.Name+"/rack"
	wishes := map[string]string{"": "," + zone, "prefers-0-model-0": zone + "," + block, "prefers-0-cache": "," + rack}
	return features.New("preferred").
		Setup(w.create).
		Setup(w.bothTopologies).
		Assess("the gang has the wishes of set, group and clique", suite.AllOf(w.Applies("prefers.yaml"),
			w.TheOperatorDies, w.gangsAre("prefers", fmt.Sprint(wishes),
				func(gang *scheduler.PodGang) bool { return maps.Equal(constraints(gang), wishes) }))).
		Assess("so has the PodGroup", w.podGroupAsks("prefers-0", w.gb200(), wishes)).
		Assess("all of it runs in as few domains as there can be",
			suite.AllOf(w.stands("prefers", gb200), w.domains("prefers", map[string]int{
				"few of zone": 1, "one zone": 1, "few of block": 1, "few of rack": 2,
			}))).
		Teardown(w.remove)
}

// podGroupAsks waits until the PodGroup of a gang has such levels of a topology, by the group that each is for.
func (w *world) podGroupAsks(gang, topology string, wanted map[string]string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, fmt.Sprintf("the PodGroup of %s asks for %v", gang, wanted),
			func(ctx context.Context) (bool, string, error) {
				var groups scheduling.PodGroupList
				if err := cluster.List(ctx, &groups, client.InNamespace(w.Name)); err != nil {
					return false, "", err
				}
				found := map[string]string{}
				add := func(name string, constraint *scheduling.TopologyConstraint) {
					if constraint != nil && constraint.Topology == topology {
						found[name] = constraint.RequiredTopologyLevel + "," + constraint.PreferredTopologyLevel
					}
				}
				for i := range groups.Items {
					if strings.HasPrefix(groups.Items[i].Name, gang) {
						add("", groups.Items[i].Spec.TopologyConstraint)
						for _, group := range groups.Items[i].Spec.SubGroups {
							add(group.Name, group.TopologyConstraint)
						}
					}
				}
				return maps.Equal(found, wanted), fmt.Sprint(found), nil
			})
		return ctx
	}
}

// domains checks in how many domains the constraints of a set are met, by wish.
func (w *world) domains(name string, wanted map[string]int) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		found := map[string]int{}
		for _, finding := range w.findings(ctx, t, name) {
			wish := "one " + finding.Level.Called
			if finding.Preferred {
				wish = "few of " + finding.Level.Called
			}
			found[wish] = len(finding.Domains)
		}
		if !maps.Equal(found, wanted) {
			t.Errorf("%s stands in %v domains, not in %v\n%s", name, found, wanted, w.Report(ctx))
		}
		return ctx
	}
}
