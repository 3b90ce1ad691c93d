package segments_test

import (
	"testing"

	"packtree.dev/podgrouper/internal/groupers/fallback"
	"packtree.dev/podgrouper/internal/groupers/groupertest"
	"packtree.dev/podgrouper/internal/groupers/job"
	"packtree.dev/podgrouper/internal/groupers/jobset"
	"packtree.dev/podgrouper/internal/groupers/kubeflow"
	"packtree.dev/podgrouper/internal/groupers/leaderworkerset"
	"packtree.dev/podgrouper/internal/groupers/ray"
	"packtree.dev/podgrouper/internal/groupers/replicas"
	"packtree.dev/podgrouper/internal/segments"
)

func TestJobs(t *testing.T) {
	groupertest.Groups(t, segments.Of(job.Grouper), map[string]groupertest.Case{
		"one whole segment is enough, and the last one may be short": {
			Manifest: `
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  annotations:
    kai.scheduler/topology: network
    kai.scheduler/topology-required-placement: zone
    kai.scheduler/segment-size: "4"
    kai.scheduler/segment-topology-required-placement: rack
    kai.scheduler/segment-topology-preferred-placement: host
spec: {completionMode: Indexed, completions: 10, parallelism: 10}`,
			Want: `
minSubGroup: 1
topologyConstraint: {topology: network, requiredTopologyLevel: zone}
subGroups:
- {name: segment-0, minMember: 4, topologyConstraint: {topology: network, requiredTopologyLevel: rack, preferredTopologyLevel: host}}
- {name: segment-1, minMember: 4, topologyConstraint: {topology: network, requiredTopologyLevel: rack, preferredTopologyLevel: host}}
- {name: segment-2, minMember: 2, topologyConstraint: {topology: network, requiredTopologyLevel: rack, preferredTopologyLevel: host}}`,
		},
		"without a level segments are gangs and no more": {
			Manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: train, annotations: {kai.scheduler/segment-size: "2"}}
spec: {completionMode: Indexed, completions: 4, parallelism: 4}`,
			Want: `{minSubGroup: 1, subGroups: [{name: segment-0, minMember: 2}, {name: segment-1, minMember: 2}]}`,
		},
		"all pods are all segments": {
			Manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: train, annotations: {kai.scheduler/segment-size: "4", kai.scheduler/batch-min-member: "6"}}
spec: {completionMode: Indexed, completions: 6, parallelism: 6}`,
			Want: `{minSubGroup: 2, subGroups: [{name: segment-0, minMember: 4}, {name: segment-1, minMember: 2}]}`,
		},
		"a minimum is met by any segments, also by the short one": {
			Manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: train, annotations: {kai.scheduler/segment-size: "4", kai.scheduler/batch-min-member: "7"}}
spec: {completionMode: Indexed, completions: 10, parallelism: 10}`,
			Want: `{minSubGroup: 3, subGroups: [{name: segment-0, minMember: 4}, {name: segment-1, minMember: 4}, {name: segment-2, minMember: 2}]}`,
		},
		"pods that are done are not waited for": {
			Manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: train, annotations: {kai.scheduler/segment-size: "4"}}
spec: {completionMode: Indexed, completions: 12, parallelism: 12, backoffLimitPerIndex: 1}
status: {completedIndexes: "0-4,6", failedIndexes: "7,9-10"}`,
			Want: `{minSubGroup: 1, subGroups: [{name: segment-0, minMember: 0}, {name: segment-1, minMember: 1}, {name: segment-2, minMember: 2}]}`,
		},
		"what is left to do is enough": {
			Manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: train, annotations: {kai.scheduler/segment-size: "4", kai.scheduler/batch-min-member: "8"}}
spec: {completionMode: Indexed, completions: 8, parallelism: 8}
status: {completedIndexes: "0-4", succeeded: 5}`,
			Want: `{minSubGroup: 1, subGroups: [{name: segment-0, minMember: 0}, {name: segment-1, minMember: 3}]}`,
		},
		"a segment that is larger than what runs at a time starts with that": {
			Manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: train, annotations: {kai.scheduler/segment-size: "4", kai.scheduler/batch-min-member: "3"}}
spec: {completionMode: Indexed, completions: 8, parallelism: 3}`,
			Want: `{minSubGroup: 1, subGroups: [{name: segment-0, minMember: 3}, {name: segment-1, minMember: 3}]}`,
		},
		"more whole segments than run at a time": {
			Manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: train, annotations: {kai.scheduler/segment-size: "4", kai.scheduler/batch-min-member: "6"}}
