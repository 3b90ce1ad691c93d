package catalog_test

import (
	"testing"

	"packtree.dev/podgrouper/internal/groupers/replicas"
)

func TestReplicas(t *testing.T) {
	checkGroups(t, replicas.Grouper, map[string]groupCase{
		"any replica of a Deployment may start": {
			Manifest: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {kai.scheduler/topology: network, kai.scheduler/topology-required-placement: zone}}
spec: {replicas: 3}`,
			Want:     `{minMember: 1, topologyConstraint: {topology: network, requiredTopologyLevel: zone}}`,
			Expected: `{"":3}`,
		},
		"unless it asks for more": {
			Manifest: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {kai.scheduler/batch-min-member: "3"}}
spec: {replicas: 3}`,
			Want: `minMember: 3`,
		},
		"but not for more than it has": {
			Manifest: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {kai.scheduler/batch-min-member: "3"}}
spec: {}`,
			Want:     `minMember: 3`,
			Expected: `{"":1}`,
			Problems: []string{
				`metadata.annotations[kai.scheduler/batch-min-member]: Invalid value: "3": at most 1 run at a time, so that none ever starts: lower it, or raise spec.replicas`,
			},
		},
		"a StatefulSet that makes all of its pods at once": {
			Manifest: `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, annotations: {kai.scheduler/batch-min-member: "3"}}
spec: {replicas: 3, podManagementPolicy: Parallel}`,
			Want: `minMember: 3`,
		},
		"a StatefulSet that makes them one by one": {
			Manifest: `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, annotations: {kai.scheduler/batch-min-member: "3"}}
spec: {replicas: 3}`,
			Want:     `minMember: 1`,
			Expected: `{"":3}`,
			Problems: []string{
				`metadata.annotations[kai.scheduler/batch-min-member]: Invalid value: "3": the StatefulSet makes its pods one after the other: give it spec.podManagementPolicy Parallel; 1 is used instead`,
			},
		},
	})
}
