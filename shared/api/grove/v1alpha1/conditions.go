package v1alpha1

// Condition types of PodCliqueSet, PodClique and PodCliqueScalingGroup.
const (
	// ConditionReady of a PodCliqueSet: every replica is there and available. Computed from the replicas, their gangs
	// and cliques; its reason names what is missing, and its message repeats why the first waiting gang waits.
	ConditionReady = "Ready"
	// ConditionTopologyLevelsUnavailable of a PodCliqueSet: True when a domain that its constraints name is not a level
	// of its ClusterTopology, Unknown when there is no such ClusterTopology.
	ConditionTopologyLevelsUnavailable = "TopologyLevelsUnavailable"
	// ConditionTopologyKept of a PodCliqueSet: True while gangs keep another topology than the set names, because pods
	// were placed under it before they could turn. The message names them and what to do.
	ConditionTopologyKept = "TopologyKept"
	// ConditionUpdating of a PodCliqueSet: True while not all pods have the set's template. The message says what the
	// update waits for, why, and how many pods have the template. Absent before the first update.
	ConditionUpdating = "Updating"
	// ConditionMinAvailableBreached of a PodClique or PodCliqueScalingGroup: True when it once had its minimum and no
	// longer has.
	ConditionMinAvailableBreached = "MinAvailableBreached"
	// ConditionPodCliqueScheduled of a PodClique: True when minAvailable pods stand on nodes.
	ConditionPodCliqueScheduled = "PodCliqueScheduled"
	// ConditionPodsFailing of a PodClique or PodCliqueScalingGroup: True when pods have nodes and do not get ready by
	// themselves; absent otherwise.
	ConditionPodsFailing = "PodsFailing"
)

// Reasons of Updating, beside UpdateInProgress (True).
const (
	// ReasonUpdateStopped (True): pods of the new template cannot be created, scheduled or run, and no more are
	// replaced until they are ready. The message names them and says what they wait for.
	ReasonUpdateStopped = "UpdateStopped"
	// ReasonPodsAwaitDeletion (True): with OnDelete, pods of an old template stay until the user deletes them.
	ReasonPodsAwaitDeletion = "PodsAwaitDeletion"
	// ReasonUpdateFinished (False): all pods have the template.
	ReasonUpdateFinished = "UpdateFinished"
)

// Reasons of PodsFailing.
const (
	// ReasonImageNotPulled: the image of a container cannot be pulled.
	ReasonImageNotPulled = "ImageNotPulled"
	// ReasonContainerNotCreated: a container cannot be made, for want of a Secret for example.
	ReasonContainerNotCreated = "ContainerNotCreated"
	// ReasonContainerEnds: a container ended, was started again, and the pod is not ready.
	ReasonContainerEnds = "ContainerEnds"
)

// Reasons of TopologyLevelsUnavailable.
const (
	// ReasonClusterTopologyNotFound (Unknown): the ClusterTopology does not exist.
	ReasonClusterTopologyNotFound = "ClusterTopologyNotFound"
	// ReasonClusterTopologyLevelsUnavailable (True): a domain in use is not a level of the ClusterTopology.
	ReasonClusterTopologyLevelsUnavailable = "ClusterTopologyLevelsUnavailable"
	// ReasonAllClusterTopologyLevelsAvailable (False): every domain in use is a level of the ClusterTopology, or none
	// is in use.
	ReasonAllClusterTopologyLevelsAvailable = "AllClusterTopologyLevelsAvailable"
)

// Reasons of TopologyKept.
const (
	// ReasonPodsScheduledBefore (True): pods stand on nodes that were placed under another topology than the set names.
	ReasonPodsScheduledBefore = "PodsScheduledBefore"
	// ReasonNamedTopologyInForce (False): every gang has the topology that the set names, or there are no constraints.
	ReasonNamedTopologyInForce = "NamedTopologyInForce"
)

// Reasons of MinAvailableBreached.
const (
	// ReasonInsufficientReadyPods (True): fewer pods than minAvailable are ready.
	ReasonInsufficientReadyPods = "InsufficientReadyPods"
	// ReasonScheduledReplicasBelowMinAvailable (True for what once had its minimum, False for what never had): fewer
	// pods or copies than minAvailable stand on nodes.
	ReasonScheduledReplicasBelowMinAvailable = "ScheduledReplicasBelowMinAvailable"
	// ReasonInsufficientAvailablePodCliqueScalingGroupReplicas (True): fewer copies than minAvailable are available.
	ReasonInsufficientAvailablePodCliqueScalingGroupReplicas = "InsufficientAvailablePodCliqueScalingGroupReplicas"
	// ReasonSufficientReadyPods (False): at least minAvailable pods are ready.
	ReasonSufficientReadyPods = "SufficientReadyPods"
	// ReasonSufficientAvailablePodCliqueScalingGroupReplicas (False): at least minAvailable copies are available.
	ReasonSufficientAvailablePodCliqueScalingGroupReplicas = "SufficientAvailablePodCliqueScalingGroupReplicas"
	// ReasonUpdateInProgress (Unknown): an update replaces pods.
	ReasonUpdateInProgress = "UpdateInProgress"
	// ReasonNeverAvailable (False): the minimum has not been reached yet for the first time, so that there is nothing
	// to fall below.
	ReasonNeverAvailable = "NeverAvailable"
)

// Reasons of PodCliqueScheduled.
const (
	// ReasonSufficientScheduledPods (True): at least minAvailable pods stand on nodes.
	ReasonSufficientScheduledPods = "SufficientScheduledPods"
	// ReasonInsufficientScheduledPods (False): fewer pods than minAvailable stand on nodes.
	ReasonInsufficientScheduledPods = "InsufficientScheduledPods"
)

// Reasons of Ready of a PodCliqueSet.
const (
	// ReasonAllReplicasAvailable (True): every replica is there and available.
	ReasonAllReplicasAvailable = "AllReplicasAvailable"
	// ReasonReplicasMissing (False): not all objects of the replicas have been created yet.
	ReasonReplicasMissing = "ReplicasMissing"
	// ReasonGangsWaiting (False): at least one gang's minimum is not scheduled yet.
	ReasonGangsWaiting = "GangsWaiting"
	// ReasonPodsNotReady (False): all gangs' minima are scheduled, but some are not ready yet.
	ReasonPodsNotReady = "PodsNotReady"
	// ReasonReconcileFailed (False): the operator could not write what it decided; lastErrors has the errors.
	ReasonReconcileFailed = "ReconcileFailed"
	// ReasonBeingDeleted (False): the set is being deleted, and waits for what is still there.
	ReasonBeingDeleted = "BeingDeleted"
)
