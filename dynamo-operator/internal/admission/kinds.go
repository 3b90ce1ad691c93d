package admission

import "packtree.dev/shared/api/dynamo/v1beta1"

// WithoutEffect says of one of Dynamo's kinds that its objects have no effect, and what to do instead; empty for all
// other kinds.
func WithoutEffect(group, kind string) string {
	if group != v1beta1.GroupName {
		return ""
	}
	switch kind {
	case "DynamoModel":
		return "DynamoModel has no effect: no adapter is loaded; load it at the engine, " +
			"and name the model of a service with modelRef"
	case "DynamoCheckpoint":
		return "DynamoCheckpoint has no effect: nothing is saved, and pods start from their images"
	case "DynamoGraphDeploymentRequest":
		return "DynamoGraphDeploymentRequest has no effect: nothing is profiled and no deployment is made of it; " +
			"write the DynamoGraphDeployment"
	case "DynamoComponentDeployment":
		return "DynamoComponentDeployment has no effect: no pods are made of it; write it as a service of a " +
			"DynamoGraphDeployment"
	default:
		return ""
	}
}
