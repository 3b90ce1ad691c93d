package inventory_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/shared/manifests"
)

// written by KAI's own programs: conditions without reason, message and time, fields that ours do not have.
const byKAI = `
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: pg-train-1}
spec: {minMember: 1, queue: default-queue}
status:
  phase: Running
  conditions: [{type: Ready, status: "True", transitionID: "3"}]
  schedulingConditions:
    - {type: UnschedulableOnNodePool, nodePool: a, status: "True", message: no room, reasons: [{reason: Unschedulable, message: no room, details: {queueDetails: {}}}]}
  resourcesStatus: {allocated: {cpu: "1"}, allocatedNonPreemptible: {cpu: "1"}, requested: {cpu: "1"}}
`

func read(t *testing.T, manifest string) (*inventory.Inventory, []manifests.Finding) {
	t.Helper()
	documents, findings := manifests.Parse("in", []byte(manifest))
	require.Empty(t, findings)
	return inventory.Read(documents)
}

func TestAStatusIsReadAsItIs(t *testing.T) {
	cluster, findings := read(t, byKAI)
	require.Empty(t, findings)
	require.Len(t, cluster.PodGroups, 1)
	status := cluster.PodGroups[0].Status
	if len(status.Conditions) != 1 || len(status.SchedulingConditions) != 1 ||
		status.SchedulingConditions[0].Message != "no room" ||
		status.ResourcesStatus.Allocated.Cpu().Value() != 1 {
		t.Errorf("status: %+v", status)
	}
	cluster, findings = read(t,
		"apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: g}\nspec: {minMember: 1}\nstatus: "+
			"{conditions: none}\n")
	assert.Empty(t, findings, "of another form, %+v", cluster.PodGroups[0].Status)
	assert.Empty(t, cluster.PodGroups[0].Status.Conditions, "of another form, %+v", cluster.PodGroups[0].Status)
	_, findings = read(t,
		"apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: g}\nspec: {minMembr: 1}\nstatus: "+
			"{}\n")
	assert.NotEmpty(t, findings, "a spec is judged as before")
}

func TestCopiesOfAPodAreTwoPods(t *testing.T) {
	cluster, findings := read(t, `
{apiVersion: v1, kind: Pod, metadata: {name: a, uid: x}, spec: {containers: [{name: c, image: i}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b, uid: x}, spec: {containers: [{name: c, image: i}]}}
`)
	require.Empty(t, findings)
	require.Len(t, cluster.Pods, 2)
	assert.NotEqual(t, cluster.Pods[0].UID, cluster.Pods[1].UID)
}