spec: {completionMode: Indexed, completions: 12, parallelism: 6}`,
			Want: `{minSubGroup: 2, subGroups: [{name: segment-0, minMember: 4}, {name: segment-1, minMember: 4}, {name: segment-2, minMember: 4}]}`,
			Problems: []string{
				`metadata.annotations[kai.scheduler/segment-size]: Invalid value: "4": the 6 pods that start together are 2 whole segments, which is 8 pods, and at most 6 run at a time, so that they will never start: let as many run at a time, or let fewer start together`,
			},
		},
		"a minimum above what there is does not start, however the pods are divided": {
			Manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: train, annotations: {kai.scheduler/segment-size: "4", kai.scheduler/batch-min-member: "7"}}
spec: {completionMode: Indexed, completions: 6, parallelism: 6}`,
			Want: `{minSubGroup: 3, subGroups: [{name: segment-0, minMember: 4}, {name: segment-1, minMember: 2}]}`,
			Problems: []string{
				`metadata.annotations[kai.scheduler/batch-min-member]: Invalid value: "7": at most 6 run at a time, so that none ever starts: lower it, or raise spec.parallelism`,
			},
		},
		"the pod template speaks where the Job does not": {
			Manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec: {completionMode: Indexed, completions: 2, parallelism: 2, template: {metadata: {annotations: {kai.scheduler/segment-size: "1"}}}}`,
			Want: `{minSubGroup: 1, subGroups: [{name: segment-0, minMember: 1}, {name: segment-1, minMember: 1}]}`,
		},
		"a halted Job keeps its segments": {
			Manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: train, annotations: {kai.scheduler/segment-size: "4"}}
spec: {completionMode: Indexed, completions: 4, parallelism: 0}`,
			Want: `{minSubGroup: 1, subGroups: [{name: segment-0, minMember: 4}]}`,
		},
		"pods without an index are one segment, so that the level is kept": {
			Manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: train, annotations: {kai.scheduler/topology: network, kai.scheduler/segment-size: "4", kai.scheduler/segment-topology-required-placement: rack, kai.scheduler/batch-min-member: "3"}}
spec: {completions: 8, parallelism: 8}`,
			Want: `
minSubGroup: 1
topologyConstraint: {topology: network}
subGroups: [{name: segment-0, minMember: 3, topologyConstraint: {topology: network, requiredTopologyLevel: rack}}]`,
			Problems: []string{
				`metadata.annotations[kai.scheduler/segment-size]: Invalid value: "4": the pods carry no index: give the Job spec.completionMode Indexed, or remove the annotation; all pods are one segment until then`,
			},
		},
	})
}

func TestSizesThatAreNone(t *testing.T) {
	manifest := func(annotations string) string {
		return `
apiVersion: batch/v1
kind: Job
metadata: {name: train, annotations: {kai.scheduler/topology: network, ` + annotations + `}}
spec: {completionMode: Indexed, completions: 8, parallelism: 8}`
	}
	rack := `, kai.scheduler/segment-topology-required-placement: rack`
	one := `
