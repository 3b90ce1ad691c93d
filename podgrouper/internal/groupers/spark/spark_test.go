package spark_test

import (
	"testing"

	"packtree.dev/podgrouper/internal/groupers/groupertest"
	"packtree.dev/podgrouper/internal/groupers/spark"
)

func TestGroup(t *testing.T) {
	groupertest.Groups(t, spark.Grouper, map[string]groupertest.Case{
		"the driver starts alone, and its executors join it": {
			Manifest: `
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: pi, annotations: {kai.scheduler/topology: network, kai.scheduler/topology-required-placement: rack}}
spec: {driver: {cores: 1}, executor: {instances: 4}}`,
			Want: `
topologyConstraint: {topology: network, requiredTopologyLevel: rack}
subGroups: [{name: driver, minMember: 1}, {name: executor, minMember: 0}]`,
		},
	})
}

func TestLeaf(t *testing.T) {
	groupertest.Leaf(t, spark.Grouper, map[string]string{"spark-role": "driver"}, "driver")
	groupertest.Leaf(t, spark.Grouper, map[string]string{"spark-role": "executor"}, "executor")
	groupertest.Leaf(t, spark.Grouper, map[string]string{"spark-role": "shuffle"}, "")
}
