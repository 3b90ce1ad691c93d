package placement

import (
	batchv1 "k8s.io/api/batch/v1"
)

// Annotations by which a Job asks for a placement.
const (
	topologyAnnotation  = "kai.scheduler/topology"
	requiredAnnotation  = "kai.scheduler/topology-required-placement"
	preferredAnnotation = "kai.scheduler/topology-preferred-placement"
)

func readJob(job *batchv1.Job, topologies Topologies) (Workload, error) {
	owns := labelled(job.Namespace, map[string]string{batchv1.JobNameLabel: job.Name})
	workload := Workload{Pods: orOne(job.Spec.Parallelism), Owns: owns}
	claims, err := claimsOf(topologies, job.Annotations[topologyAnnotation], "", job.Annotations[requiredAnnotation],
		job.Annotations[preferredAnnotation], workload.Pods, owns)
	workload.Claims = claims
	return workload, err
}
