package catalog_test

import (
	"testing"

	"packtree.dev/podgrouper/internal/groupers/leaderworkerset"
)

func TestLeaderWorkerSet(t *testing.T) {
	checkGroups(t, leaderworkerset.Grouper, map[string]groupCase{
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
			Want:     `{minSubGroup: 1, subGroups: [{name: group-0, minMember: 1}]}`,
			Expected: `{"group-0":4}`,
		},
		"a group that stands alone in a domain starts with its leader": {
			Manifest: `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: vllm, annotations: {leaderworkerset.sigs.k8s.io/exclusive-topology: rack}}
spec: {leaderWorkerTemplate: {size: 4}}`,
			Want:     `{minSubGroup: 1, subGroups: [{name: group-0, minMember: 1}]}`,
			Expected: `{"group-0":4}`,
		},
		"while a new version is rolled out there are more groups": {
			Manifest: `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: vllm}
spec: {replicas: 2, rolloutStrategy: {rollingUpdateConfiguration: {maxSurge: 30%}}, leaderWorkerTemplate: {size: 2}}`,
			Want: `
minSubGroup: 1
subGroups: [{name: group-0, minMember: 2}, {name: group-1, minMember: 2}, {name: group-2, minMember: 2}]`,
			Expected: `{"group-2":0}`,
		},
		"but no more than twice as many": {
			Manifest: `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: vllm}
spec: {replicas: 1, rolloutStrategy: {rollingUpdateConfiguration: {maxSurge: 5}}, leaderWorkerTemplate: {size: 2}}`,
			Want:     `{minSubGroup: 1, subGroups: [{name: group-0, minMember: 2}, {name: group-1, minMember: 2}]}`,
			Expected: `{"group-1":0}`,
		},
		"subgroups, the leader in the first, each in a rack and the group in a block": {
			Manifest: `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: tpu}
spec:
  leaderWorkerTemplate:
    size: 9
    subGroupPolicy: {subGroupSize: 4}
    leaderTemplate: {metadata: {annotations: {kai.scheduler/topology: network, kai.scheduler/topology-required-placement: block}}}
    workerTemplate: {metadata: {annotations: {kai.scheduler/topology: network, kai.scheduler/topology-required-placement: rack}}}`,
			Want: `
minSubGroup: 1
subGroups:
- {name: group-0, topologyConstraint: {topology: network, requiredTopologyLevel: block}}
- {name: group-0-subgroup-0, parent: group-0, minMember: 5, topologyConstraint: {topology: network, requiredTopologyLevel: rack}}
- {name: group-0-subgroup-1, parent: group-0, minMember: 4, topologyConstraint: {topology: network, requiredTopologyLevel: rack}}`,
		},
		"subgroups into which leader and workers are divided": {
			Manifest: `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: tpu}
spec: {startupPolicy: LeaderReady, leaderWorkerTemplate: {size: 8, subGroupPolicy: {subGroupSize: 4, subGroupPolicyType: LeaderWorker}}}`,
			Want: `
minSubGroup: 1
subGroups:
- {name: group-0}
- {name: group-0-subgroup-0, parent: group-0, minMember: 1}
- {name: group-0-subgroup-1, parent: group-0, minMember: 0}`,
			Expected: `{"group-0-subgroup-0":4,"group-0-subgroup-1":4}`,
		},
		"subgroups of workers alone": {
			Manifest: `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: tpu}
spec: {leaderWorkerTemplate: {size: 5, subGroupPolicy: {subGroupSize: 2, subGroupPolicyType: LeaderExcluded}}}`,
			Want: `
minSubGroup: 1
subGroups:
- {name: group-0}
- {name: group-0-leader, parent: group-0, minMember: 1}
- {name: group-0-subgroup-0, parent: group-0, minMember: 2}
- {name: group-0-subgroup-1, parent: group-0, minMember: 2}`,
		},
		"two templates that contradict each other": {
			Manifest: `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: vllm}
spec:
  leaderWorkerTemplate:
    size: 2
    leaderTemplate: {metadata: {annotations: {kai.scheduler/topology: network, kai.scheduler/topology-required-placement: block}}}
    workerTemplate: {metadata: {annotations: {kai.scheduler/topology: network, kai.scheduler/topology-required-placement: rack}}}`,
			Want: `
minSubGroup: 1
subGroups: [{name: group-0, minMember: 2, topologyConstraint: {topology: network, requiredTopologyLevel: block}}]`,
			Problems: []string{
				`spec.leaderWorkerTemplate.workerTemplate.metadata.annotations: Forbidden: a group stands as the leaderTemplate says: say it there alone, or give the group a subGroupPolicy`,
			},
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

func TestLeaderWorkerSetLeaf(t *testing.T) {
	set := func(policy string) string {
		return "{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: {name: s}, spec: " +
			"{leaderWorkerTemplate: {size: 5, " + policy + "}}}"
	}
	labels := func(group, subgroup, worker string) map[string]string {
		labels := map[string]string{"leaderworkerset.sigs.k8s.io/name": "s"}
		for key, value := range map[string]string{"group-index": group, "subgroup-index": subgroup,
			"worker-index": worker} {
			if value != "" {
				labels["leaderworkerset.sigs.k8s.io/"+key] = value
			}
		}
		return labels
	}
	whole, excluded := set(""), set("subGroupPolicy: {subGroupSize: 2, subGroupPolicyType: LeaderExcluded}")
	for _, c := range []struct {
		manifest string
		labels   map[string]string
		want     string
	}{
		{whole, labels("1", "", "0"), "group-1"},
		{whole, labels("1", "", "3"), "group-1"},
		{whole, labels("", "", ""), ""},
		{excluded, labels("1", "", "0"), "group-1-leader"},
		{excluded, labels("1", "1", "3"), "group-1-subgroup-1"},
		{excluded, labels("1", "", "3"), ""},
		{set("subGroupPolicy: {subGroupSize: 2}"), labels("0", "0", "0"), "group-0-subgroup-0"},
		{set("subGroupPolicy: {subGroupSize: 2}"), labels("0", "", "0"), ""},
	} {
		checkLeafIn(t, leaderworkerset.Grouper, c.manifest, c.labels, c.want)
	}
}
