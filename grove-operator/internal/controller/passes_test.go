package controller

import (
	"testing"

	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"
)

func TestPassesAreAsManyAsTheLargestControllerHasWorkers(t *testing.T) {
	syncs := func(set, group, podClique, gang int32) groveconfigv1alpha1.ControllersConfiguration {
		of := func(count int32) groveconfigv1alpha1.ControllerConfiguration {
			return groveconfigv1alpha1.ControllerConfiguration{ConcurrentSyncs: &count}
		}
		return groveconfigv1alpha1.ControllersConfiguration{
			PodCliqueSet: of(set), PodCliqueScalingGroup: of(group), PodClique: of(podClique), PodGang: of(gang),
		}
	}
	for name, c := range map[string]struct {
		syncs groveconfigv1alpha1.ControllersConfiguration
		want  int
	}{
		"of PodCliqueSets":          {syncs(5, 1, 4, 1), 5},
		"of PodCliqueScalingGroups": {syncs(1, 5, 4, 1), 5},
		"of PodCliques":             {syncs(2, 2, 4, 2), 4},
		"of PodGangs":               {syncs(1, 1, 1, 9), 9},
		"one of each":               {syncs(1, 1, 1, 1), 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := passes(c.syncs); got != c.want {
				t.Errorf("%d passes at a time, want %d", got, c.want)
			}
		})
	}
}
