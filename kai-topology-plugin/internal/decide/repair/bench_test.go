package repair_test

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/repair"
	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// BenchmarkWithoutARack plans for the gangs of a rack of 18 nodes, of 5,000 nodes of eight devices (18 to a rack, 16
// racks to a block) with 136 gangs of eight subgroups of four nodes each: every subgroup needs a rack and the gang a
// block. A rack holds four subgroups and has two nodes to spare.
func BenchmarkWithoutARack(b *testing.B) {
	cluster := siteOf(b, siteFrom(0, 5000, 300))
	rack := nodesOf(cluster, "b0/b0r0")
	for b.Loop() {
		losses, err := repair.Without(b.Context(), cluster, rack)
		require.NoError(b, err)
		b.ReportMetric(float64(len(losses)), "gangs")
	}
}

// BenchmarkPlans plans what is moved for the gangs that have lost two of the four nodes of each of the four subgroups
// of a rack of 18 nodes, on a copy of the cluster that has followed everything but one pod.
func BenchmarkPlans(b *testing.B) {
	cluster := siteOf(b, siteFrom(0, 5000, 300))
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
	planAgain(b, cluster, allMay(cluster, scheduling.RepairMoveGang)[:1])
}

// BenchmarkPlansForALostRack plans the moves of six gangs after the loss of a rack of 18 nodes. Each gang had a
// subgroup on three of them, and has another one in the next rack. No other rack of their block has more than two free
// nodes. Three of the gangs go to another block, and the others into the room that those leave.
func BenchmarkPlansForALostRack(b *testing.B) {
	const hit = 6
	var text strings.Builder
	text.WriteString(siteFrom(2, 5000, 120))
	for g := range hit {
		name := fmt.Sprint("hit", g)
		const three = "minMember: 3, " + oneRack
		fmt.Fprint(&text, podGroup(name, "subGroups: [{name: s0, "+three+"}, {name: s1, "+three+"}], "+oneZone))
		for s := range 2 {
			var on []string
			for i := range 3 {
				on = append(on, fmt.Sprintf("b0-b0r%d-n%d", s, 3*g+i))
			}
			text.WriteString(pods(name, fmt.Sprint("s", s), 8, on...))
		}
	}
	cluster := siteOf(b, text.String())
	lost := func(node string) bool { return strings.HasPrefix(node, "b0-b0r0-") }
	cluster.Nodes = slices.DeleteFunc(cluster.Nodes, func(node *corev1.Node) bool { return lost(node.Name) })
	for _, pod := range cluster.Pods {
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Owner", Name: "o", UID: "o", Controller: new(true)}}
		if lost(pod.Spec.NodeName) {
			pod.Spec.NodeName = ""
		}
	}
	asked := slices.DeleteFunc(allMay(cluster, scheduling.RepairMoveGang), func(one repair.Asked) bool {
		return !strings.HasPrefix(one.Gang.Name, "hit")
	})
	planAgain(b, cluster, asked)
}

// planAgain plans on a copy of a cluster that has followed everything but one pod. It reports how many pods are to
// leave, and the time of the processor that a plan takes beside the clock's.
func planAgain(b *testing.B, cluster *inventory.Inventory, asked []repair.Asked) {
	var copied turns.Copy
	began := usedTime(b)
	for b.Loop() {
		last := &cluster.Pods[len(cluster.Pods)-1]
		*last = (*last).DeepCopy()
		err := copied.On(b.Context(), cluster, func(table *turns.Table) error {
			plans, err := repair.Plans(b.Context(), table, repair.Rules{}, asked)
			leaving := 0
			for _, plan := range plans {
				leaving += len(plan.Leaving)
			}
			b.ReportMetric(float64(leaving), "leaving")
			require.Len(b, plans, len(asked))
			return err
		})
		require.NoError(b, err)
	}
	b.ReportMetric(float64((usedTime(b)-began).Milliseconds())/float64(b.N), "cpu-ms/op")
}

// usedTime is the time of processors that this process has used.
func usedTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// siteOf reads a site, with pods as an API server has them: what their versions are known to ask for is not read again.
func siteOf(t testing.TB, text string) *inventory.Inventory {
	cluster := read(t, text)
	for _, pod := range cluster.Pods {
		pod.ResourceVersion = "1"
	}
	return cluster
}

// siteFrom is the manifests of a site, with gangs from some rack on.
func siteFrom(first, size, gangs int) string {
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
		at, blockRacks := first+g*8/4, racks/racksPerBlock*racksPerBlock
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
