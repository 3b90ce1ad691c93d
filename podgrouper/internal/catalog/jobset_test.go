package catalog_test

import (
	"testing"

	"packtree.dev/podgrouper/internal/groupers/jobset"
)

func TestJobSet(t *testing.T) {
	checkGroups(t, jobset.Grouper, map[string]groupCase{
		"a driver and two slices of workers, each slice in a rack": {
			Manifest: `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: train
  annotations: {kai.scheduler/topology: network, kai.scheduler/topology-required-placement: zone}
spec:
  replicatedJobs:
  - name: driver
    template:
      spec: {parallelism: 1, completions: 1, backoffLimit: 0, template: {spec: {containers: [{name: d, image: d}]}}}
  - name: workers
    replicas: 2
    template:
      metadata: {annotations: {kai.scheduler/topology: network, kai.scheduler/topology-required-placement: rack}}
      spec: {parallelism: 4, completions: 4, completionMode: Indexed, template: {spec: {containers: [{name: w, image: w}]}}}`,
			Want: `
topologyConstraint: {topology: network, requiredTopologyLevel: zone}
subGroups:
- {name: driver-0, minMember: 1}
- {name: workers-0, minMember: 4, topologyConstraint: {topology: network, requiredTopologyLevel: rack}}
- {name: workers-1, minMember: 4, topologyConstraint: {topology: network, requiredTopologyLevel: rack}}`,
		},
		"in order, only the first can be waited for": {
			Manifest: `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  startupPolicy: {startupPolicyOrder: InOrder}
  replicatedJobs:
  - {name: driver, replicas: 1, template: {spec: {}}}
  - {name: workers, replicas: 1, template: {spec: {parallelism: 4}}}`,
			Want:     `subGroups: [{name: driver-0, minMember: 1}, {name: workers-0, minMember: 0}]`,
			Expected: `{"workers-0":4}`,
		},
		"what depends on others cannot be waited for": {
			Manifest: `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  replicatedJobs:
  - {name: init, template: {spec: {parallelism: 2}}}
  - {name: workers, template: {spec: {parallelism: 4}}, dependsOn: [{name: init, status: Complete}]}`,
			Want:     `subGroups: [{name: init-0, minMember: 2}, {name: workers-0, minMember: 0}]`,
			Expected: `{"workers-0":4}`,
		},
		"fewer completions than parallelism": {
			Manifest: `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec: {replicatedJobs: [{name: a, template: {spec: {parallelism: 4, completions: 3}}}]}`,
			Want: `subGroups: [{name: a-0, minMember: 3}]`,
		},
		"of Jobs that stand alone in a domain the first pods: the others are made when these have nodes": {
			Manifest: `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train, annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: rack}}
spec:
  replicatedJobs:
  - {name: workers, replicas: 2, template: {spec: {parallelism: 4, completions: 4, completionMode: Indexed}}}`,
			Want:     `subGroups: [{name: workers-0, minMember: 1}, {name: workers-1, minMember: 1}]`,
			Expected: `{"workers-0":4,"workers-1":4}`,
		},
		"one replicated job alone in its domains, on nodes that were labelled for it": {
			Manifest: `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  replicatedJobs:
  - {name: driver, template: {metadata: {annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: rack}}, spec: {parallelism: 2}}}
  - name: workers
    template:
      metadata: {annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: rack, alpha.jobset.sigs.k8s.io/node-selector: "true"}}
      spec: {parallelism: 4}`,
			Want:     `subGroups: [{name: driver-0, minMember: 1}, {name: workers-0, minMember: 4}]`,
			Expected: `{"driver-0":2}`,
		},
		"an elastic replicated job": {
			Manifest: `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  replicatedJobs:
  - {name: workers, template: {metadata: {annotations: {kai.scheduler/batch-min-member: "2"}}, spec: {parallelism: 4}}}
  - {name: wrong, template: {metadata: {annotations: {kai.scheduler/batch-min-member: "0"}}, spec: {parallelism: 4}}}`,
			Want:     `subGroups: [{name: workers-0, minMember: 2}, {name: wrong-0, minMember: 4}]`,
			Expected: `{"workers-0":4}`,
			Problems: []string{
				`spec.replicatedJobs[1].template.metadata.annotations[kai.scheduler/batch-min-member]: Invalid value: "0": must be a whole number above 0; 4 is used instead`,
			},
		},
		"a constraint in the pod template": {
			Manifest: `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  replicatedJobs:
  - name: a
    template:
      spec: {template: {metadata: {annotations: {kai.scheduler/topology: network, kai.scheduler/topology-required-placement: rack}}}}`,
			Want: `subGroups: [{name: a-0, minMember: 1, topologyConstraint: {topology: network, requiredTopologyLevel: rack}}]`,
		},
		"a level without a topology on a template": {
			Manifest: `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  replicatedJobs:
  - {name: a, template: {metadata: {annotations: {kai.scheduler/topology-preferred-placement: rack}}, spec: {}}}`,
			Want: `subGroups: [{name: a-0, minMember: 1, topologyConstraint: {preferredTopologyLevel: rack}}]`,
			Problems: []string{
				`spec.replicatedJobs[0].template.metadata.annotations[kai.scheduler/topology]: Required value: a level needs the name of the Topology that it belongs to`,
			},
		},
		"no Jobs at the moment": {
			Manifest: `{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: train}, spec: {replicatedJobs: [{name: a, replicas: 0}]}}`,
			Want:     `minMember: 0`,
		},
	})
}

func TestJobSetLeaf(t *testing.T) {
	checkLeaf(t, jobset.Grouper, map[string]string{
		"jobset.sigs.k8s.io/replicatedjob-name": "workers", "jobset.sigs.k8s.io/job-index": "1",
	}, "workers-1")
	checkLeaf(t, jobset.Grouper, map[string]string{"jobset.sigs.k8s.io/replicatedjob-name": "workers"}, "")
	checkLeaf(t, jobset.Grouper, nil, "")
}
