// Package catalog is the table of workload kinds and their groupers.
package catalog

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"packtree.dev/podgrouper/internal/groupers/fallback"
	"packtree.dev/podgrouper/internal/groupers/job"
	"packtree.dev/podgrouper/internal/groupers/jobset"
	"packtree.dev/podgrouper/internal/groupers/kubeflow"
	"packtree.dev/podgrouper/internal/groupers/leaderworkerset"
	"packtree.dev/podgrouper/internal/groupers/podgang"
	"packtree.dev/podgrouper/internal/groupers/ray"
	"packtree.dev/podgrouper/internal/groupers/replicas"
	"packtree.dev/podgrouper/internal/groupers/revision"
	"packtree.dev/podgrouper/internal/groupers/spark"
	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/owners"
	"packtree.dev/podgrouper/internal/segments"
)

// groupers are the kinds with rules of their own for their pods. The outermost owner of a pod that is in this table
// is the pod's workload. A new kind needs a row here, a rule in the chart's role, and a row in the documentation.
var groupers = map[schema.GroupKind]grouping.Grouper{
	{Group: "scheduler.grove.io", Kind: "PodGang"}:               podgang.Grouper,
	{Group: "batch", Kind: "Job"}:                                job.Grouper,
	{Group: "apps", Kind: "Deployment"}:                          replicas.Grouper,
	{Group: "apps", Kind: "ReplicaSet"}:                          replicas.Grouper,
	{Group: "apps", Kind: "StatefulSet"}:                         replicas.Grouper,
	{Group: "jobset.x-k8s.io", Kind: "JobSet"}:                   jobset.Grouper,
	{Group: "leaderworkerset.x-k8s.io", Kind: "LeaderWorkerSet"}: leaderworkerset.Grouper,
	{Group: "kubeflow.org", Kind: "MPIJob"}:                      kubeflow.MPIJob,
	{Group: "kubeflow.org", Kind: "PyTorchJob"}:                  kubeflow.PyTorchJob,
	{Group: "kubeflow.org", Kind: "TFJob"}:                       kubeflow.TFJob,
	{Group: "kubeflow.org", Kind: "XGBoostJob"}:                  kubeflow.XGBoostJob,
	{Group: "kubeflow.org", Kind: "JAXJob"}:                      kubeflow.JAXJob,
	{Group: "kubeflow.org", Kind: "PaddleJob"}:                   kubeflow.PaddleJob,
	{Group: "ray.io", Kind: "RayCluster"}:                        ray.Grouper,
	{Group: "serving.knative.dev", Kind: "Revision"}:             revision.Grouper,
	{Group: "sparkoperator.k8s.io", Kind: "SparkApplication"}:    spark.Grouper,
}

// passed are the kinds that make workloads, or own pods in other ways, and never are the workload themselves.
var passed = map[schema.GroupKind]bool{
	// The node owns the mirror pods of its static pods.
	{Kind: "Node"}: true,
	// Each Job of a CronJob is a workload.
	{Group: "batch", Kind: "CronJob"}: true,
	// Each PodGang is a workload.
	{Group: "grove.io", Kind: "PodClique"}:               true,
	{Group: "grove.io", Kind: "PodCliqueScalingGroup"}:   true,
	{Group: "grove.io", Kind: "PodCliqueSet"}:            true,
	{Group: "nvidia.com", Kind: "DynamoGraphDeployment"}: true,
	// Each Workflow of a CronWorkflow is a workload.
	{Group: "argoproj.io", Kind: "CronWorkflow"}: true,
}

// Grouped reports whether the kind has a grouper of its own, which reads more of it than its metadata.
func Grouped(kind schema.GroupKind) bool {
	_, found := groupers[kind]
	return found
}

// For returns the grouper of a workload's owner: the one of its kind, or the one for unknown kinds. It divides leaves
// into segments if the user asks for that, except in a PodGang, which has constraints for its parts.
func For(owner grouping.Owner) grouping.Grouper {
	grouper, found := groupers[owner.Kind.GroupKind()]
	switch {
	case !found || owner.Outline:
		return segments.Of(fallback.Grouper)
	case owner.Kind.GroupKind() == owners.PodGangKind.GroupKind():
		return grouper
	default:
		return segments.Of(grouper)
	}
}

// Choose returns the workload of a pod: the outermost owner that has a grouper, or else the outermost one that may be a
// workload, or else the pod itself. If the pod is no part of an owner's gang, its workload is below that owner. The
// workload has no pods yet.
func Choose(pod *corev1.Pod, chain owners.Chain) grouping.Workload {
	chosen := choose(chain.Owners, func(apart func(*corev1.Pod) bool) bool { return apart(pod) })
	if chosen < 0 {
		return grouping.Workload{Owner: PodAsOwner(pod), Above: chain.Owners, Namespace: pod.Namespace}
	}
	return grouping.Workload{
		Owner: chain.Owners[chosen], Above: chain.Owners[chosen+1:], Below: chain.Owners[:chosen],
		Namespace: pod.Namespace,
	}
}

// Outgrown reports whether an owner is the workload of none of its pods, given the owners above it. Pods that are no
// part of the gang of one above may be the owner's.
func Outgrown(owner grouping.Owner, above []grouping.Owner) bool {
	return choose(append([]grouping.Owner{owner}, above...), func(func(*corev1.Pod) bool) bool { return true }) > 0
}

// choose returns the index of the workload of a pod with these owners, or -1. Apart is called with the Apart of owners
// that have one.
func choose(above []grouping.Owner, apart func(func(*corev1.Pod) bool) bool) int {
	chosen := -1
	for i, owner := range above {
		kind := owner.Kind.GroupKind()
		if of := groupers[kind].Apart; of != nil && apart(of) {
			break
		}
		if Grouped(kind) || !passed[kind] && (chosen < 0 || !Grouped(above[chosen].Kind.GroupKind())) {
			chosen = i
		}
	}
	return chosen
}

// PodAsOwner returns a pod as its own workload, for pods without an owner.
func PodAsOwner(pod *corev1.Pod) grouping.Owner {
	return grouping.Owner{Object: pod, Kind: corev1.SchemeGroupVersion.WithKind("Pod")}
}
