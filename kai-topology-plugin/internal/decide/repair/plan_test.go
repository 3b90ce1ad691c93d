package repair_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/decide/preemption"
	"packtree.dev/kai-topology-plugin/internal/decide/repair"
	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/repairpolicy"
)

// owned reads a cluster of pods with a controller, a UID and the label gang.
func owned(t testing.TB, text string) *inventory.Inventory {
	cluster := read(t, text)
	for _, pod := range cluster.Pods {
		pod.UID = types.UID(pod.Name)
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Owner", Name: "o", UID: "o", Controller: ptr.To(true)}}
		pod.Labels["gang"] = pod.Annotations[scheduling.AnnotationPodGroupName]
	}
	return cluster
}

// allMay asks about all gangs with one policy.
func allMay(cluster *inventory.Inventory, move string) (asked []repair.Asked) {
	for _, podGroup := range cluster.PodGroups {
		asked = append(asked, repair.Asked{Gang: gang.KeyOfPodGroup(podGroup), Policy: repairpolicy.Policy{Move: move}})
	}
	return asked
}

func plansOf(t testing.TB, cluster *inventory.Inventory, rules repair.Rules, asked []repair.Asked) map[gang.Key]repair.Plan {
	t.Helper()
	table, err := turns.Set(t.Context(), cluster)
	require.NoError(t, err)
	plans, err := repair.Plans(t.Context(), table, rules, asked)
	require.NoError(t, err)
	return plans
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// planned is each plan in words, by gang.
func planned(plans map[gang.Key]repair.Plan) (words []string) {
	for _, key := range slices.SortedFunc(maps.Keys(plans), func(a, b gang.Key) int { return strings.Compare(a.Name, b.Name) }) {
		plan := plans[key]
		sentence := plan.Sentence(noon)
		if plan.Reason == "" {
			sentence = "nobody moves"
		}
		if len(plan.Leaving) > 0 {
			sentence += ":"
		}
		for _, pod := range plan.Leaving {
			sentence += " -" + pod.Name
		}
		var seats []string
		for _, seat := range plan.Seats {
			seats = append(seats, " +"+seat.Node)
		}
		slices.Sort(seats)
		words = append(words, key.Name+": "+sentence+strings.Join(seats, ""))
	}
	return words
}

const (
	twoInRack = "minMember: 2, " + oneRack
	racks3    = "subGroups: [{name: a, minMember: 2, " + oneRack + "}, {name: b, minMember: 2, " + oneRack + "}], " + oneZone
)

func TestPlans(t *testing.T) {
	racks := topology + nodes(4, "z-r1-n1", "z-r2-n1", "z-r2-n2")
	group, all, none := scheduling.RepairMoveSubGroup, scheduling.RepairMoveGang, scheduling.RepairMoveNone
	hurt := podGroup("g", twoInRack) + pods("g", "", 4, "z-r1-n1", "")
	three := racks + nodes(4, "z-r3-n1", "z-r3-n2") + podGroup("g", racks3) + pods("g", "a", 4, "z-r1-n1", "") + pods("g", "b", 4, "z-r3-n1", "z-r3-n2")
	budget := func(allowed int32, labels map[string]string) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "keep"},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
		}
	}
	ofG := map[string]string{"gang": "g"}
	for name, c := range map[string]struct {
		cluster, move string
		change        func(*inventory.Inventory)
		rules         repair.Rules
		want          []string
	}{
		"a gang goes where there is room": {cluster: racks + hurt, move: all,
			want: []string{"g: will move the whole gang (1 pod) from l/rack z/r1 to z/r2 at 2026-01-01T12:00:00Z: -g-0 +z-r2-n1 +z-r2-n2"}},
		"a policy for subgroups does not move a gang": {cluster: racks + hurt, move: group,
			want: []string{"g: moving the whole gang (1 pod) from l/rack z/r1 to z/r2 would help, which annotation packtree.dev/repair-move: gang would allow"}},
		"no policy moves nothing": {cluster: racks + hurt, want: []string{
			"g: moving the whole gang (1 pod) from l/rack z/r1 to z/r2 would help, which annotation packtree.dev/repair-move: gang would allow"}},
		"only the subgroup moves that lost a pod": {cluster: three, move: all,
			want: []string{"g: will move subgroup a (1 pod) from l/rack z/r1 to z/r2 at 2026-01-01T12:00:00Z: -ga-0 +z-r2-n1 +z-r2-n2"}},
		"none says which subgroup would": {cluster: three, move: none,
			want: []string{"g: moving subgroup a (1 pod) from l/rack z/r1 to z/r2 would help, which annotation packtree.dev/repair-move: subgroup would allow"}},
		"nobody moves where the lost one has a place": {cluster: racks + nodes(4, "z-r1-n2") + hurt, move: all, want: []string{"g: nobody moves"}},
		"no rung without all seats": {cluster: topology + nodes(4, "z-r1-n1", "z-r2-n1") + hurt, move: all,
			want: []string{"g: no placement was found for the gang, even if all its pods moved"}},
		"two gangs are not told of the same room": {
			cluster: racks + nodes(4, "z-r3-n1") + hurt + podGroup("h", twoInRack) + pods("h", "", 4, "z-r3-n1", ""), move: all,
			want: []string{"g: will move the whole gang (1 pod) from l/rack z/r1 to z/r2 at 2026-01-01T12:00:00Z: -g-0 +z-r2-n1 +z-r2-n2",
				"h: no placement was found for the gang, even if all its pods moved"}},
		"what one leaves is room for another": {
			cluster: topology + nodes(4, "z-r1-n1", "z-r1-n2", "z-r2-n1", "z-r2-n2", "z-r3-n1") + podGroup("g", "minMember: 3, "+oneRack) + pods("g", "", 2, "z-r1-n1", "z-r1-n2", "") +
				podGroup("u", "minMember: 1") + pods("u", "", 2, "z-r1-n1") + podGroup("v", "minMember: 1") + pods("v", "", 2, "z-r1-n2") +
				podGroup("h", "minMember: 2, "+oneRack) + pods("h", "", 2, "z-r3-n1", "") + podGroup("w", "minMember: 1") + pods("w", "", 2, "z-r3-n1"), move: all,
			want: []string{"g: will move the whole gang (2 pods) from l/rack z/r1 to z/r2 at 2026-01-01T12:00:00Z: -g-0 -g-1 +z-r2-n1 +z-r2-n1 +z-r2-n2",
				"h: will move the whole gang (1 pod) from l/rack z/r3 to z/r1 at 2026-01-01T12:00:00Z: -h-0 +z-r1-n1 +z-r1-n2"}},
		"a budget forbids": {cluster: racks + hurt, move: all, rules: repair.Rules{Budgets: preemption.BudgetsOf([]*policyv1.PodDisruptionBudget{budget(0, ofG)})},
			want: []string{"g: moving the whole gang (1 pod) from l/rack z/r1 to z/r2 would help, but PodDisruptionBudget default/keep does not allow the eviction of all these pods"}},
		"a budget allows": {cluster: racks + hurt, move: all, rules: repair.Rules{Budgets: preemption.BudgetsOf([]*policyv1.PodDisruptionBudget{budget(1, ofG)})},
			want: []string{"g: will move the whole gang (1 pod) from l/rack z/r1 to z/r2 at 2026-01-01T12:00:00Z: -g-0 +z-r2-n1 +z-r2-n2"}},
		"two budgets for one pod forbid": {cluster: racks + hurt, move: all, rules: repair.Rules{
			Budgets: preemption.BudgetsOf([]*policyv1.PodDisruptionBudget{budget(5, ofG), budget(5, ofG)})},
			want: []string{"g: moving the whole gang (1 pod) from l/rack z/r1 to z/r2 would help, but PodDisruptionBudget default/keep does not allow the eviction of all these pods"}},
		"a budget is shared by all plans": {
			cluster: racks + nodes(4, "z-r3-n1", "z-r4-n1", "z-r4-n2") + hurt + podGroup("h", twoInRack) + pods("h", "", 4, "z-r3-n1", ""), move: all,
			change: func(cluster *inventory.Inventory) {
				for _, pod := range cluster.Pods {
					pod.Labels["gang"] = "g"
				}
			},
			rules: repair.Rules{Budgets: preemption.BudgetsOf([]*policyv1.PodDisruptionBudget{budget(1, ofG)})},
			want: []string{"g: will move the whole gang (1 pod) from l/rack z/r1 to z/r2 at 2026-01-01T12:00:00Z: -g-0 +z-r2-n1 +z-r2-n2",
				"h: moving the whole gang (1 pod) from l/rack z/r3 to z/r4 would help, but PodDisruptionBudget default/keep does not allow the eviction of all these pods"}},
		"a larger move where a budget forbids the smaller": {
			cluster: topology + nodes(3, "z-r1-n1", "z-r1-n2", "z-r2-n1") +
				podGroup("g", `subGroups: [{name: a, minMember: 3, `+oneRack+`}, {name: b, minMember: 2, `+oneRack+`}]`) +
				pods("g", "a", 1, "z-r1-n2", "z-r1-n2", "") + pods("g", "b", 1, "z-r1-n2", ""), move: group,
			change: func(cluster *inventory.Inventory) {
				cluster.Nodes = slices.DeleteFunc(cluster.Nodes, func(node *corev1.Node) bool { return node.Name == "z-r1-n1" })
				for _, pod := range cluster.Pods {
					pod.Labels["leaf"] = gang.LeafOf(pod)
				}
			},
			rules: repair.Rules{Budgets: preemption.BudgetsOf([]*policyv1.PodDisruptionBudget{budget(0, map[string]string{"leaf": "b"})})},
			want:  []string{"g: will move subgroup a (2 pods) from l/rack z/r1 to z/r2 at 2026-01-01T12:00:00Z: -ga-0 -ga-1 +z-r1-n2 +z-r2-n1 +z-r2-n1 +z-r2-n1"}},
		"a pod that nobody makes again stays": {cluster: racks + hurt, move: all,
			change: func(cluster *inventory.Inventory) { cluster.Pods[0].OwnerReferences = nil },
			want:   []string{"g: moving the whole gang (1 pod) from l/rack z/r1 to z/r2 would help, but pod g-0 has no controller that creates it again"}},
		"a pod stays of which a claim may be of no use elsewhere": {cluster: racks + hurt, move: all,
			rules: repair.Rules{Tied: func(pod *corev1.Pod) string {
				if pod.Name == "g-1" {
					return "volume claim v"
				}
				return ""
			}},
			want: []string{"g: moving the whole gang (1 pod) from l/rack z/r1 to z/r2 might help, but it is not known whether volume claim v of pod g-1 can be used there"}},
		"pods that are about to be stopped count as lost": {
			cluster: racks + nodes(4, "z-r2-n3") + podGroup("g", "minMember: 3, "+oneRack) + pods("g", "", 2, "z-r1-n1", "z-r1-n1", ""), move: all,
			change: func(cluster *inventory.Inventory) {
				cluster.Nodes[0].Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
					{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule}}
				for _, pod := range cluster.Pods {
					pod.Spec.Tolerations = []corev1.Toleration{{
						Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](300),
					}}
				}
			},
			want: []string{"g: nobody moves"}},
		"pods that are about to be stopped leave with their group": {
			cluster: racks + nodes(4, "z-r1-n2") + podGroup("g", "minMember: 3, "+oneRack) + pods("g", "", 2, "z-r1-n1", "z-r1-n2", ""), move: all,
			change: func(cluster *inventory.Inventory) {
				cluster.Nodes[0].Spec.Taints = []corev1.Taint{{Key: "broken", Effect: corev1.TaintEffectNoExecute}}
				cluster.Nodes[3].Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("2")
			},
			want: []string{"g: will move the whole gang (1 pod) from l/rack z/r1 to z/r2 at 2026-01-01T12:00:00Z: -g-1 -g-0 +z-r2-n1 +z-r2-n1 +z-r2-n2"}},
		"a pod on a node that is gone is lost": {
			cluster: racks + podGroup("g", "minMember: 3, "+oneRack) + pods("g", "", 2, "z-r1-n1", "z-r1-n9", ""), move: all,
			want: []string{"g: will move the whole gang (1 pod) from l/rack z/r1 to z/r2 at 2026-01-01T12:00:00Z: -g-0 -g-1 +z-r2-n1 +z-r2-n1 +z-r2-n2"}},
		"a gang without all its pods has no plan":       {cluster: racks + podGroup("g", "minMember: 3, "+oneRack) + pods("g", "", 4, "z-r1-n1", ""), move: all},
		"a gang that stands nowhere has no plan":        {cluster: racks + podGroup("g", twoInRack) + pods("g", "", 4, "", ""), move: all},
		"a gang that waits for nobody moves for nobody": {cluster: racks + podGroup("g", twoInRack) + pods("g", "", 4, "z-r2-n1", "z-r2-n2"), move: all},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := owned(t, c.cluster)
			if c.change != nil {
				c.change(cluster)
			}
			assert.Empty(t, cmp.Diff(c.want, planned(plansOf(t, cluster, c.rules, allMay(cluster, c.move)))))
		})
	}
}

