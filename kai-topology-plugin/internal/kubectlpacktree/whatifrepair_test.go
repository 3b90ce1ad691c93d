package kubectlpacktree

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/live"
	"packtree.dev/kai-topology-plugin/internal/place"
	"packtree.dev/kai-topology-plugin/internal/repair"
	"packtree.dev/kai-topology-plugin/internal/testsupport"
	"packtree.dev/shared/packing"
)

func manifestOf(name, rack string) string {
	return fmt.Sprintf("---\n"+
		`{apiVersion: v1, kind: Node, metadata: {name: %[1]s, labels: {rack: %[2]s, kubernetes.io/hostname: %[1]s}},
 status: {allocatable: {nvidia.com/gpu: "4", pods: "9"}}}`+"\n", name, rack)
}

// gangOn is a gang of one pod of four devices, on a node if one is named, in one rack.
func gangOn(name, node string, priority int) string {
	return fmt.Sprintf("---\n"+`{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {name: %[1]s},
 spec: {minMember: 1, topologyConstraint: {topology: t, requiredTopologyLevel: rack}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: %[1]s-0, annotations: {pod-group-name: %[1]s}},
 spec: {nodeName: "%[2]s", priority: %[3]d, containers: [{name: c, image: c, resources: {requests: {nvidia.com/gpu: "4"}}}]}}`+"\n", name, node, priority)
}

const racksOnly = "---\n{apiVersion: kai.scheduler/v1alpha1, kind: Topology, metadata: {name: t}, spec: {levels: " +
	"[{nodeLabel: rack}]}}\n"

// TestWhatIfForetells has a rack of two nodes, and one of one.
func TestWhatIfForetells(t *testing.T) {
	cluster := racksOnly + manifestOf("n1", "r1") + manifestOf("n2", "r1") + manifestOf("n3", "r2")
	for name, test := range map[string]struct {
		cluster, asked string
		want           []string
	}{
		"a gang that takes the last way out of another": {
			cluster + gangOn("stands", "n1", 0) + gangOn("fills", "n3", 0), gangOn("comes", "", 0),
			[]string{"worse default/fills [node n3 r2 (rack)]", "worse default/stands [node n1]",
				"new default/comes [node n2 r1 (rack)]"},
		},
		"a gang that leaves one": {
			cluster + gangOn("stands", "n1", 0), gangOn("comes", "", 0), []string{"worse default/stands [r1 (rack)]"},
		},
		"one that does not fit takes nothing": {
			cluster + gangOn("a", "n1", 0) + gangOn("b", "n2", 0) + gangOn("c", "n3", 0), gangOn("comes", "", 0), nil,
		},
		"what others take that are decided first is not its doing": {
			cluster + gangOn("stands", "n1", 0) + gangOn("first", "", 9), gangOn("comes", "", 0),
			[]string{
				"worse default/first [node n2 r1 (rack)]", "worse default/stands [node n1]",
				"new default/comes [node n3 r2 (rack)]",
			},
		},
		"nodes give ways out": {
			cluster + gangOn("a", "n1", 0) + gangOn("b", "n2", 0) + gangOn("c", "n3", 0), manifestOf("n4", "r2"),
			[]string{"better default/a [node n1 r1 (rack)]", "better default/b [node n2]", "better default/c [node n3]"},
		},
		"nodes that somebody who waits takes give none": {
			cluster + gangOn("a", "n1", 0) + gangOn("b", "n2", 0) + gangOn("c", "n3", 0) + gangOn("waits", "", 0),
			manifestOf("n4", "r2"),
			[]string{"new default/waits [node n4 r2 (rack)]"},
		},
		"a gang that is rendered again has the ways out of its new place": {
			cluster + gangOn("moves", "n3", 0) + gangOn("a", "n1", 0), gangOn("moves", "", 0),
			[]string{"worse default/moves [r1 (rack)]", "better default/a [r1 (rack)]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			read, asked := &live.Cluster{Inventory: testsupport.Inventory(t, test.cluster)}, testsupport.Inventory(t, test.asked)
			merged := read.Merge(asked)
			question := questionOf(merged, asked, metav1.Now())
			past := remember(read.Inventory, question)
			if _, err := place.Decide(t.Context(), merged, question.turns, packing.Options{}, question.unasked); err != nil {
				t.Fatal(err)
			}
			p, command := &plugin{now: time.Now}, &cobra.Command{}
			command.SetContext(t.Context())
			command.SetErr(&bytes.Buffer{})
			compared, err := p.compareRepairability(command, past.inventory(), merged)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, part := range []struct {
				what    string
				exposed []repair.Exposure
			}{{"worse", compared.Worse}, {"better", compared.Better}, {"new", compared.New}} {
				for _, one := range part.exposed {
					got = append(got, fmt.Sprint(part.what, " ", one.Gang, " ", one.Failures))
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDrawComparison(t *testing.T) {
	rack := func(names ...string) (failures []repair.Failure) {
		for _, name := range names {
			failures = append(failures, repair.Failure{Level: "rack", Domain: name})
		}
		return failures
	}
	var many []repair.Exposure
	for i := range maxLines + 1 {
		many = append(many, repair.Exposure{Gang: fmt.Sprint("d/g", i), Failures: rack("r")})
	}
	for name, test := range map[string]struct {
		compared repair.Comparison
		want     string
	}{
		"nothing": {want: "Repairability:\n  no gang loses a way out of a failure, or gets one\n"},
		"each kind": {
			repair.Comparison{
				Worse: []repair.Exposure{{Gang: "d/a", Failures: rack("1")},
					{Gang: "d/b", Failures: rack("1", "2", "3", "4", "5")}},
				Better: []repair.Exposure{{Gang: "d/c", Failures: rack("1", "2")}},
				New:    []repair.Exposure{{Gang: "d/d", Failures: rack("1", "2", "3", "4")}},
			},
			"Repairability:\n  this leaves 2 gangs without a way out that had one:\n    d/a, if 1 (rack) fails\n" +
				"    d/b, if 1 (rack), 2 (rack), 3 (rack) or 2 more domains fails\n" +
				"  this gives 1 gang a way out that had none:\n    d/c, if 1 (rack) or 2 (rack) fails\n" +
				"  1 gang would stand anew and be lost:\n    d/d, if 1 (rack), 2 (rack), 3 (rack) or 1 more domain fails\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, drawComparison(&test.compared)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	lines := bytes.Count([]byte(drawComparison(&repair.Comparison{Worse: many})), []byte("\n"))
	if lines != maxLines+3 {
		t.Errorf("of %d gangs are %d lines", len(many), lines)
	}
}
