package capacity_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/scheduler/capacity"
	"packtree.dev/shared/packing"
)

const gpu = "example.com/gpu"

func labels(zone, rack string) map[string]string {
	found := map[string]string{}
	if zone != "" {
		found["zone"] = zone
	}
	if rack != "" {
		found["rack"] = rack
	}
	return found
}

func TestReport(t *testing.T) {
	nodes := []capacity.Node{
		{
			Labels: labels("z1", "r1"), Usable: true,
			Allocatable: packing.Resources{gpu: 8, "cpu": 4000, "pods": 110},
			Used:        packing.Resources{gpu: 3, "cpu": 500, "pods": 1},
		},
		// More than there is counts as all of it.
		{Labels: labels("z1", "r2"), Usable: true, Allocatable: packing.Resources{gpu: 4}, Used: packing.Resources{gpu: 5}},
		{Labels: labels("z1", "r2"), Allocatable: packing.Resources{gpu: 4}},
		{Labels: labels("z1", ""), Usable: true, Allocatable: packing.Resources{gpu: 2}},
		{Labels: labels("", "r2"), Usable: true, Allocatable: packing.Resources{gpu: 2}},
	}
	topologies := map[string][]string{"t": {"zone", "rack"}}
	want := []capacity.Level{
		{Topology: "t", Key: "zone", Count: 1, Largest: resources(7, 14, 3.5, 4), Domains: []capacity.Domain{
			{Path: "z1", Resources: resources(7, 14, 3.5, 4)},
		}},
		{Topology: "t", Key: "rack", Count: 2, Largest: resources(5, 8, 3.5, 4), Domains: []capacity.Domain{
			{Path: "z1/r1", Resources: resources(5, 8, 3.5, 4)},
			{Path: "z1/r2", Resources: resources(0, 4, 0, 0)},
		}},
	}
	assert.Empty(t, cmp.Diff(want, capacity.Report(topologies, nodes, capacity.Bounds{PerLevel: 2, InAll: 3})),
		"(-want +got)")
	want[1].Domains = nil
	for name, bounds := range map[string]capacity.Bounds{
		"a level of too many domains is not listed":      {PerLevel: 1, InAll: 3},
		"nor one for which there is no room in the list": {PerLevel: 2, InAll: 2},
	} {
		assert.Empty(t, cmp.Diff(want, capacity.Report(topologies, nodes, bounds)), "%s (-want +got)", name)
	}
}

func resources(freeGPU, gpus, freeCPU, cpu float64) []capacity.Resource {
	return []capacity.Resource{{Name: gpu, Free: freeGPU, Offered: gpus}, {Name: "cpu", Free: freeCPU, Offered: cpu}}
}

func TestDevicesComeFirstAndNotEverythingIsToldOf(t *testing.T) {
	allocatable := packing.Resources{"memory": 1, "cpu": 1000, "pods": 110, "ephemeral-storage": 1, "hugepages-2Mi": 1}
	for i := range 6 {
		allocatable[fmt.Sprintf("example.com/device-%d", i)] = 1
	}
	nodes := []capacity.Node{{Labels: labels("z", ""), Usable: true, Allocatable: allocatable}}
	var told []string
	for _, resource := range capacity.Report(map[string][]string{"t": {"zone"}}, nodes, everything)[0].Largest {
		told = append(told, strings.TrimPrefix(resource.Name, "example.com/"))
	}
	want := strings.Fields("device-0 device-1 device-2 device-3 device-4 device-5 cpu memory")
	assert.True(t, slices.Equal(
		told, want), "told of %v, not of %v", told, want)
}

var everything = capacity.Bounds{PerLevel: 100, InAll: 1000}

// What is reported of a level adds up to what its nodes have, and to what is reported of the level above as far as
// labels go.
func TestLevelsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]string{"", "1", "2", "3"})
		nodes := make([]capacity.Node, rapid.IntRange(1, 12).Draw(t, "nodes"))
		inZone, inRack := map[string]float64{}, map[string]float64{}
		for i := range nodes {
			zone, rack := value.Draw(t, "zone"), value.Draw(t, "rack")
			offered, used := rapid.Int64Range(0, 8).Draw(t, "gpus"), rapid.Int64Range(0, 9).Draw(t, "used")
			nodes[i] = capacity.Node{
				Labels: labels(zone, rack), Usable: rapid.Bool().Draw(t, "usable"),
				Allocatable: packing.Resources{gpu: offered}, Used: packing.Resources{gpu: used},
			}
			free := float64(max(0, offered-used))
			if !nodes[i].Usable {
				free = 0
			}
			if zone != "" {
				inZone[zone] += free
			}
			if zone != "" && rack != "" {
				inRack[zone+"/"+rack] += free
			}
		}
		report := capacity.Report(map[string][]string{"t": {"zone", "rack"}}, nodes, everything)
		for i, want := range []map[string]float64{inZone, inRack} {
			got, most := map[string]float64{}, 0.0
			for _, domain := range report[i].Domains {
				got[domain.Path] = domain.Resources[0].Free
				most = max(most, domain.Resources[0].Free)
			}
			require.Empty(t, cmp.Diff(want, got), "free at level %s (-want +got)", report[i].Key)
			if report[i].Count != len(want) || report[i].Largest[0].Free != most {
				t.Fatalf("level %s: %d domains, at most %v free", report[i].Key, report[i].Count, report[i].Largest[0].Free)
			}
		}
	})
}