// What is held is confirmed although another place would be chosen now, and not where it is no place any more.
func TestSeatsThatAreHeldAreConfirmed(t *testing.T) {
	text := topology + nodes(4, "z-r1-n1", "z-r2-n1", "z-r2-n2", "z-r3-n1", "z-r3-n2") + podGroup("g", twoInRack) + pods("g", "", 4, "z-r1-n1", "")
	key := gang.Key{Namespace: "default", Name: "g"}
	first := plansOf(t, owned(t, text), repair.Rules{}, allMay(owned(t, text), "gang"))[key]
	elsewhere := "z-r3"
	if strings.HasPrefix(first.Seats[0].Node, elsewhere) {
		elsewhere = "z-r2"
	}
	for name, c := range map[string]struct {
		more      string
		held      []string
		confirmed bool
		stays     bool
	}{
		"they are good":            {held: []string{"-n1", "-n2"}, confirmed: true},
		"one is taken":             {more: pods("x", "", 1, elsewhere+"-n2"), held: []string{"-n1", "-n2"}},
		"one is missing":           {held: []string{"-n1"}},
		"there are too many":       {held: []string{"-n1", "-n2", "-n2"}},
		"the lost pod has a place": {more: nodes(4, "z-r1-n2"), held: []string{"-n1", "-n2"}, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := owned(t, text+c.more)
			asked := allMay(cluster, "gang")
			for i, node := range c.held {
				like := cluster.Pods[0].DeepCopy()
				like.UID, like.Name = types.UID(fmt.Sprint(i)), fmt.Sprint(i)
				asked[0].Held = append(asked[0].Held, gangstate.Placement{Pod: like, Node: elsewhere + node})
			}
			plan := plansOf(t, cluster, repair.Rules{}, asked)[key]
			require.Equal(t, c.stays, plan.Reason == "", "got %+v", plan)
			require.Equal(t, c.confirmed, plan.Confirmed, "got %+v", plan)
			if !c.stays && c.confirmed != strings.HasPrefix(plan.Seats[0].Node, elsewhere) {
				t.Errorf("seats on %s", plan.Seats[0].Node)
			}
		})
	}
}

