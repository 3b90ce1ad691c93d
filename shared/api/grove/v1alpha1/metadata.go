package v1alpha1

// Labels that the operator puts on what it makes.
const (
	// LabelManagedBy is on every object; its value is LabelManagedByValue.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// LabelManagedByValue names the operator in LabelManagedBy.
	LabelManagedByValue = "grove-operator"
	// LabelPartOf has the name of the PodCliqueSet.
	LabelPartOf = "app.kubernetes.io/part-of"
	// LabelName has the object's own name.
	LabelName = "app.kubernetes.io/name"
	// LabelComponent says what part the object plays; one of the Component constants.
	LabelComponent = "app.kubernetes.io/component"
	// LabelPodClique has the name of the PodClique, on its pods.
	LabelPodClique = "grove.io/podclique"
	// LabelPodGang has the name of the PodGang, on PodCliques and pods.
	LabelPodGang = "grove.io/podgang"
	// LabelBasePodGang has the name of the base gang, on PodCliques and pods of scaled gangs.
	LabelBasePodGang = "grove.io/base-podgang"
	// LabelEpoch has the time at which Grove has made a PodGang, since its release alpha.12. Grove itself then writes
	// the conditions of the PodGang. Packtree's grove-operator does not set it.
	LabelEpoch = "grove.io/epoch"
	// LabelPodCliqueSetReplicaIndex has the index of the replica of the set.
	LabelPodCliqueSetReplicaIndex = "grove.io/podcliqueset-replica-index"
	// LabelPodCliqueScalingGroup has the name of the PodCliqueScalingGroup, on its PodCliques and pods.
	LabelPodCliqueScalingGroup = "grove.io/podcliquescalinggroup"
	// LabelPodCliqueScalingGroupReplicaIndex has the index of the copy of the scaling group.
	LabelPodCliqueScalingGroupReplicaIndex = "grove.io/podcliquescalinggroup-replica-index"
	// LabelPodIndex has the index of a pod in its PodClique.
	LabelPodIndex = "grove.io/podclique-pod-index"
	// LabelPodTemplateHash has the hash of the template that a pod was made from.
	LabelPodTemplateHash = "grove.io/pod-template-hash"
	// LabelStandsForCopy is on one pod of each copy of a PodCliqueScalingGroup: the one with the lowest index in the
	// first of the group's cliqueNames. Autoscalers take each pod that a scale subresource selects for a replica.
	LabelStandsForCopy = "packtree.dev/stands-for-copy"
	// LabelStandsForReplica is on one pod of each replica of a PodCliqueSet: the one with the lowest index in the set's
	// first clique, in copy 0 where that is in a scaling group.
	LabelStandsForReplica = "packtree.dev/stands-for-replica"
	// LabelStandsForValue is the value of LabelStandsForCopy and LabelStandsForReplica.
	LabelStandsForValue = "true"
)

// Values of LabelComponent.
const (
	// ComponentHeadlessService marks the headless Service of a replica.
	ComponentHeadlessService = "pcs-headless-service"
	// ComponentPodCliqueScalingGroup marks a PodCliqueScalingGroup.
	ComponentPodCliqueScalingGroup = "pcs-podcliquescalinggroup"
	// ComponentHPA marks a HorizontalPodAutoscaler.
	ComponentHPA = "pcs-hpa"
	// ComponentPodGang marks a PodGang.
	ComponentPodGang = "podgang"
	// ComponentPodClique marks a standalone PodClique.
	ComponentPodClique = "pcs-podclique"
	// ComponentScalingGroupPodClique marks a PodClique in a scaling group.
	ComponentScalingGroupPodClique = "pcsg-podclique"
	// ComponentRole marks the Role of a set's pods.
	ComponentRole = "pod-role"
	// ComponentRoleBinding marks the RoleBinding of a set's pods.
	ComponentRoleBinding = "pod-role-binding"
	// ComponentResourceClaim marks a ResourceClaim that pods share.
	ComponentResourceClaim = "resource-claim"
	// ComponentServiceAccount marks the ServiceAccount of a set's pods.
	ComponentServiceAccount = "pod-service-account"
)

