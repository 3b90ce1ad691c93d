package catalog_test

import (
	"testing"

	"packtree.dev/podgrouper/internal/groupers/spark"
)

func TestSpark(t *testing.T) {
	checkGroups(t, spark.Grouper, map[string]groupCase{
		"the driver starts alone, and its executors join it": {
			Manifest: `
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: pi, annotations: {kai.scheduler/topology: network, kai.scheduler/topology-required-placement: rack}}
spec: {driver: {cores: 1}, executor: {instances: 4}}`,
			Want: `
topologyConstraint: {topology: network, requiredTopologyLevel: rack}
subGroups: [{name: driver, minMember: 1}, {name: executor, minMember: 0}]`,
			Expected: `{"executor":4}`,
		},
		"executors in one rack, whatever their number": {
			Manifest: `
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: pi}
spec:
  driver: {cores: 1}
  executor:
    instances: 4
    annotations: {kai.scheduler/topology: network, kai.scheduler/topology-preferred-placement: rack}
  dynamicAllocation: {enabled: true, minExecutors: 2, maxExecutors: 10}`,
			Want: `
subGroups:
- {name: driver, minMember: 1}
- {name: executor, minMember: 0, topologyConstraint: {topology: network, preferredTopologyLevel: rack}}`,
			Expected: `{"executor":4}`,
		},
		"a pod template for the executors": {
			Manifest: `
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: pi}
spec: {driver: {}, executor: {template: {metadata: {annotations: {kai.scheduler/topology-required-placement: rack}}}}}`,
			Want:     `subGroups: [{name: driver, minMember: 1}, {name: executor, minMember: 0, topologyConstraint: {requiredTopologyLevel: rack}}]`,
			Expected: `{"executor":1}`,
			Problems: []string{
				`spec.executor.template.metadata.annotations[kai.scheduler/topology]: Required value: a level needs the name of the Topology that it belongs to`,
			},
		},
	})
}

func TestSparkLeaf(t *testing.T) {
	checkLeaf(t, spark.Grouper, map[string]string{"spark-role": "driver"}, "driver")
	checkLeaf(t, spark.Grouper, map[string]string{"spark-role": "executor"}, "executor")
	checkLeaf(t, spark.Grouper, map[string]string{"spark-role": "shuffle"}, "")
}
