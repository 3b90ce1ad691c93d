package repair_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/repair"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// BenchmarkAllSingleFailures foretells every failure of a node, rack and block of 5,000 nodes of eight devices (18 to a
// rack, 16 racks to a block) with 300 gangs of eight subgroups of four nodes each, of which every subgroup needs a rack and
// the gang a block. A rack holds four subgroups and has two nodes to spare.
func BenchmarkAllSingleFailures(b *testing.B) {
	cluster := read(b, site(5000, 300))
	for b.Loop() {
		forecaster, err := repair.New(b.Context(), cluster)
		if err != nil {
			b.Fatal(err)
		}
		lost, moved := 0, 0
		for _, failure := range repair.Failures(cluster) {
			forecast, err := forecaster.Foretell(b.Context(), failure)
			if err != nil {
				b.Fatal(err)
			}
			lost += len(forecast.Lost)
			moved += len(forecast.MendedByMoving)
		}
		b.ReportMetric(float64(lost), "lost")
		b.ReportMetric(float64(moved), "moves")
	}
}

// BenchmarkLostRack plans what becomes of the gangs of a rack of 18 nodes.
func BenchmarkLostRack(b *testing.B) {
	cluster := read(b, site(5000, 300))
	forecaster, err := repair.New(b.Context(), cluster)
	if err != nil {
		b.Fatal(err)
	}
	for _, failure := range repair.Failures(cluster) {
		if failure.Domain != "b0/b0r0" {
			continue
		}
		for b.Loop() {
			if _, err := forecaster.Foretell(b.Context(), failure); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkPlans plans what is moved for the gangs that have lost two of the four nodes of each of the four subgroups of a rack of
// 18 nodes, a copy of the cluster included.
func BenchmarkPlans(b *testing.B) {
	cluster := read(b, site(5000, 300))
	failed := map[string]bool{}
	for _, name := range []string{"n0", "n1", "n4", "n5", "n8", "n9", "n12", "n13"} {
		failed["b0-b0r0-"+name] = true
	}
	cluster.Nodes = slices.DeleteFunc(cluster.Nodes, func(node *corev1.Node) bool { return failed[node.Name] })
	for _, pod := range cluster.Pods {
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Owner", Name: "o", UID: "o", Controller: new(true)}}
		if failed[pod.Spec.NodeName] {
			pod.Spec.NodeName = ""
		}
	}
	asked := allMay(cluster, scheduling.RepairMoveGang)[:1]
	for b.Loop() {
		plans, err := repair.Plans(b.Context(), cluster, repair.Rules{}, asked)
		if err != nil || len(plans) != 1 {
			b.Fatal(plans, err)
		}
		for _, plan := range plans {
			b.ReportMetric(float64(len(plan.Leaving)), "leaving")
		}
	}
}

func site(size, gangs int) string {
	const perRack, racksPerBlock = 18, 16
	var text strings.Builder
	text.WriteString(topology)
	names := make([]string, size)
	for i := range names {
		rack := i / perRack
		block := rack / racksPerBlock
		names[i] = fmt.Sprintf("b%d-b%[1]dr%d-n%d", block, rack%racksPerBlock, i%perRack)
		text.WriteString(node(names[i], 8))
	}
	racks := size / perRack
	for g := range gangs {
		var subGroups []string
		for s := range 8 {
			subGroups = append(subGroups, fmt.Sprintf("{name: s%d, minMember: 4, %s}", s, oneRack))
		}
		at, blockRacks := g*8/4, racks/racksPerBlock*racksPerBlock
		if at+2 > blockRacks {
			break
		}
		fmt.Fprint(&text, podGroup(fmt.Sprint("g", g), "subGroups: ["+strings.Join(subGroups, ", ")+"], "+oneZone))
		for s := range 8 {
			first := (at+s/4)*perRack + s%4*4
			text.WriteString(pods(fmt.Sprint("g", g), fmt.Sprint("s", s), 8, names[first:first+4]...))
		}
	}
	return text.String()
}
