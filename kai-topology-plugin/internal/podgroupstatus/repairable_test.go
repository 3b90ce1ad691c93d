package podgroupstatus_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/podgroupstatus"
)

func TestRepairable(t *testing.T) {
	const mendable = "any one node or domain may fail: there would be a place for all pods of the gang"
	scheduled := metav1.Condition{
		Type: "Scheduled", Status: "True", Reason: "Placed", ObservedGeneration: 3, LastTransitionTime: before,
	}
	said := func(status metav1.ConditionStatus, reason, message string, since metav1.Time) *metav1.Condition {
		return &metav1.Condition{
			Type: "Repairable", Status: status, Reason: reason, Message: message, ObservedGeneration: 3, LastTransitionTime: since,
		}
	}
	yes := said("True", "Mendable", mendable, before)
	no := said("False", "LostWithNode", "if node n1 failed, there would be no place for the gang, even if all its pods moved", before)
	for name, test := range map[string]struct {
		present    *metav1.Condition
		standing   int
		foretold   *gangstate.Repairability
		unforetold bool
		want       *metav1.Condition
	}{
		"nobody foretells anything":                  {standing: 2},
		"nor does anybody any more":                  {present: yes, standing: 2},
		"each failure is mended":                     {standing: 2, foretold: &gangstate.Repairability{}, want: said("True", "Mendable", mendable, now)},
		"and was before":                             {present: yes, standing: 2, foretold: &gangstate.Repairability{}, want: yes},
		"a node's is not":                            {present: no, standing: 2, foretold: &gangstate.Repairability{LostWith: "node n1", Node: true}, want: no},
		"nothing is known yet, and nothing was":      {standing: 2, unforetold: true},
		"nothing is known yet, what was said stays":  {present: no, standing: 2, unforetold: true, want: no},
		"it has lost a pod, whatever was said":       {present: no, standing: 1, unforetold: true},
		"it has lost a pod, whatever was foretold":   {present: yes, standing: 1, foretold: &gangstate.Repairability{}},
		"it lacked pods when failures were foretold": {present: yes, standing: 2},
		"no node's failure loses it, but a domain's": {
			present: no, standing: 2, foretold: &gangstate.Repairability{LostWith: "z/r1 (rack)"},
			want: said("False", "LostWithDomain", "if z/r1 (rack) failed, there would be no place for the gang, even if all its pods moved", before),
		},
		"it has lost its way out": {
			present: yes, standing: 2, foretold: &gangstate.Repairability{LostWith: "node n2", Node: true},
			want: said("False", "LostWithNode", "if node n2 failed, there would be no place for the gang, even if all its pods moved", now),
		},
	} {
		t.Run(name, func(t *testing.T) {
			seen := observed(t, 2, test.standing, 0)
			status := &seen.Gang.PodGroup.Status
			status.Conditions = []metav1.Condition{scheduled}
			if test.present != nil {
				status.Conditions = append(status.Conditions, *test.present)
			}
			seen.Repairability, seen.Unforetold = test.foretold, test.unforetold
			desired := podgroupstatus.Of(seen, now)
			if diff := cmp.Diff(test.want, desired.Repairable); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			written := desired.Status()
			if got := len(written.Conditions); (got == 2) != (test.want != nil) {
				t.Errorf("%d conditions are written", got)
			}
			if desired.Differs(&written) {
				t.Error("what was written would be written again")
			}
			changed := cmp.Diff(test.present, test.want) != ""
			if test.standing == 2 {
				written.Conditions = status.Conditions
				if desired.Differs(&written) != changed {
					t.Errorf("it is written: %v, want %v", !changed, changed)
				}
			}
		})
	}
}
