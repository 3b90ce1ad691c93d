// Package kubeflow groups the pods of the training jobs of Kubeflow: a leaf for each replica type, such as master and
// worker. All replicas start together, unless the job itself says that fewer do.
package kubeflow

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/podgrouper/internal/grouping"
)

// labelReplicaType is put on pods by the training operators, in lower case.
const labelReplicaType = "training.kubeflow.org/replica-type"

const worker = "Worker"

// The groupers of each kind. Replica types come in the order in which a minimum below the sum is dealt out to them:
// whoever coordinates first, workers last.
var (
	MPIJob     = grouper("mpiReplicaSpecs", "Launcher", worker)
	PyTorchJob = grouper("pytorchReplicaSpecs", "Master", worker)
	TFJob      = grouper("tfReplicaSpecs", "Chief", "Master", "PS", "Evaluator", worker)
	XGBoostJob = grouper("xgbReplicaSpecs", "Master", worker)
	JAXJob     = grouper("jaxReplicaSpecs", worker)
)

func grouper(specs string, types ...string) grouping.Grouper {
	return grouping.Grouper{
		Group:    func(w grouping.Workload) grouping.Group { return group(w, specs, types) },
		Leaf:     leaf,
		Template: []string{"spec", specs, worker, "template"},
	}
}

func group(w grouping.Workload, specs string, types []string) grouping.Group {
	constraint, problems := grouping.FromOwners(w)
	tree := grouping.Group{Constraint: constraint, Problems: problems}
	job := w.Owner.Content
	tree.PriorityClassName = job.Text("spec", "runPolicy", "schedulingPolicy", "priorityClass")
	needed := minima(job, specs, types)
	for _, kind := range types {
		replicas := job.Map("spec", specs, kind)
		if replicas == nil {
			continue
		}
		annotations := []string{"template", "metadata", "annotations"}
		own, wrong := grouping.FromAnnotations(replicas.Texts(annotations...), field.NewPath("spec", specs, kind).Child(annotations[0], annotations[1:]...))
		tree.Problems = append(tree.Problems, wrong...)
		tree.SubGroups = append(tree.SubGroups, grouping.SubGroup{
			Name:       strings.ToLower(kind),
			MinMember:  new(needed[kind]),
			Constraint: own,
		})
	}
	return tree.OrLeaf()
}

// minima returns how many pods of each replica type start together: all, but for what the job's scheduling policy, its
// elastic policy, and its way of making the launcher say.
func minima(job grouping.Fields, specs string, types []string) map[string]int32 {
	needed := map[string]int32{}
	for _, kind := range types {
		if job.Has("spec", specs, kind) {
			needed[kind] = job.Count(1, "spec", specs, kind, "replicas")
		}
	}
	if elastic := []string{"spec", "elasticPolicy", "minReplicas"}; job.Has(elastic...) {
		needed[worker] = min(needed[worker], job.Count(1, elastic...))
	}
	if policy := []string{"spec", "runPolicy", "schedulingPolicy", "minAvailable"}; job.Has(policy...) {
		deal(job.Count(0, policy...), needed, types)
	}
	if job.Text("spec", "launcherCreationPolicy") == "WaitForWorkersReady" {
		needed["Launcher"] = 0
	}
	return needed
}

// deal lowers the minima so that they sum up to total at most.
func deal(total int32, needed map[string]int32, types []string) {
	for _, kind := range types {
		needed[kind] = min(needed[kind], total)
		total -= needed[kind]
	}
}

func leaf(_ grouping.Workload, pod *corev1.Pod) (string, bool) {
	kind := strings.ToLower(pod.Labels[labelReplicaType])
	return kind, kind != ""
}
