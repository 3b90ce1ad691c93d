package topologies_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/suites/internal/suite"
	grove "packtree.dev/shared/api/grove/v1alpha1"
)

// retry has a set wait in vain in one segment and change to the other one, where it runs and stays.
func retry(w *world) *features.FeatureBuilder {
	var placed standing
	return features.New("retry").
		Setup(w.create).
		Setup(w.bothTopologies).
		Assess("eight pods find no GB200 rack",
			suite.AllOf(w.Applies("eight-in-a-rack.yaml"), w.waits("eight"), w.follows("eight", w.gb200()))).
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

// turnsInARace changes the topology of a set to and fro while both segments get room for it, until the first pod is
// placed.
func turnsInARace(w *world) *features.FeatureBuilder {
	return features.New("turns in a race").
		Setup(w.create).
		Setup(w.bothTopologies).
		Assess("ten pods find no rack", suite.AllOf(w.Applies("ten-in-a-rack.yaml"), w.waits("ten"))).
		Assess("racks with room come while it turns, until it is refused",
			suite.AllOf(w.turnsUntilRefused("ten", suite.AllOf(
				w.nodesCome(rack{gb200, "b", "2", "1", 5, 2}), w.nodesCome(rack{h100, "b", "", "2", 5, 2}))),
				w.TheOperatorDies)).
		Assess("all of it stands in one rack, of the topology that its gang names", w.standsWhereItsGangSays("ten")).
		Teardown(w.remove)
}

// turnsUntilRefused changes a set between two topologies, and does something after the first change.
func (w *world) turnsUntilRefused(set string, meanwhile types.StepFunc) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		turns := 0
		w.Until(ctx, t, "a turn is refused", func(ctx context.Context) (bool, string, error) {
			output, err := cluster.Kubectl(ctx, w.Name, turning(set, []string{w.h100(), w.gb200()}[turns%2])...)
			if err == nil {
				turns++
			}
			if err == nil && turns == 1 {
				meanwhile(ctx, t, config)
			}
			return err != nil && strings.Contains(output, "of the set are scheduled"),
				fmt.Sprintf("%d turns; %s", turns, output), nil
		})
		t.Logf("%d turns", turns)
		return ctx
	}
}

// standsWhereItsGangSays waits until a set of one gang is ready, and checks that all its pods are placed under the
// topology of its gang. If that is not the one that the set names, pods were bound during the change, and the set says
// so.
func (w *world) standsWhereItsGangSays(name string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
		w.isReady(name)(ctx, t, config)
		gangs, err := w.gangs(ctx, name)
		w.Must(ctx, t, err)
		segment := strings.TrimPrefix(gangs[0].Annotations[grove.AnnotationTopologyName], w.Name+"-")
		if stands := w.segmentsOf(ctx, t, name); !slices.Equal(stands, []string{segment}) {
			t.Errorf("%s stands in %v, and its gang names the topology of %s\n%s", name, stands, segment, w.Report(ctx))
		}
		set, err := w.set(ctx, name)
		w.Must(ctx, t, err)
		kept := meta.IsStatusConditionTrue(set.Status.Conditions, grove.ConditionTopologyKept)
		if named := set.Spec.Template.ClusterTopologyName; (named != w.Name+"-"+segment) != kept {
			t.Errorf("the set names %s, its gang the topology of %s, and TopologyKept is %v\n%s", named, segment, kept,
				w.Report(ctx))
		}
		for _, finding := range w.findings(ctx, t, name) {
			if !finding.Held() {
				t.Errorf("broken: %s\n%s", finding, w.Report(ctx))
			}
		}
		return ctx
	}
}
