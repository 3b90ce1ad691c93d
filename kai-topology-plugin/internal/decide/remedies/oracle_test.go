package remedies_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/decide/remedies"
	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/testsupport"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Whatever is said is done as a user would do it, by the words of the sentence alone. The gang then fits if that was
// promised, and does not if it was not. Less than what the sentence says is not enough.
func TestWhatIsSaidIsSo(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := drawCluster(rt)
		cluster := testsupport.Inventory(t, text)
		found, failing := findIn(t, cluster), false
		for _, remedy := range found {
			assert.False(rt, remedy.Fits && failing, "what helps comes after what does not: %v", found)
			failing = failing || !remedy.Fits
			got := fitsAfter(t, cluster, remedy.Change)
			assert.Equal(rt, remedy.Fits, got, "%s: fits is %t, said is %t\n%s", remedy.Change, got, remedy.Fits, text)
			if !remedy.Fits {
				continue
			}
			for _, less := range lessThan(remedy.Change) {
				assert.False(rt, fitsAfter(t, cluster, less), "said is %q, and this is enough: %q\n%s", remedy.Change, less, text)
			}
		}
	})
}

// Every taint that keeps the gang out by itself is named, with the number of nodes that have it. Cordoned nodes are
// named if all of them together would help.
func TestWhatWouldHelpIsSaid(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := drawCluster(rt)
		cluster := testsupport.Inventory(t, text)
		if decided(t, cluster) != scheduling.ReasonInfeasible {
			return
		}
		var said []string
		for _, remedy := range findIn(t, cluster) {
			if remedy.Fits {
				said = append(said, remedy.Change)
			}
		}
		var could []string
		for taint, nodes := range taintsOf(cluster) {
			plural := ""
			if nodes > 1 {
				plural = "s"
			}
			could = append(could, fmt.Sprintf("tolerate taint %s (on %d node%s)", taint, nodes, plural))
		}
		for _, change := range could {
			fits := fitsAfter(t, cluster, change)
			assert.Equal(rt, slices.Contains(said, change), fits, "%q helps is %t; said is %q\n%s", change, fits, said, text)
		}
		every := "uncordon " + strings.Join(cordonedIn(cluster), ", ")
		isUncordon := func(change string) bool { return strings.HasPrefix(change, "uncordon ") }
		if fits := fitsAfter(t, cluster, every); fits != slices.ContainsFunc(said, isUncordon) {
			rt.Errorf("%q helps is %t; said is %q\n%s", every, fits, said, text)
		}
	})
}

func cordonedIn(cluster *inventory.Inventory) (names []string) {
	for _, node := range cluster.Nodes {
		if node.Spec.Unschedulable {
			names = append(names, node.Name)
		}
	}
	return names
}

// taintsOf has the taints that pods could tolerate, each with how many nodes have it.
func taintsOf(cluster *inventory.Inventory) map[string]int {
	nodes := map[string]int{}
	for _, node := range cluster.Nodes {
		for _, taint := range node.Spec.Taints {
			if taint.Key == "team" {
				nodes[taint.ToString()]++
			}
		}
	}
	return nodes
}

// findIn returns the remedies for gang ask, which are the same when it is asked again.
func findIn(t *testing.T, cluster *inventory.Inventory) []remedies.Remedy {
	t.Helper()
	var found [2][]remedies.Remedy
	for i := range found {
		table := tableOf(t, cluster)
		answer, err := table.Decide(t.Context(), asking(cluster), 0)
		require.NoError(t, err)
		found[i], err = remedies.Find(t.Context(), cluster, table, asking(cluster), answer)
		require.NoError(t, err)
	}
	assert.True(t, slices.Equal(found[0], found[1]), "asked again, other remedies are found: %v, %v", found[0], found[1])
	return found[0]
}

func tableOf(t *testing.T, cluster *inventory.Inventory) *turns.Table {
	t.Helper()
	table, err := turns.Set(t.Context(), cluster)
	require.NoError(t, err)
	return table.KeepingRoom()
}

// decided is the verdict for gang ask.
func decided(t *testing.T, cluster *inventory.Inventory) string {
	t.Helper()
	answer, err := tableOf(t, cluster).Decide(t.Context(), asking(cluster), 0)
	require.NoError(t, err)
	return answer.Verdict
}

// fitsAfter reports whether gang ask fits when a change is made in the cluster.
func fitsAfter(t *testing.T, cluster *inventory.Inventory, change string) bool {
	t.Helper()
	for _, one := range sentences {
		words := one.pattern.FindStringSubmatch(change)
		if words == nil {
			continue
		}
		changed := copied(cluster)
		one.follow(changed, words)
		return decided(t, changed) == scheduling.ReasonPlaced
	}
	t.Fatalf("nobody can follow %q", change)
	return false
}

// copied is a cluster that can be changed.
func copied(cluster *inventory.Inventory) *inventory.Inventory {
	other := *cluster
	other.Nodes, other.Pods, other.PodGroups, other.Topologies = nil, nil, nil, map[string]*kai.Topology{}
	for _, node := range cluster.Nodes {
		other.Nodes = append(other.Nodes, node.DeepCopy())
	}
	for _, pod := range cluster.Pods {
		other.Pods = append(other.Pods, pod.DeepCopy())
	}
	for _, podGroup := range cluster.PodGroups {
		other.PodGroups = append(other.PodGroups, podGroup.DeepCopy())
	}
	for name, topology := range cluster.Topologies {
		other.Topologies[name] = topology.DeepCopy()
	}
	return &other
}
