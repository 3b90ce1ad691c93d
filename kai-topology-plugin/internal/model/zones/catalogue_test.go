package zones_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/model/zones"
)

func named(t testing.TB, name string, policy zones.Policy, available string) *zones.Node {
	t.Helper()
	object := topology(string(policy), "4 gpu | "+available)
	object.SetName(name)
	n, err := zones.Read(object)
	require.NoError(t, err)
	return n
}

func TestCatalogueTellsWhatChanged(t *testing.T) {
	var c zones.Catalogue
	changes := func(since int, want []string, wantAll bool) int {
		t.Helper()
		nodes, all, now := c.Changes(since)
		assert.True(t, slices.Equal(nodes, want), "since %d: %q, all %t; want %q, %t", since, nodes, all, want, wantAll)
		assert.Equal(t, wantAll, all, "since %d: %q, all %t; want %q, %t", since, nodes, all, want, wantAll)
		return now
	}
	assert.Zero(t, changes(0, nil, false), "an empty catalogue has a version")
	c.Set(named(t, "b", zones.SingleNUMA, "4 gpu"))
	first := changes(0, nil, true)
	c.Set(named(t, "b", zones.SingleNUMA, "4 gpu"))
	changes(first, nil, false)
	c.Set(named(t, "b", zones.SingleNUMA, "3 gpu"))
	c.Set(named(t, "a", "none", "4 gpu"))
	c.Remove("b")
	changes(first, []string{"a", "b"}, false)
	changes(first+1000, nil, true)
	if c.Enforcing() != 0 || c.Node("b") != nil || c.Node("a") == nil {
		t.Error("node a should be left")
	}
	for i := range 10_000 {
		c.Set(named(t, "a", zones.SingleNUMA, fmt.Sprint(i, " gpu")))
	}
	if changes(first, nil, true); c.Enforcing() != 1 {
		t.Errorf("%d nodes enforce, want 1", c.Enforcing())
	}
}

func TestCatalogueForgets(t *testing.T) {
	var c zones.Catalogue
	c.Set(named(t, "a", zones.SingleNUMA, "4 gpu"))
	held := in(1, 0, "1 gpu")
	for i := range 3000 {
		c.Hold("a", types.UID(fmt.Sprint(i)), held)
		c.Hold("unknown", types.UID(fmt.Sprint("u", i)), held)
		c.Avoid(fmt.Sprint(i), "a")
	}
	if _, ok := c.Held("7"); !ok || c.AvoidsAny("7") || !c.Avoids("2999", "a") {
		t.Error("it should know the zones of each pod, and what the last thousand owners avoid")
	}
	c.Set(named(t, "a", zones.SingleNUMA, "3 gpu"))
	if _, ok := c.Held("7"); !ok || c.AvoidsAny("2999") {
		t.Error("what is available changes no pod's zones, and ends that a node is avoided")
	}
	for i := range 2000 {
		c.Release(types.UID(fmt.Sprint(i)))
	}
	c.Avoid("gang", "a")
	c.Remove("a")
	assert.Zero(t, c.Size(), "entries are left")
}

func TestAnAbsentCatalogueKnowsNothing(t *testing.T) {
	var c *zones.Catalogue
	_, held := c.Held("uid")
	if _, all, _ := c.Changes(0); all || held || c.Node("a") != nil || c.Enforcing() != 0 || c.Avoids("o", "a") || c.AvoidsAny("o") {
		t.Error("it knows something")
	}
}

func TestAnOutdatedObjectIsNotBelieved(t *testing.T) {
	var c zones.Catalogue
	pods := created(pod("x", "3 gpu"))
	is := func(when, want string) {
		t.Helper()
		held, _ := c.Usage("a", pods).HeldBy(pods[0].UID)
		got := held.In(c.Node("a"))
		assert.Equal(t, []string{want}, got, "%s: the pod is in %q, want %s", when, got, want)
	}
	report := func(policy string) { c.Set(node(t, policy, "4 gpu | 4 gpu", "4 gpu | 1 gpu")) }
	report("single-numa-node pod")
	is("as it is reported", "node-1")
	c.Outdate("a")
	is("a pod has come or left since", "node-0")
	report("single-numa-node pod")
	is("an object that says the same is the same", "node-0")
	report("single-numa-node container")
	is("another one is of now", "node-1")
}

func TestZonesOfPodsThatLeft(t *testing.T) {
	var c zones.Catalogue
	c.Set(named(t, "a", zones.SingleNUMA, "4 gpu"))
	for i := range 2000 {
		uid := types.UID(fmt.Sprint(i))
		c.Hold("a", uid, in(1, 0, "1 gpu"))
		c.Leave(uid)
		c.Leave(uid)
		c.Leave("unheard of")
	}
	_, first := c.Held("0")
	_, last := c.Held("1999")
	if first || !last || c.Size() > 1100 {
		t.Errorf("the first is known: %t, the last: %t; %d entries", first, last, c.Size())
	}
}
