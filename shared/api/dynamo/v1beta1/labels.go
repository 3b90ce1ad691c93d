package v1beta1

// Labels of what is made for a deployment.
const (
	// LabelDeploymentName is the name of the deployment, on everything made for it.
	LabelDeploymentName = "nvidia.com/dynamo-graph-deployment-name"
	// LabelSelector distinguishes the pods of one component from all others: `<deployment>-<component in lower case>`.
	LabelSelector = "nvidia.com/selector"
	// LabelComponent is the name of the component as the user wrote it.
	LabelComponent = "nvidia.com/dynamo-component"
	// LabelComponentType is the type of the component.
	LabelComponentType = "nvidia.com/dynamo-component-type"
	// LabelSubComponentType is the part that a worker has in disaggregated serving: its type, where that is prefill or
	// decode. On a pod template it stands for another word in v1alpha1's subComponentType.
	LabelSubComponentType = "nvidia.com/dynamo-sub-component-type"
	// LabelDynamoNamespace is the name under which the pods of a deployment find one another: `<namespace>-<name>`.
	LabelDynamoNamespace = "nvidia.com/dynamo-namespace"
	// LabelMultinodeRole is leader or worker on the pods of a multinode component.
	LabelMultinodeRole = "packtree.dev/multinode-role"
	// LabelQueue is the scheduler's queue.
	LabelQueue = "kai.scheduler/queue"
	// LabelDiscoveryBackend and LabelDiscoveryEnabled are what Dynamo's runtime looks for on EndpointSlices, which have
	// them from their Services, and on pods.
	LabelDiscoveryBackend = "nvidia.com/dynamo-discovery-backend"
	LabelDiscoveryEnabled = "nvidia.com/dynamo-discovery-enabled"
	// LabelMetricsEnabled is what pod monitors look for.
	LabelMetricsEnabled = "nvidia.com/metrics-enabled"
	// LabelComponentClass is worker on the pods to which an endpoint picker leads.
	LabelComponentClass = "nvidia.com/dynamo-component-class"
	// LabelBaseModelHash is the hash of the model that a component serves.
	LabelBaseModelHash = "nvidia.com/dynamo-base-model-hash"
	// LabelTopologyPrefix and the name of a level are the label that says in which domain of that level a pod stands.
	LabelTopologyPrefix = "nvidia.com/dynamo-topology."
)

// Annotations.
const (
	// AnnotationQueue on a deployment names the scheduler's queue of its pods.
	AnnotationQueue = "nvidia.com/kai-scheduler-queue"
	// AnnotationVLLMExecutor on a deployment or a component's pod template says how vLLM spans nodes: mp or ray.
	AnnotationVLLMExecutor = "nvidia.com/vllm-distributed-executor-backend"
	// AnnotationDiscoveryBackend on a deployment says how the pods find one another: by kubernetes, or by etcd. On pods
	// it is what was chosen.
	AnnotationDiscoveryBackend = LabelDiscoveryBackend
	// AnnotationDiscoveryMode on a deployment says what is found: pod, by EndpointSlices, or container, by Pods.
	AnnotationDiscoveryMode = "nvidia.com/dynamo-kube-discovery-mode"
	// AnnotationEnableMetrics on a deployment is false if pod monitors are to ignore its pods.
	AnnotationEnableMetrics = "nvidia.com/enable-metrics"
	// AnnotationBaseModel is the name of the model that a component serves.
	AnnotationBaseModel = "nvidia.com/dynamo-base-model"
	// AnnotationTopologyLabelKey on a pod is the node label that is to be copied onto the pod.
	AnnotationTopologyLabelKey = "nvidia.com/topology-label-key"
	// AnnotationTopologyName on a pod is the ClusterTopology by which it is to get labels that say where it stands.
	AnnotationTopologyName = "nvidia.com/topology-cluster-topology-name"
	// AnnotationRestart on a pod is the id of the restart that it was made by.
	AnnotationRestart = "packtree.dev/restart"
	// AnnotationRequestedReplicas on what scales a component is the number of replicas that the deployment last asked
	// of it, so that a later scaling by another writer can be distinguished from a change of the deployment.
	AnnotationRequestedReplicas = "packtree.dev/requested-replicas"
	// AnnotationPodTemplates on a PodCliqueSet notes how the operator that wrote it last makes the pods of each clique,
	// so that an upgrade of the operator replaces none of them.
	AnnotationPodTemplates = "packtree.dev/pod-templates"
	// AnnotationV1Alpha1 on a v1beta1 object keeps what only v1alpha1 can say.
	AnnotationV1Alpha1 = "packtree.dev/v1alpha1"
	// AnnotationV1Beta1 on a v1alpha1 object keeps what only v1beta1 can say.
	AnnotationV1Beta1 = "packtree.dev/v1beta1"
)

// MainContainer is the name of a component's workload container.
const MainContainer = "main"

// FrontendSidecarContainer is the name of the container that v1alpha1's frontendSidecar describes.
const FrontendSidecarContainer = "sidecar-frontend"

// The types of components that have defaults.
const (
	TypeFrontend = "frontend"
	TypeWorker   = "worker"
	TypePrefill  = "prefill"
	TypeDecode   = "decode"
	TypePlanner  = "planner"
	TypeEPP      = "epp"
)
