package life_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"

	"packtree.dev/e2e/placement"
	"packtree.dev/e2e/suites/internal/suite"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// statefulSet has a StatefulSet with pods that come again under their names. The pod grouper may be killed.
func statefulSet(w *world) *features.FeatureBuilder {
	w.Operator, w.Shown = podGrouper, "podgroups.scheduling.run.ai,statefulsets"
	var stood []string
	return features.New("statefulset").
		Setup(w.create).
		Assess("all pods stand in one rack", suite.AllOf(
			w.Applies("deployments/statefulset.yaml"), w.TheOperatorDies, w.standInOneRack(2, &stood))).
		Assess("a pod that was deleted comes again where the others stand", suite.AllOf(
			w.WhileTheOperatorIsDead(w.Kubectl("delete", "pod", "db-1")), w.standInOneRack(2, &stood))).
		Assess("a further pod joins them", suite.AllOf(
			w.WhileTheOperatorIsDead(w.Kubectl("scale", "statefulset", "db", "--replicas=3")),
			w.standInOneRack(3, &stood))).
		Assess("a StatefulSet of the same name begins anew", suite.AllOf(
			w.WhileTheOperatorIsDead(w.Kubectl("delete", "statefulset", "db", "--cascade=foreground"),
				w.Applies("deployments/statefulset.yaml")),
			w.standInOneRack(2, new([]string)), w.hasOnePodGroup)).
		Teardown(w.remove)
}

// standInOneRack waits until so many pods stand in one rack, by the labels of the nodes alone: in the one that is
// remembered, unless that is none yet.
func (w *world) standInOneRack(count int, remembered *[]string) types.StepFunc {
	rack := placement.Workload{Object: "db", Claims: []placement.Claim{{Group: "db", Pods: count,
		Selects: func(pod *corev1.Pod) bool { return pod.Labels["app"] == "db" },
		Level:   placement.Level{Called: "rack", Path: []string{w.Name + "/zone", w.Name + "/block", w.Name + "/rack"}},
	}}}
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, fmt.Sprintf("%d pods stand in one rack", count), func(ctx context.Context) (bool, string, error) {
			standing, err := cluster.Standing(ctx, w.Name)
			if err != nil {
				return false, "", err
			}
			finding := rack.Judge(standing.Pods, standing.Nodes)[0]
			if !finding.Held() || finding.Bound != count {
				return false, finding.String(), nil
			}
			if *remembered == nil {
				*remembered = finding.Domains
			}
			return slices.Equal(finding.Domains, *remembered), fmt.Sprintf("they stood in %v: %s", *remembered,
				finding), nil
		})
		return ctx
	}
}

// hasOnePodGroup waits until the only PodGroup is that of the present StatefulSet.
func (w *world) hasOnePodGroup(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	uid := w.Answer(ctx, t, "get", "statefulset", "db", "-o", "jsonpath={.metadata.uid}")
	w.Until(ctx, t, "there is one PodGroup, for two pods, of "+uid, func(ctx context.Context) (bool, string, error) {
		var groups scheduling.PodGroupList
		err := cluster.List(ctx, &groups, client.InNamespace(w.Name))
		if err != nil || len(groups.Items) != 1 {
			return false, fmt.Sprintf("there are %d", len(groups.Items)), err
		}
		group := groups.Items[0]
		least := group.Spec.MinMember
		return group.Name == "pg-db-"+uid && len(group.OwnerReferences) == 1 &&
				string(group.OwnerReferences[0].UID) == uid && least != nil && *least == 2,
			fmt.Sprintf("%s of %v", group.Name, group.OwnerReferences), nil
	})
	return ctx
}
