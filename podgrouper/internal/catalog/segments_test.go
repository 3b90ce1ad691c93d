package catalog_test

import (
	"testing"

	"packtree.dev/podgrouper/internal/groupers/job"
	"packtree.dev/podgrouper/internal/groupers/replicas"
	"packtree.dev/podgrouper/internal/segments"
)

func TestJobs(t *testing.T) {
	checkGroups(t, segments.Of(job.Grouper), map[string]groupCase{
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
			Want:     `{minSubGroup: 1, subGroups: [{name: segment-0, minMember: 3}, {name: segment-1, minMember: 3}]}`,
			Expected: `{"segment-1":0}`,
		},
		"more whole segments than run at a time": {
			Manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: train, annotations: {kai.scheduler/segment-size: "4", kai.scheduler/batch-min-member: "6"}}
spec: {completionMode: Indexed, completions: 12, parallelism: 6}`,
			Want:     `{minSubGroup: 2, subGroups: [{name: segment-0, minMember: 4}, {name: segment-1, minMember: 4}, {name: segment-2, minMember: 4}]}`,
			Expected: `{"segment-1":2,"segment-2":0}`,
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
			Want:     `{minSubGroup: 1, subGroups: [{name: segment-0, minMember: 4}]}`,
			Expected: `{"segment-0":0}`,
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
			Expected: `{"segment-0":8}`,
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
	const eight = `{"segment-0":8}`
	const size = `metadata.annotations[kai.scheduler/segment-size]: `
	const until = `must be a whole number above 0; all pods are one segment until then`
	checkGroups(t, segments.Of(job.Grouper), map[string]groupCase{
		"no number": {Manifest: manifest(`kai.scheduler/segment-size: "four"` + rack), Want: one, Expected: eight,
			Problems: []string{size + `Invalid value: "four": ` + until}},
		"empty": {Manifest: manifest(`kai.scheduler/segment-size: ""` + rack), Want: one, Expected: eight,
			Problems: []string{size +
				`Required value: must not be empty: give it a value or remove it; all pods are one segment until then`}},
		"zero": {Manifest: manifest(`kai.scheduler/segment-size: "0"` + rack), Want: one, Expected: eight,
			Problems: []string{size + `Invalid value: "0": ` + until}},
		"negative": {Manifest: manifest(`kai.scheduler/segment-size: "-4"` + rack), Want: one, Expected: eight,
			Problems: []string{size + `Invalid value: "-4": ` + until}},
		"a fraction": {Manifest: manifest(`kai.scheduler/segment-size: "1.5"` + rack), Want: one, Expected: eight,
			Problems: []string{size + `Invalid value: "1.5": ` + until}},
		"more than an int": {Manifest: manifest(`kai.scheduler/segment-size: "99999999999"` + rack), Want: one,
			Expected: eight, Problems: []string{size + `Invalid value: "99999999999": ` + until}},
		"a level and no size": {
			Manifest: manifest(`note: none` + rack), Want: one, Expected: eight,
			Problems: []string{size +
				`Required value: a placement of segments needs the number of pods of each; all pods are one segment until then`},
		},
		"no size and no level is one group as ever": {
			Manifest: manifest(`kai.scheduler/segment-size: "four"`),
			Want:     `{minMember: 1, topologyConstraint: {topology: network}}`,
			Expected: `{"":8}`,
			Problems: []string{size + `Invalid value: "four": ` + until},
		},
		"a level that is empty": {
			Manifest: manifest(
				`kai.scheduler/segment-size: "8", kai.scheduler/segment-topology-required-placement: ""`),
			Want: `{minSubGroup: 1, topologyConstraint: {topology: network}, subGroups: [{name: segment-0, minMember: 8}]}`,
			Problems: []string{
				`metadata.annotations[kai.scheduler/segment-topology-required-placement]: Required value: must not be empty: give it a value or remove it`,
			},
		},
		"a level without a topology stays, so that the gang waits": {
			Manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: train, annotations: {kai.scheduler/segment-size: "8", kai.scheduler/segment-topology-preferred-placement: rack}}
spec: {completionMode: Indexed, completions: 8, parallelism: 8}`,
			Want: `{minSubGroup: 1, subGroups: [{name: segment-0, minMember: 8, topologyConstraint: {preferredTopologyLevel: rack}}]}`,
			Problems: []string{
				`metadata.annotations[kai.scheduler/topology]: Required value: a level needs the name of the Topology that it belongs to`,
			},
		},
		"more segments than a PodGroup holds": {
			Manifest: `
apiVersion: batch/v1
kind: Job
metadata: {name: train, annotations: {kai.scheduler/segment-size: "2"}}
spec: {completionMode: Indexed, completions: 100000, parallelism: 100000}`,
			Want:     `minMember: 1`,
			Expected: `{"":100000}`,
			Problems: []string{size +
				`Invalid value: "2": 100000 pods would make more segments than the 8192 that a PodGroup holds: make it 13 or more; all pods are one segment until then`},
		},
	})
}

func TestStatefulSets(t *testing.T) {
	checkGroups(t, segments.Of(replicas.Grouper), map[string]groupCase{
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
			Want:     `{minSubGroup: 1, subGroups: [{name: segment-0, minMember: 1}, {name: segment-1, minMember: 1}]}`,
			Expected: `{"segment-0":2}`,
		},
		"one without replicas is a group without pods": {
			Manifest: `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, annotations: {kai.scheduler/segment-size: "2"}}
spec: {replicas: 0}`,
			Want:     `minMember: 1`,
			Expected: `{"":0}`,
		},
		"pods of a Deployment cannot be distinguished": {
			Manifest: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {kai.scheduler/segment-size: "2"}}
spec: {replicas: 4}`,
			Want:     `minMember: 1`,
			Expected: `{"":4}`,
			Problems: []string{
				`metadata.annotations[kai.scheduler/segment-size]: Invalid value: "2": these pods of the Deployment carry no index: remove the annotation; all pods are one segment until then`,
			},
		},
	})
}