// Nodes fail and their pods are made again: what is planned is what was said before, and no more moves than has to.
func TestPlansAreWhatWasSaidBefore(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := rapid.Custom(drawPuzzle).Filter(func(p *puzzle) bool {
			return len(p.on[0]) > 0 && len(p.on[1]) > 0 // A subgroup without pods needs none.
		}).Draw(r, "puzzle")
		cluster := owned(t, p.manifests())
		var failed []string
		for _, node := range p.nodes {
			if rapid.Bool().Draw(r, "fails") {
				failed = append(failed, node)
			}
		}
		said, err := repair.Without(t.Context(), cluster, failed)
		require.NoError(r, err)
		standing := 0
		cluster.Nodes = slices.DeleteFunc(cluster.Nodes, func(node *corev1.Node) bool { return slices.Contains(failed, node.Name) })
		for _, pod := range cluster.Pods {
			if slices.Contains(failed, pod.Spec.NodeName) {
				pod.Spec.NodeName, pod.Name = "", pod.Name+"-again"
				continue
			}
			standing++
		}
		plan, found := plansOf(t, cluster, repair.Rules{}, allMay(cluster, scheduling.RepairMoveGang))[gang.Key{Namespace: "default", Name: "g"}]
		if standing == 0 || standing == len(cluster.Pods) {
			require.False(r, found, "planned although %d of %d pods stand", standing, len(cluster.Pods))
			return
		}
		want, got := "in place", "in place"
		least, mended := p.leastMoved(failed)
		switch {
		case !mended:
			want = "no place"
		case least > 0:
			want = fmt.Sprintf("moves %d pods", least)
		}
		switch plan.Reason {
		case scheduling.ReasonNoPlace:
			got = "no place"
		case scheduling.ReasonMoveAhead:
			got = fmt.Sprintf("moves %d pods", len(plan.Leaving))
		}
		if before := said[0].Plan; got != want || plan.Reason != before.Reason || plan.What() != before.What() {
			r.Fatalf("%v failed: %s, want %s, said before: %+v\n%s", failed, got, want, before, p.manifests())
		}
		if plan.Reason == scheduling.ReasonMoveAhead && len(plan.Seats) != len(cluster.Pods)-standing+len(plan.Leaving) {
			r.Fatalf("%d seats for %d pods that leave", len(plan.Seats), len(plan.Leaving))
		}
	})
}
