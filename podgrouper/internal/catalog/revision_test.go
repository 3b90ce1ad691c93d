package catalog_test

import (
	"testing"

	"packtree.dev/podgrouper/internal/groupers/revision"
)

func TestRevision(t *testing.T) {
	checkGroups(t, revision.Grouper, map[string]groupCase{
		"any pod may start": {
			Manifest: `
apiVersion: serving.knative.dev/v1
kind: Revision
metadata:
  name: hello-00001
  annotations: {autoscaling.knative.dev/min-scale: "3", kai.scheduler/topology: network, kai.scheduler/topology-required-placement: zone}`,
			Want:     `{minMember: 1, topologyConstraint: {topology: network, requiredTopologyLevel: zone}}`,
			Expected: `{"":3}`,
		},
		"as many together as it asks for": {
			Manifest: `
apiVersion: serving.knative.dev/v1
kind: Revision
metadata: {name: hello-00001, annotations: {autoscaling.knative.dev/min-scale: "3", kai.scheduler/batch-min-member: "3"}}`,
			Want: `minMember: 3`,
		},
		"more than Knative starts with": {
			Manifest: `
apiVersion: serving.knative.dev/v1
kind: Revision
metadata: {name: hello-00001, annotations: {autoscaling.knative.dev/initial-scale: "2", kai.scheduler/batch-min-member: "3"}}`,
			Want:     `minMember: 3`,
			Expected: `{"":2}`,
			Problems: []string{
				`metadata.annotations[kai.scheduler/batch-min-member]: Invalid value: "3": at most 2 run at a time, so that none ever starts: lower it, or raise the annotation autoscaling.knative.dev/min-scale`,
			},
		},
		"one that starts with none gets one when a request comes": {
			Manifest: `
apiVersion: serving.knative.dev/v1
kind: Revision
metadata: {name: hello-00001, annotations: {autoscaling.knative.dev/initial-scale: "0", kai.scheduler/batch-min-member: "3"}}`,
			Want:     `minMember: 3`,
			Expected: `{"":1}`,
			Problems: []string{
				`metadata.annotations[kai.scheduler/batch-min-member]: Invalid value: "3": at most 1 run at a time, so that none ever starts: lower it, or raise the annotation autoscaling.knative.dev/min-scale`,
			},
		},
		"scales that are no numbers are as if they were not given": {
			Manifest: `
apiVersion: serving.knative.dev/v1
kind: Revision
metadata: {name: hello-00001, annotations: {autoscaling.knative.dev/initial-scale: some, kai.scheduler/batch-min-member: "1"}}`,
			Want: `minMember: 1`,
		},
	})
}