minSubGroup: 1
topologyConstraint: {topology: network}
subGroups: [{name: segment-0, minMember: 1, topologyConstraint: {topology: network, requiredTopologyLevel: rack}}]`
	const size = `metadata.annotations[kai.scheduler/segment-size]: `
	const until = `must be a whole number above 0; all pods are one segment until then`
	groupertest.Groups(t, segments.Of(job.Grouper), map[string]groupertest.Case{
		"no number":        {Manifest: manifest(`kai.scheduler/segment-size: "four"` + rack), Want: one, Problems: []string{size + `Invalid value: "four": ` + until}},
		"empty":            {Manifest: manifest(`kai.scheduler/segment-size: ""` + rack), Want: one, Problems: []string{size + `Required value: must not be empty: give it a value or remove it; all pods are one segment until then`}},
		"zero":             {Manifest: manifest(`kai.scheduler/segment-size: "0"` + rack), Want: one, Problems: []string{size + `Invalid value: "0": ` + until}},
		"negative":         {Manifest: manifest(`kai.scheduler/segment-size: "-4"` + rack), Want: one, Problems: []string{size + `Invalid value: "-4": ` + until}},
		"a fraction":       {Manifest: manifest(`kai.scheduler/segment-size: "1.5"` + rack), Want: one, Problems: []string{size + `Invalid value: "1.5": ` + until}},
		"more than an int": {Manifest: manifest(`kai.scheduler/segment-size: "99999999999"` + rack), Want: one, Problems: []string{size + `Invalid value: "99999999999": ` + until}},
		"a level and no size": {
			Manifest: manifest(`note: none` + rack), Want: one,
			Problems: []string{size + `Required value: a placement of segments needs the number of pods of each; all pods are one segment until then`},
		},
		"no size and no level is one group as ever": {
			Manifest: manifest(`kai.scheduler/segment-size: "four"`), Want: `{minMember: 1, topologyConstraint: {topology: network}}`,
			Problems: []string{size + `Invalid value: "four": ` + until},
		},
		"a level that is empty": {
			Manifest: manifest(`kai.scheduler/segment-size: "8", kai.scheduler/segment-topology-required-placement: ""`),
			Want:     `{minSubGroup: 1, topologyConstraint: {topology: network}, subGroups: [{name: segment-0, minMember: 8}]}`,
			Problems: []string{`metadata.annotations[kai.scheduler/segment-topology-required-placement]: Required value: must not be empty: give it a value or remove it`},
		},
		"a level without a topology stays, so that the gang waits": {
			Manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: train, annotations: {kai.scheduler/segment-size: "8", kai.scheduler/segment-topology-preferred-placement: rack}}
spec: {completionMode: Indexed, completions: 8, parallelism: 8}`,
			Want:     `{minSubGroup: 1, subGroups: [{name: segment-0, minMember: 8, topologyConstraint: {preferredTopologyLevel: rack}}]}`,
			Problems: []string{`metadata.annotations[kai.scheduler/topology]: Required value: a level needs the name of the Topology that it belongs to`},
		},
		"more segments than a PodGroup holds": {
			Manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: train, annotations: {kai.scheduler/segment-size: "2"}}
spec: {completionMode: Indexed, completions: 100000, parallelism: 100000}`,
			Want:     `minMember: 1`,
			Problems: []string{size + `Invalid value: "2": 100000 pods would make more segments than the 8192 that a PodGroup holds: make it 13 or more; all pods are one segment until then`},
		},
	})
}

func TestStatefulSets(t *testing.T) {
	groupertest.Groups(t, segments.Of(replicas.Grouper), map[string]groupertest.Case{
		"one that makes all of its pods at once": {
			Manifest: `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, annotations: {kai.scheduler/segment-size: "2", kai.scheduler/batch-min-member: "3"}}
spec: {replicas: 4, podManagementPolicy: Parallel}`,
			Want: `{minSubGroup: 2, subGroups: [{name: segment-0, minMember: 2}, {name: segment-1, minMember: 2}]}`,
		},
		"one that makes them one by one cannot wait for whole segments": {
			Manifest: `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, annotations: {kai.scheduler/segment-size: "2"}}
spec: {replicas: 3}`,
			Want: `{minSubGroup: 1, subGroups: [{name: segment-0, minMember: 1}, {name: segment-1, minMember: 1}]}`,
		},
		"one without replicas is a group without pods": {
			Manifest: `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, annotations: {kai.scheduler/segment-size: "2"}}
spec: {replicas: 0}`,
			Want: `minMember: 1`,
		},
		"pods of a Deployment cannot be told apart": {
			Manifest: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {kai.scheduler/segment-size: "2"}}
spec: {replicas: 4}`,
			Want: `minMember: 1`,
			Problems: []string{
				`metadata.annotations[kai.scheduler/segment-size]: Invalid value: "2": these pods of the Deployment carry no index: remove the annotation; all pods are one segment until then`,
			},
		},
	})
}

func TestWorkloadsOfSeveralGroups(t *testing.T) {
	groupertest.Groups(t, segments.Of(jobset.Grouper), map[string]groupertest.Case{
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
	groupertest.Groups(t, segments.Of(kubeflow.PyTorchJob), map[string]groupertest.Case{
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
	groupertest.Groups(t, segments.Of(leaderworkerset.Grouper), map[string]groupertest.Case{
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
		},
	})
	groupertest.Groups(t, segments.Of(ray.Grouper), map[string]groupertest.Case{
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
	groupertest.Groups(t, segments.Of(fallback.Grouper), map[string]groupertest.Case{
		"a workload of which nothing is known": {
			Manifest: `{apiVersion: example.com/v1, kind: Fleet, metadata: {name: north, annotations: {kai.scheduler/segment-size: "2"}}}`,
			Want:     `minMember: 1`,
			Problems: []string{
				`metadata.annotations[kai.scheduler/segment-size]: Invalid value: "2": these pods of the Fleet carry no index: remove the annotation; all pods are one segment until then`,
			},
		},
	})
}
