package leaderworkerset_test

import (
	"testing"

	"packtree.dev/podgrouper/internal/groupers/groupertest"
	"packtree.dev/podgrouper/internal/groupers/leaderworkerset"
)

func TestGroup(t *testing.T) {
	groupertest.Groups(t, leaderworkerset.Grouper, map[string]groupertest.Case{
		"each group of a leader and three workers is a gang in a rack": {
			Manifest: `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata:
  name: vllm
  annotations: {kai.scheduler/topology: network, kai.scheduler/topology-preferred-placement: zone}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 4
    workerTemplate:
      metadata: {annotations: {kai.scheduler/topology: network, kai.scheduler/topology-required-placement: rack}}
      spec: {containers: [{name: vllm, image: vllm}]}`,
			Want: `
minSubGroup: 1
topologyConstraint: {topology: network, preferredTopologyLevel: zone}
subGroups:
- {name: group-0, minMember: 4, topologyConstraint: {topology: network, requiredTopologyLevel: rack}}
- {name: group-1, minMember: 4, topologyConstraint: {topology: network, requiredTopologyLevel: rack}}`,
		},
		"workers that come after their leader cannot be waited for": {
			Manifest: `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: vllm}
spec: {startupPolicy: LeaderReady, leaderWorkerTemplate: {size: 4}}`,
			Want: `{minSubGroup: 1, subGroups: [{name: group-0, minMember: 1}]}`,
		},
		"scaled to nothing": {
			Manifest: `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: vllm}
spec: {replicas: 0, leaderWorkerTemplate: {size: 4}}`,
			Want: `minMember: 0`,
		},
	})
}

func TestLeaf(t *testing.T) {
	groupertest.Leaf(t, leaderworkerset.Grouper, map[string]string{"leaderworkerset.sigs.k8s.io/group-index": "1"}, "group-1")
	groupertest.Leaf(t, leaderworkerset.Grouper, map[string]string{"leaderworkerset.sigs.k8s.io/name": "vllm"}, "")
}
