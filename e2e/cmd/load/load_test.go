package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func TestGangsOfAWorkloadAreWholeAndNested(t *testing.T) {
	for name, test := range map[string]struct {
		gang, pods            int
		gangs, made, ofGroups int
	}{
		"small ones":                     {4, 8, 2, 8, 2},
		"the last one is not cut":        {64, 100, 2, 128, 2},
		"large ones have many groups":    {1000, 1000, 1, 1000, 10},
		"an odd one has unequal groups":  {5, 5, 1, 5, 2},
		"a group is not beyond its rack": {512, 512, 1, 512, 6},
	} {
		t.Run(name, func(t *testing.T) {
			groups, pods := gangs(test.gang, test.pods).objects("w", ours)
			first := groups[0].(*scheduling.PodGroup)
			if len(groups) != test.gangs || len(pods) != test.made || len(first.Spec.SubGroups) != test.ofGroups {
				t.Errorf("%d gangs of %d groups with %d pods", len(groups), len(first.Spec.SubGroups), len(pods))
			}
			assert.Empty(t, cmp.Diff(minima(groups), members(pods)), "pods (-wanted +made)")
		})
	}
}

func TestSchedulersGetTheSameGangsInOneDomain(t *testing.T) {
	for size, level := range map[int]string{4: rackLabel, 128: rackLabel, 129: blockLabel} {
		w := oneDomain(size, 1)
		groups, pods := w.objects("w", native)
		spec := groups[0].(*schedulingv1alpha2.PodGroup).Spec
		if int(spec.SchedulingPolicy.Gang.MinCount) != len(pods) || spec.SchedulingConstraints.Topology[0].Key != level {
			t.Errorf("%d pods for kube-scheduler: %+v", size, spec)
		}
		if name := pods[size-1].Spec.SchedulingGroup.PodGroupName; *name != groups[0].GetName() {
			t.Errorf("the last of %d pods is in group %s", size, *name)
		}
		groups, pods = w.objects("w", ours)
		own := groups[0].(*scheduling.PodGroup).Spec
		if int(*own.MinMember) != len(pods) || own.TopologyConstraint.RequiredTopologyLevel != level {
			t.Errorf("%d pods for ours: %+v", size, own)
		}
		if gang := pods[size-1].Annotations[scheduling.AnnotationPodGroupName]; gang != groups[0].GetName() {
			t.Errorf("the last of %d pods is in gang %s", size, gang)
		}
	}
}

func minima(groups []client.Object) map[string]int {
	found := map[string]int{}
	for _, group := range groups {
		for _, sub := range group.(*scheduling.PodGroup).Spec.SubGroups {
			found[group.GetName()+"/"+sub.Name] = int(*sub.MinMember)
		}
	}
	return found
}

func members(pods []*corev1.Pod) map[string]int {
	found := map[string]int{}
	for _, pod := range pods {
		found[pod.Annotations[scheduling.AnnotationPodGroupName]+"/"+pod.Labels[kai.LabelSubGroupName]]++
	}
	return found
}

func TestNodesStandInWholeRacks(t *testing.T) {
	racks := map[string]int{}
	for _, node := range nodes(2 * 300) {
		racks[node.Labels[zoneLabel]+"/"+node.Labels[blockLabel]+"/"+node.Labels[rackLabel]]++
	}
	partial := 0
	for _, count := range racks {
		if count != nodesPerRack {
			partial++
		}
	}
	// 300 nodes a zone are 18 racks and a part of one.
	if len(racks) != 2*19 || partial != 2 {
		t.Errorf("%d racks, %d of them not full: %v", len(racks), partial, racks)
	}
}

func TestAProcessSaysHowLongItComputed(t *testing.T) {
	for computed := 0.0; computed <= 0; { // The kernel counts hundredths of a second.
		var err error
		if computed, err = computedBy(os.Getpid()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReportHasMediansAndRatios(t *testing.T) {
	measured := &report{Machine: "m", Date: "d", Nodes: 7, QPS: 9}
	add := func(by scheduler, scenario, figure string, values ...float64) {
		for _, value := range values {
			measured.add(by, scenario, figure, value)
		}
	}
	add(unmodified, "plain pods", podsPerSecond, 90, 100, 500)
	add(ours, "gangs of 4", podsPerSecond, 100, 200)
	add(ours, "a gang of 50", "s", 1, 3, 0.5)
	add(unmodified, "beside 9", "MiB", 100)
	add(ours, "beside 9", "MiB", 120)
	add(native, "gangs of 4 in one rack", podsPerSecond, 40)
	add(ours, "gangs of 4 in one rack", podsPerSecond, 60)
	var out bytes.Buffer
	require.NoError(t, measured.Print(&out))
	for _, want := range []string{"100     1.00   90 100 500", "150     1.50   100 200", "1       -      1 3 0.5",
		"120     1.20   120", "60      1.50   60"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}