// Annotations.
const (
	// AnnotationDisableProtection is put on a PodCliqueSet by its user: while it is "true", every user with the
	// rights may change and delete what the operator made of the set, although the operator's authorizer is enabled.
	// The operator still makes good what differs.
	AnnotationDisableProtection = "grove.io/disable-managed-resource-protection"
	// AnnotationTopologyName is on a PodGang with constraints and names the topology that they refer to. On a pod of a
	// set with constraints it names the topology for which the pod was made: it is to be scheduled under that one
	// alone.
	AnnotationTopologyName = "grove.io/topology-name"
	// AnnotationMissingTopologyLevel is put on a PodCliqueSet by its user and says what becomes of pods that are not on
	// nodes while a level that the set's constraints name is missing from its ClusterTopology: one of the
	// MissingTopologyLevel constants. Unset means drop.
	AnnotationMissingTopologyLevel = "packtree.dev/missing-topology-level"
	// AnnotationImageUpdate is put on a PodCliqueSet by its user and says how a RollingRecreate update brings pods up
	// to date that differ from their new template in images alone: one of the ImageUpdate constants. Unset means
	// Recreate.
	AnnotationImageUpdate = "packtree.dev/image-update"
	// AnnotationFormerContainers is on a pod with images that were changed in place. It has, in JSON and by name, the
	// containers that ran until then, with containerID and image: the pod counts as ready again when its kubelet has
	// replaced them.
	AnnotationFormerContainers = "packtree.dev/former-containers"
	// AnnotationHeldForTopology is on a PodGang with pods that keep their gates, and names the part of the topology that
	// they wait for.
	AnnotationHeldForTopology = "packtree.dev/held-for-topology"
	// AnnotationTopologyKept is on a PodGang and names the topology that its PodCliqueSet names, while the gang keeps
	// another: pods of its replica stand on nodes under that.
	AnnotationTopologyKept = "packtree.dev/topology-kept"
	// AnnotationTemplateReplicas is on a PodClique or PodCliqueScalingGroup and has the replicas of the template that
	// the operator last carried over. While the template stays there, a scale of the object is left alone.
	AnnotationTemplateReplicas = "packtree.dev/template-replicas"
	// AnnotationGenerationHash is on a PodClique or PodCliqueScalingGroup and has the hash of the set's template that
	// it was made from.
	AnnotationGenerationHash = "packtree.dev/generation-hash"
	// AnnotationPodTemplate is on a PodClique and has, in JSON, what its pods are made from besides its podSpec:
	// labels, annotations and priorityClassName.
	AnnotationPodTemplate = "packtree.dev/pod-template"
)

// Values of AnnotationImageUpdate.
const (
	// ImageUpdateRecreate replaces such a pod like any other.
	ImageUpdateRecreate = "Recreate"
	// ImageUpdateInPlace changes the images of the pod, which keeps its node and its address.
	ImageUpdateInPlace = "InPlace"
)

// Values of AnnotationMissingTopologyLevel.
const (
	// MissingTopologyLevelDrop has the constraints on the missing level left out, and the pods scheduled without them.
	MissingTopologyLevelDrop = "drop"
	// MissingTopologyLevelHold has the pods wait until the level is back.
	MissingTopologyLevelHold = "hold"
)

// Finalizers.
const (
	// FinalizerPodCliqueSet holds a PodCliqueSet until its children are gone.
	FinalizerPodCliqueSet = "grove.io/podcliqueset.grove.io"
	// FinalizerPodClique holds a PodClique until its pods are gone.
	FinalizerPodClique = "grove.io/podclique.grove.io"
	// FinalizerPodCliqueScalingGroup holds a PodCliqueScalingGroup until its PodCliques are gone.
	FinalizerPodCliqueScalingGroup = "grove.io/podcliquescalinggroup.grove.io"
	// FinalizerClusterTopology holds a ClusterTopology while a PodCliqueSet uses it.
	FinalizerClusterTopology = "grove.io/clustertopology"
)

// SchedulingGatePodGangPending holds a pod back until its PodGang lists it and, in a scaled gang, until the base gang
// is scheduled.
const SchedulingGatePodGangPending = "grove.io/podgang-pending-creation"

// Environment variables in every container and init container of a pod.
const (
	// EnvPodCliqueSetName has the name of the PodCliqueSet.
	EnvPodCliqueSetName = "GROVE_PCS_NAME"
	// EnvPodCliqueSetIndex has the index of the replica of the set.
	EnvPodCliqueSetIndex = "GROVE_PCS_INDEX"
	// EnvPodCliqueName has the name of the PodClique.
	EnvPodCliqueName = "GROVE_PCLQ_NAME"
	// EnvPodIndex has the index of the pod in its PodClique.
	EnvPodIndex = "GROVE_PCLQ_POD_INDEX"
	// EnvHeadlessService has the full DNS name of the replica's headless Service.
	EnvHeadlessService = "GROVE_HEADLESS_SERVICE"
	// EnvPodCliqueScalingGroupName has the name of the PodCliqueScalingGroup; only in a scaling group.
	EnvPodCliqueScalingGroupName = "GROVE_PCSG_NAME"
	// EnvPodCliqueScalingGroupIndex has the index of the copy of the scaling group; only in a scaling group.
	EnvPodCliqueScalingGroupIndex = "GROVE_PCSG_INDEX"
	// EnvPodCliqueScalingGroupTemplatePods has the number of pods in one copy of the scaling group; only in a scaling
	// group.
	EnvPodCliqueScalingGroupTemplatePods = "GROVE_PCSG_TEMPLATE_NUM_PODS"
)
