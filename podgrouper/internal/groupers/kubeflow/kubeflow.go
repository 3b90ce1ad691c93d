// Package kubeflow groups the pods of the training jobs of Kubeflow: a leaf for each replica type, such as master and
// worker. All replicas start together, unless the job has a smaller minimum.
package kubeflow

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/podgrouper/internal/grouping"
)

// Labels that the operators put on pods: mostly the replica type, in lower case; for MPIJobs v2 the role.
const (
	labelReplicaType = "training.kubeflow.org/replica-type"
	labelRole        = "training.kubeflow.org/job-role"
	// labelReplicaIndex is the number of a pod among those of its replica type.
	labelReplicaIndex = "training.kubeflow.org/replica-index"
)

// Replica types with rules of their own.
const (
	worker   = "Worker"
	launcher = "Launcher"
)

// ranks is the group of launcher and workers if the launcher works as a worker.
const ranks = "ranks"

// The groupers of each kind. Replica types are in the order in which a smaller minimum is distributed among them:
// coordinators first, workers last.
var (
	MPIJob     = kind{specs: "mpiReplicaSpecs", types: []string{launcher, worker}, noWorkers: true}.grouper()
	PyTorchJob = kind{specs: "pytorchReplicaSpecs", types: []string{"Master", worker}}.grouper()
	TFJob      = kind{specs: "tfReplicaSpecs", types: []string{"Chief", "Master", "PS", "Evaluator", worker}}.grouper()
	XGBoostJob = kind{specs: "xgbReplicaSpecs", types: []string{"Master", worker}}.grouper()
	JAXJob     = kind{specs: "jaxReplicaSpecs", types: []string{worker}}.grouper()
	PaddleJob  = kind{specs: "paddleReplicaSpecs", types: []string{"Master", worker}}.grouper()
)

// kind has the differences between the kinds.
type kind struct {
	// specs is the field of the spec that holds the replica types.
	specs string
	types []string
	// noWorkers reports whether a job without a number of workers has none; other types have one replica then.
	noWorkers bool
}

func (k kind) grouper() grouping.Grouper {
	return grouping.Grouper{Group: k.group, Leaf: leaf, Index: index}
}

func (k kind) group(w grouping.Workload) grouping.Group {
	constraint, problems := grouping.FromOwners(w)
	tree := grouping.Group{Constraint: constraint, Problems: problems}
	job := w.Owner.Content
	tree.PriorityClassName = job.Text("spec", "runPolicy", "schedulingPolicy", "priorityClass")
	replicas := k.replicas(job)
	tree.Problems = append(tree.Problems, lower(job, replicas)...)
	for _, r := range replicas {
		pods := grouping.TemplateAt(r.fields, r.path, "template")
		own, wrong := grouping.FromTemplates(pods)
		tree.Templates = append(tree.Templates, pods)
		tree.Problems = append(tree.Problems, wrong...)
		tree.SubGroups = append(tree.SubGroups, grouping.SubGroup{
			Name:       strings.ToLower(r.name),
			MinMember:  new(r.needed),
			Left:       r.left,
			Expected:   &r.count,
			Constraint: own,
			Templates:  []grouping.Template{pods},
			Indexed:    r.indexed(),
		})
	}
	if job.Flag("spec", "runLauncherAsWorker") {
		tree.SubGroups = together(tree.SubGroups)
	}
	return tree.OrLeaf()
}

// together makes launcher and workers one group with the workers' constraint: all of them compute.
func together(groups []grouping.SubGroup) []grouping.SubGroup {
	parent := grouping.SubGroup{Name: ranks}
	for i := range groups {
		groups[i].Parent = ranks
		if groups[i].Name == strings.ToLower(worker) {
			parent.Constraint, groups[i].Constraint = groups[i].Constraint, grouping.Constraint{}
		}
	}
	return append([]grouping.SubGroup{parent}, groups...)
}

// index counts workers from 0. A launcher that works too has the number 0, and the workers of its MPIJob begin with 1.
func index(w grouping.Workload, pod *corev1.Pod) (int32, bool) {
	number, known := grouping.ParseIndex(pod.Labels[labelReplicaIndex])
	if w.Owner.Content.Flag("spec", "runLauncherAsWorker") {
		number--
	}
	return number, known && number >= 0
}

func leaf(_ grouping.Workload, pod *corev1.Pod) (string, bool) {
	for _, key := range []string{labelReplicaType, labelRole} {
		if name := strings.ToLower(pod.Labels[key]); name != "" {
			return name, true
		}
	}
	return "", false
}
