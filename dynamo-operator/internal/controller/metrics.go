package controller

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/shared/api/dynamo/v1beta1"
	"packtree.dev/shared/objectcount"
)

// Names and labels of metrics are stable: they may be added to, but do not change.

var deployments = objectcount.Gauge{
	Name: "packtree_dynamo_deployments",
	Help: "DynamoGraphDeployments by the reason of their condition Ready.", Label: "reason",
	Known: []string{
		v1beta1.ReasonAllServicesReady, v1beta1.ReasonServicesNotReady, v1beta1.ReasonNotYetObserved,
		v1beta1.ReasonNameTaken,
		v1beta1.ReasonRejected, v1beta1.ReasonNotInstalled, v1beta1.ReasonNotYetWritten, objectcount.Unjudged,
	},
	List: newList,
	Stand: func(object runtime.Object) string {
		return objectcount.Reason(object.(*v1beta1.DynamoGraphDeployment).Status.Conditions, v1beta1.ConditionReady)
	},
}

var constraints = objectcount.Gauge{
	Name: "packtree_dynamo_topology_constraints_enforced",
	Help: "DynamoGraphDeployments with topology constraints, by the status of their condition " +
		"TopologyConstraintsEnforced.", Label: "status",
	Known: []string{"True", "False", "Unknown"},
	List:  newList,
	Stand: func(object runtime.Object) string {
		conditions := object.(*v1beta1.DynamoGraphDeployment).Status.Conditions
		if condition := meta.FindStatusCondition(conditions,
			v1beta1.ConditionTopologyConstraintsEnforced); condition != nil {
			return string(condition.Status)
		}
		return ""
	},
}

func newList() client.ObjectList { return &v1beta1.DynamoGraphDeploymentList{} }
