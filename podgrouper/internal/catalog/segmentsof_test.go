package catalog_test

import (
	"testing"

	"packtree.dev/podgrouper/internal/groupers/fallback"
	"packtree.dev/podgrouper/internal/groupers/jobset"
	"packtree.dev/podgrouper/internal/groupers/kubeflow"
	"packtree.dev/podgrouper/internal/groupers/leaderworkerset"
	"packtree.dev/podgrouper/internal/groupers/ray"
	"packtree.dev/podgrouper/internal/segments"
)

func TestWorkloadsOfSeveralGroups(t *testing.T) {
	checkGroups(t, segments.Of(jobset.Grouper), map[string]groupCase{
		"the template's own segments come before the JobSet's, and each Job is divided by itself": {
			Manifest: `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train, annotations: {kai.scheduler/segment-size: "4"}}
spec:
  replicatedJobs:
  - name: workers
    replicas: 2
    template:
      metadata: {annotations: {kai.scheduler/topology: network, kai.scheduler/topology-required-placement: zone, kai.scheduler/segment-size: "2", kai.scheduler/segment-topology-required-placement: rack}}
      spec: {parallelism: 4, completions: 4}
  - name: driver
    template: {spec: {completionMode: Indexed}}`,
			Want: `
subGroups:
- {name: workers-0, minSubGroup: 2, topologyConstraint: {topology: network, requiredTopologyLevel: zone}}
- {name: workers-0.segment-0, parent: workers-0, minMember: 2, topologyConstraint: {topology: network, requiredTopologyLevel: rack}}
- {name: workers-0.segment-1, parent: workers-0, minMember: 2, topologyConstraint: {topology: network, requiredTopologyLevel: rack}}
- {name: workers-1, minSubGroup: 2, topologyConstraint: {topology: network, requiredTopologyLevel: zone}}
- {name: workers-1.segment-0, parent: workers-1, minMember: 2, topologyConstraint: {topology: network, requiredTopologyLevel: rack}}
- {name: workers-1.segment-1, parent: workers-1, minMember: 2, topologyConstraint: {topology: network, requiredTopologyLevel: rack}}
- {name: driver-0, minSubGroup: 1}
- {name: driver-0.segment-0, parent: driver-0, minMember: 1}`,
		},
		"Jobs that come later start in whole segments too, and a mistake is said once": {
			Manifest: `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  startupPolicy: {startupPolicyOrder: InOrder}
  replicatedJobs:
  - {name: first, replicas: 2, template: {metadata: {annotations: {kai.scheduler/segment-size: "2"}}, spec: {completionMode: NonIndexed}}}
  - {name: second, template: {metadata: {annotations: {kai.scheduler/segment-size: "2"}}, spec: {parallelism: 4}}}`,
			Want: `
subGroups:
- {name: first-0, minMember: 1}
- {name: first-1, minMember: 1}
- {name: second-0, minSubGroup: 0}
- {name: second-0.segment-0, parent: second-0, minMember: 2}
- {name: second-0.segment-1, parent: second-0, minMember: 2}`,
			Problems: []string{
				`spec.replicatedJobs[0].template.metadata.annotations[kai.scheduler/segment-size]: Invalid value: "2": the pods carry no index: give the template spec.completionMode Indexed, or remove the annotation; all pods are one segment until then`,
			},
		},
	})
	checkGroups(t, segments.Of(kubeflow.PyTorchJob), map[string]groupCase{
		"workers are elastic in whole segments, and the master stands beside them": {
			Manifest: `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train, annotations: {kai.scheduler/topology: network, kai.scheduler/segment-size: "4", kai.scheduler/segment-topology-required-placement: rack}}
spec:
  elasticPolicy: {minReplicas: 4, maxReplicas: 16}
  pytorchReplicaSpecs: {Master: {replicas: 1}, Worker: {replicas: 12}}`,
			Want: `
topologyConstraint: {topology: network}
subGroups:
- {name: master, minMember: 1}
- {name: worker, minSubGroup: 1}
- {name: worker.segment-0, parent: worker, minMember: 4, topologyConstraint: {topology: network, requiredTopologyLevel: rack}}
- {name: worker.segment-1, parent: worker, minMember: 4, topologyConstraint: {topology: network, requiredTopologyLevel: rack}}
- {name: worker.segment-2, parent: worker, minMember: 4, topologyConstraint: {topology: network, requiredTopologyLevel: rack}}`,
		},
		"any of the workers may be those that are done": {
			Manifest: `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train, annotations: {kai.scheduler/segment-size: "4"}}
spec: {pytorchReplicaSpecs: {Worker: {replicas: 8}}}
status: {replicaStatuses: {Worker: {succeeded: 3}}}`,
			Want: `
subGroups:
- {name: worker, minSubGroup: 2}
- {name: worker.segment-0, parent: worker, minMember: 1}
- {name: worker.segment-1, parent: worker, minMember: 1}`,
			Expected: `{"worker.segment-0":4,"worker.segment-1":4}`,
		},
		"a master cannot be divided": {
			Manifest: `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs: {Master: {replicas: 1, template: {metadata: {annotations: {kai.scheduler/segment-size: "1"}}}}, Worker: {replicas: 2}}`,
			Want: `subGroups: [{name: master, minMember: 1}, {name: worker, minMember: 2}]`,
			Problems: []string{
				`spec.pytorchReplicaSpecs.Master.template.metadata.annotations[kai.scheduler/segment-size]: Invalid value: "1": these pods of the PyTorchJob carry no index: remove the annotation; all pods are one segment until then`,
			},
		},
	})
	checkGroups(t, segments.Of(leaderworkerset.Grouper), map[string]groupCase{
		"the pods of each group": {
			Manifest: `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: serve}
spec:
  replicas: 1
  leaderWorkerTemplate: {size: 4, workerTemplate: {metadata: {annotations: {kai.scheduler/segment-size: "2"}}}}`,
			Want: `
minSubGroup: 1
subGroups:
- {name: group-0, minSubGroup: 2}
- {name: group-0.segment-0, parent: group-0, minMember: 2}
- {name: group-0.segment-1, parent: group-0, minMember: 2}`,
		},
		"groups that are divided already": {
			Manifest: `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: serve, annotations: {kai.scheduler/segment-size: "2"}}
spec: {replicas: 1, leaderWorkerTemplate: {size: 4, subGroupPolicy: {subGroupSize: 2}}}`,
			Want: `
minSubGroup: 1
subGroups:
- {name: group-0}
- {name: group-0-subgroup-0, parent: group-0, minMember: 2}
- {name: group-0-subgroup-1, parent: group-0, minMember: 2}`,
			Problems: []string{
				`metadata.annotations[kai.scheduler/segment-size]: Invalid value: "2": the groups are divided by spec.leaderWorkerTemplate.subGroupPolicy already: remove one of the two; all pods are one segment until then`,
			},
		},
		"workers that come after their leader cannot be waited for": {
			Manifest: `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: serve, annotations: {kai.scheduler/segment-size: "2"}}
spec: {replicas: 1, startupPolicy: LeaderReady, leaderWorkerTemplate: {size: 4}}`,
			Want: `
minSubGroup: 1
subGroups:
- {name: group-0, minSubGroup: 1}
- {name: group-0.segment-0, parent: group-0, minMember: 1}
- {name: group-0.segment-1, parent: group-0, minMember: 1}`,
			Expected: `{"group-0.segment-0":2,"group-0.segment-1":2}`,
		},
	})
	checkGroups(t, segments.Of(ray.Grouper), map[string]groupCase{
		"groups without an index keep the level as a whole": {
			Manifest: `
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray}
spec:
  headGroupSpec: {}
  workerGroupSpecs:
  - {groupName: a, replicas: 3, template: {metadata: {annotations: {kai.scheduler/topology: network, kai.scheduler/segment-size: "2", kai.scheduler/segment-topology-required-placement: rack}}}}`,
			Want: `
subGroups:
- {name: headgroup, minMember: 1}
- {name: a, minSubGroup: 1, topologyConstraint: {topology: network}}
- {name: a.segment-0, parent: a, minMember: 3, topologyConstraint: {topology: network, requiredTopologyLevel: rack}}`,
			Problems: []string{
				`spec.workerGroupSpecs[0].template.metadata.annotations[kai.scheduler/segment-size]: Invalid value: "2": these pods of the RayCluster carry no index: remove the annotation; all pods are one segment until then`,
			},
		},
		"what is said of the whole is said of all of them": {
			Manifest: `
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray, annotations: {kai.scheduler/segment-size: "2"}}
spec: {headGroupSpec: {}, workerGroupSpecs: [{groupName: a, replicas: 3}]}`,
			Want: `subGroups: [{name: headgroup, minMember: 1}, {name: a, minMember: 3}]`,
			Problems: []string{
				`metadata.annotations[kai.scheduler/segment-size]: Invalid value: "2": these pods of the RayCluster carry no index: remove the annotation; all pods are one segment until then`,
			},
		},
	})
	checkGroups(t, segments.Of(fallback.Grouper), map[string]groupCase{
		"a workload of which nothing is known": {
			Manifest: `{apiVersion: example.com/v1, kind: Fleet, metadata: {name: north, annotations: {kai.scheduler/segment-size: "2"}}}`,
			Want:     `minMember: 1`,
			Problems: []string{
				`metadata.annotations[kai.scheduler/segment-size]: Invalid value: "2": these pods of the Fleet carry no index: remove the annotation; all pods are one segment until then`,
			},
		},
	})
}
