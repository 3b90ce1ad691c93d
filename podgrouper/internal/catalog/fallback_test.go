package catalog_test

import (
	"testing"

	"packtree.dev/podgrouper/internal/groupers/fallback"
)

func TestFallback(t *testing.T) {
	checkGroups(t, fallback.Grouper, map[string]groupCase{
		"any pod of an unknown workload may start": {
			Manifest: `{apiVersion: example.com/v1, kind: Fleet, metadata: {name: north}, spec: {ships: 7}}`,
			Want:     `minMember: 1`,
		},
		"as many together as it asks for, since nobody knows how many it has": {
			Manifest: `
apiVersion: example.com/v1
kind: Fleet
metadata:
  name: north
  annotations: {kai.scheduler/batch-min-member: "7", kai.scheduler/topology: network, kai.scheduler/topology-preferred-placement: rack}`,
			Want: `{minMember: 7, topologyConstraint: {topology: network, preferredTopologyLevel: rack}}`,
		},
		"a pod is one": {
			Manifest: `{apiVersion: v1, kind: Pod, metadata: {name: alone, annotations: {kai.scheduler/batch-min-member: "2"}}}`,
			Want:     `minMember: 2`,
			Problems: []string{
				`metadata.annotations[kai.scheduler/batch-min-member]: Invalid value: "2": at most 1 run at a time, so that none ever starts: lower it`,
			},
		},
	})
}
