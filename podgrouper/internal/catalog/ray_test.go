package catalog_test

import (
	"testing"

	"packtree.dev/podgrouper/internal/groupers/ray"
)

func TestRay(t *testing.T) {
	checkGroups(t, ray.Grouper, map[string]groupCase{
		"a head and two worker groups": {
			Manifest: `
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray, annotations: {kai.scheduler/topology: network, kai.scheduler/topology-preferred-placement: zone}}
spec:
  headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: head, image: ray}]}}}
  workerGroupSpecs:
  - {groupName: cpu, replicas: 3, minReplicas: 1, maxReplicas: 5, template: {spec: {containers: [{name: w, image: ray}]}}}
  - groupName: tpu
    replicas: 2
    numOfHosts: 4
    template:
      metadata: {annotations: {kai.scheduler/topology: network, kai.scheduler/topology-required-placement: block}}
      spec: {containers: [{name: w, image: ray}]}`,
			Want: `
topologyConstraint: {topology: network, preferredTopologyLevel: zone}
subGroups:
- {name: headgroup, minMember: 1}
- {name: cpu, minMember: 3}
- {name: tpu, minMember: 8, topologyConstraint: {topology: network, requiredTopologyLevel: block}}`,
		},
		"what the autoscaler may remove cannot be asked for": {
			Manifest: `
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray}
spec:
  enableInTreeAutoscaling: true
  headGroupSpec: {}
  workerGroupSpecs: [{groupName: a, replicas: 3, minReplicas: 1}, {groupName: b, replicas: 2}]`,
			Want:     `subGroups: [{name: headgroup, minMember: 1}, {name: a, minMember: 1}, {name: b, minMember: 0}]`,
			Expected: `{"a":3,"b":2}`,
		},
		"a suspended group needs nothing": {
			Manifest: `
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray}
spec: {headGroupSpec: {}, workerGroupSpecs: [{groupName: a, replicas: 3, suspend: true}]}`,
			Want: `subGroups: [{name: headgroup, minMember: 1}, {name: a, minMember: 0}]`,
		},
		"the operator keeps to the bounds, and so does the gang": {
			Manifest: `
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray}
spec:
  headGroupSpec: {}
  workerGroupSpecs:
  - {groupName: few, replicas: 1, minReplicas: 2, maxReplicas: 4}
  - {groupName: many, replicas: 9, minReplicas: 2, maxReplicas: 4, numOfHosts: 2}
  - {groupName: crossed, replicas: 3, minReplicas: 4, maxReplicas: 1}`,
			Want: `
subGroups: [{name: headgroup, minMember: 1}, {name: few, minMember: 2}, {name: many, minMember: 8}, {name: crossed, minMember: 1}]`,
		},
		"replicas that are not given are the minimum": {
			Manifest: `
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray}
spec: {headGroupSpec: {}, workerGroupSpecs: [{groupName: a, minReplicas: 2}]}`,
			Want: `subGroups: [{name: headgroup, minMember: 1}, {name: a, minMember: 2}]`,
		},
	})
}

func TestRayLeaf(t *testing.T) {
	checkLeaf(t, ray.Grouper, map[string]string{"ray.io/group": "headgroup", "ray.io/node-type": "head"},
		"headgroup")
	checkLeaf(t, ray.Grouper, map[string]string{"ray.io/group": "tpu"}, "tpu")
	checkLeaf(t, ray.Grouper, map[string]string{"ray.io/node-type": "redis-cleanup"}, "")
}
