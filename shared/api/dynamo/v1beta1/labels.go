package v1beta1

// Labels of what is made for a deployment.
const (
	// LabelDeploymentName is the name of the deployment, on everything made for it.
	LabelDeploymentName = "nvidia.com/dynamo-graph-deployment-name"
	// LabelSelector tells the pods of one component from all others: `<deployment>-<component in lower case>`.
	LabelSelector = "nvidia.com/selector"
	// LabelComponent is the name of the component as the user wrote it.
	LabelComponent = "nvidia.com/dynamo-component"
	// LabelComponentType is the type of the component.
	LabelComponentType = "nvidia.com/dynamo-component-type"
	// LabelSubComponentType is the part that a worker has in disaggregated serving. On a pod template it stands for
	// v1alpha1's subComponentType.
	LabelSubComponentType = "nvidia.com/dynamo-sub-component-type"
	// LabelDynamoNamespace is the name under which the pods of a deployment find one another: `<namespace>-<name>`.
	LabelDynamoNamespace = "nvidia.com/dynamo-namespace"
	// LabelMultinodeRole is leader or worker on the pods of a multinode component.
	LabelMultinodeRole = "packtree.dev/multinode-role"
	// LabelQueue is the scheduler's queue.
	LabelQueue = "kai.scheduler/queue"
)

// Annotations.
const (
	// AnnotationQueue on a deployment names the scheduler's queue of its pods.
	AnnotationQueue = "nvidia.com/kai-scheduler-queue"
	// AnnotationVLLMExecutor on a deployment or a component's pod template says how vLLM spans nodes: mp or ray.
	AnnotationVLLMExecutor = "nvidia.com/vllm-distributed-executor-backend"
	// AnnotationRestart on a pod is the id of the restart that it was made by.
	AnnotationRestart = "packtree.dev/restart"
	// AnnotationRequestedReplicas on what scales a component is the number of replicas that the deployment last asked
	// of it, so that a later scaling by somebody else is told apart from a change of the deployment.
	AnnotationRequestedReplicas = "packtree.dev/requested-replicas"
	// AnnotationV1Alpha1 on a v1beta1 object keeps what only v1alpha1 can say.
	AnnotationV1Alpha1 = "packtree.dev/v1alpha1"
	// AnnotationV1Beta1 on a v1alpha1 object keeps what only v1beta1 can say.
	AnnotationV1Beta1 = "packtree.dev/v1beta1"
)

// MainContainer is the name of a component's workload container.
const MainContainer = "main"
