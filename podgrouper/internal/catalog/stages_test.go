package catalog_test

import (
	"testing"

	"packtree.dev/podgrouper/internal/groupers/jobset"
)

const (
	dependent = `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  replicatedJobs:
  - {name: fetch, template: {spec: {parallelism: 2}}}
  - {name: server, replicas: 2, template: {spec: {}}, dependsOn: [{name: fetch, status: Complete}]}
  - {name: workers, template: {spec: {parallelism: 4}}, dependsOn: [{name: server, status: Ready}]}
`
	ordered = `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  startupPolicy: {startupPolicyOrder: InOrder}
  replicatedJobs:
  - {name: driver, template: {spec: {}}}
  - {name: workers, template: {spec: {parallelism: 4}}}
  - {name: judge, template: {spec: {}}}
`
	slices = `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec: {replicatedJobs: [{name: slice, replicas: 3, template: {spec: {parallelism: 4}}}]}
`
)

func TestStages(t *testing.T) {
	checkGroups(t, jobset.Grouper, map[string]groupCase{
		"at first only what depends on nothing is needed": {
			Manifest: dependent,
			Want:     `subGroups: [{name: fetch-0, minMember: 2}, {name: server-0, minMember: 0}, {name: server-1, minMember: 0}, {name: workers-0, minMember: 0}]`,
			Expected: `{"server-0":1,"server-1":1,"workers-0":4}`,
		},
		"what is complete makes room for what waited for it": {
			Manifest: dependent +
				`status: {replicatedJobsStatus: [{name: workers}, {name: server, active: 2}, {name: fetch, succeeded: 1}]}`,
			Want:     `subGroups: [{name: fetch-0, minMember: 0}, {name: server-0, minMember: 1}, {name: server-1, minMember: 1}, {name: workers-0, minMember: 0}]`,
			Expected: `{"workers-0":4}`,
		},
		"one of two servers that is ready is not enough": {
			Manifest: dependent +
				`status: {replicatedJobsStatus: [{name: server, ready: 1, active: 2}, {name: fetch, succeeded: 1}]}`,
			Want:     `subGroups: [{name: fetch-0, minMember: 0}, {name: server-0, minMember: 1}, {name: server-1, minMember: 1}, {name: workers-0, minMember: 0}]`,
			Expected: `{"workers-0":4}`,
		},
		"when both are ready, the workers start together": {
			Manifest: dependent + `status: {replicatedJobsStatus: [{name: server, ready: 2}, {name: fetch, succeeded: 1}]}`,
			Want:     `subGroups: [{name: fetch-0, minMember: 0}, {name: server-0, minMember: 1}, {name: server-1, minMember: 1}, {name: workers-0, minMember: 4}]`,
		},
		"workers that have begun are needed, even when a server is not ready any more": {
			Manifest: dependent +
				`status: {replicatedJobsStatus: [{name: server, ready: 1}, {name: fetch, succeeded: 1}, {name: workers, active: 1}]}`,
			Want: `subGroups: [{name: fetch-0, minMember: 0}, {name: server-0, minMember: 1}, {name: server-1, minMember: 1}, {name: workers-0, minMember: 4}]`,
		},
		"after a restart all begins anew": {
			Manifest: dependent +
				`status: {restarts: 1, replicatedJobsStatus: [{name: server}, {name: fetch, active: 1}, {name: workers}]}`,
			Want:     `subGroups: [{name: fetch-0, minMember: 2}, {name: server-0, minMember: 0}, {name: server-1, minMember: 0}, {name: workers-0, minMember: 0}]`,
			Expected: `{"server-0":1,"server-1":1,"workers-0":4}`,
		},
		"in order, the first": {
			Manifest: ordered,
			Want:     `subGroups: [{name: driver-0, minMember: 1}, {name: workers-0, minMember: 0}, {name: judge-0, minMember: 0}]`,
			Expected: `{"judge-0":1,"workers-0":4}`,
		},
		"in order, the second": {
			Manifest: ordered + `status: {replicatedJobsStatus: [{name: driver, ready: 1}]}`,
			Want:     `subGroups: [{name: driver-0, minMember: 1}, {name: workers-0, minMember: 4}, {name: judge-0, minMember: 0}]`,
			Expected: `{"judge-0":1}`,
		},
		"in order, the third, when the first is over": {
			Manifest: ordered + `status: {replicatedJobsStatus: [{name: driver, succeeded: 1}, {name: workers, ready: 1}]}`,
			Want:     `subGroups: [{name: driver-0, minMember: 0}, {name: workers-0, minMember: 4}, {name: judge-0, minMember: 1}]`,
		},
		"when one of three is complete, two are needed": {
			Manifest: slices + `status: {replicatedJobsStatus: [{name: slice, ready: 2, succeeded: 1}]}`,
			Want: `
subGroups:
- {name: slice-jobs, minSubGroup: 2}
- {name: slice-0, parent: slice-jobs, minMember: 4}
- {name: slice-1, parent: slice-jobs, minMember: 4}
- {name: slice-2, parent: slice-jobs, minMember: 4}`,
		},
		"when all are complete, none is": {
			Manifest: slices + `status: {replicatedJobsStatus: [{name: slice, succeeded: 3}]}`,
			Want:     `subGroups: [{name: slice-0, minMember: 0}, {name: slice-1, minMember: 0}, {name: slice-2, minMember: 0}]`,
		},
	})
}
