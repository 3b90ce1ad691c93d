package v1alpha1

// SchedulerName is the spec.schedulerName by which a pod opts in to gang and topology aware scheduling.
const SchedulerName = "kai-scheduler"

// Labels on pods.
const (
	// LabelSubGroupName names the leaf of its PodGroup that a pod belongs to. A pod of a PodGroup without subgroups has
	// none.
	LabelSubGroupName = "kai.scheduler/subgroup-name"
)

// Labels on owners and pods that the pod grouper carries over to the PodGroup.
const (
	// LabelQueue names the queue that a workload is charged to.
	LabelQueue = "kai.scheduler/queue"
	// LabelNodePool names the pool of nodes that a workload may use.
	LabelNodePool = "kai.scheduler/node-pool"
	// LabelPriorityClassName names the PriorityClass of a workload as a whole.
	LabelPriorityClassName = "priorityClassName"
	// LabelPreemptibility says whether a workload may be preempted: preemptible or non-preemptible.
	LabelPreemptibility = "kai.scheduler/preemptibility"
)

// Annotations on the top owner of pods, or on a replica template where a workload has several, from which the pod
// grouper makes a topology constraint.
const (
	// AnnotationTopology names the Topology that has the levels of the two placement annotations.
	AnnotationTopology = "kai.scheduler/topology"
	// AnnotationTopologyRequired is the level, a node label key of the Topology, that all pods must share.
	AnnotationTopologyRequired = "kai.scheduler/topology-required-placement"
	// AnnotationTopologyPreferred is the level, a node label key of the Topology, that the pods should share if they
	// can.
	AnnotationTopologyPreferred = "kai.scheduler/topology-preferred-placement"
)

// Annotations in the same places, from which the pod grouper divides pods that carry an index into segments.
const (
	// AnnotationSegmentSize is the number of pods of a segment: those with the indices 0 to size-1 are the first one.
	AnnotationSegmentSize = "kai.scheduler/segment-size"
	// AnnotationSegmentRequired is the level, a node label key of the Topology in AnnotationTopology, that the pods of
	// each segment must share.
	AnnotationSegmentRequired = "kai.scheduler/segment-topology-required-placement"
	// AnnotationSegmentPreferred is the level, a node label key of the Topology in AnnotationTopology, that the pods of
	// each segment should share if they can.
	AnnotationSegmentPreferred = "kai.scheduler/segment-topology-preferred-placement"
)

// Other annotations that the pod grouper reads.
const (
	// AnnotationSkipPodGrouper, when "true" on a pod or on any of its owners, makes the pod grouper leave the pod
	// alone.
	AnnotationSkipPodGrouper = "kai.scheduler/skip-podgrouper"
	// AnnotationLeftAlone, which the pod grouper sets to "true" on a pod that it leaves alone because an owner says so,
	// lets the scheduler place the pod by itself instead of waiting until it is grouped.
	AnnotationLeftAlone = "packtree.dev/left-alone"
	// AnnotationBatchMinMember, on a Job or another workload of like pods, is the number of its pods that must start
	// together; on the template of a JobSet's Jobs, of the pods of each Job.
	AnnotationBatchMinMember = "kai.scheduler/batch-min-member"
)
