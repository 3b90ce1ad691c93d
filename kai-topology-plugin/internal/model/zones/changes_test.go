package zones_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"packtree.dev/kai-topology-plugin/internal/model/zones"
	"packtree.dev/shared/packing"
)

func reported(policy zones.Policy, available ...int64) *zones.Node {
	node := &zones.Node{Name: "n", Policy: policy}
	for i, amount := range available {
		node.Zones = append(node.Zones, zones.Zone{
			Name:        []string{"node-0", "node-1"}[i],
			Allocatable: packing.Resources{"example.com/gpu": 4}, Available: packing.Resources{"example.com/gpu": amount},
		})
	}
	return node
}

// What an agent reports of use all the time is no reason to try pods again.
func TestWhatMayHelpIsARuleOrRoom(t *testing.T) {
	full, fuller, effort := reported(zones.SingleNUMA, 4, 4), reported(zones.SingleNUMA, 4, 1), reported("best-effort", 4, 4)
	for name, c := range map[string]struct {
		before, after   *zones.Node
		sameRule, freer bool
	}{
		"another amount in use": {full, fuller, true, false},
		"another policy":        {full, effort, false, true},
		"the first report":      {nil, full, false, false},
		"none any more":         {full, nil, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.sameRule, c.after.SameRule(c.before), "the same rule")
			assert.Equal(t, c.freer, c.after.Usage(nil, nil).FreerThan(c.before.Usage(nil, nil)))
		})
	}
}

func TestANodeIsReopenedOnceForGangsThatAvoidIt(t *testing.T) {
	catalogue := &zones.Catalogue{}
	catalogue.Set(reported(zones.SingleNUMA, 4, 4))
	_, _, seen := catalogue.Changes(0)
	catalogue.Avoid("gang", "n")
	assert.False(t, catalogue.Reopened(seen), "it is open")
	assert.True(t, catalogue.Avoids("gang", "n"), "it is open")
	catalogue.Set(reported(zones.SingleNUMA, 4, 3))
	assert.True(t, catalogue.Reopened(seen), "it is closed")
	assert.False(t, catalogue.Avoids("gang", "n"), "it is closed")
	_, _, seen = catalogue.Changes(seen)
	catalogue.Set(reported(zones.SingleNUMA, 4, 2))
	assert.False(t, catalogue.Reopened(seen), "it is reopened although nothing avoids it")
}

func TestAFieldOfAnotherTypeIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		fields map[string]any
		want   string
	}{
		"a number for zones":       {map[string]any{"zones": int64(5)}, `zones: Invalid value: "number": is no value of this field`},
		"a map for attributes":     {map[string]any{"attributes": map[string]any{"a": "b"}}, `attributes: Invalid value: "object"`},
		"a number for a zone":      {map[string]any{"zones": []any{int64(1)}}, `zones: Invalid value: "number"`},
		"a list for a zone's name": {map[string]any{"zones": []any{map[string]any{"name": []any{}}}}, `zones.name: Invalid value: "array"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := zones.Read(&unstructured.Unstructured{Object: c.fields})
			assert.ErrorContains(t, err, c.want)
		})
	}
}
