// Package jobset groups the pods of a JobSet: a leaf for each of its Jobs, which needs all pods that the Job runs at a
// time, from the Job's start to its completion. Pods that are made only after others have nodes are not needed: the
// gang would wait for them for ever.
package jobset

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/podgrouper/internal/groupers/job"
	"packtree.dev/podgrouper/internal/grouping"
)

// Labels that the JobSet controller puts on pods.
const (
	labelReplicatedJob = "jobset.sigs.k8s.io/replicatedjob-name"
	labelJobIndex      = "jobset.sigs.k8s.io/job-index"
)

// Annotations by which each Job of a JobSet, or of one of its replicated jobs, has a domain for itself. The other pods
// of a Job are then made after its first one has a node, unless nodes were labelled for that beforehand.
const (
	annotationExclusive    = "alpha.jobset.sigs.k8s.io/exclusive-topology"
	annotationNodeSelector = "alpha.jobset.sigs.k8s.io/node-selector"
)

// Grouper groups JobSets.
var Grouper = grouping.Grouper{Group: group, Leaf: leaf, Index: job.Index}

func group(w grouping.Workload) grouping.Group {
	constraint, problems := grouping.FromOwners(w)
	tree := grouping.Group{Constraint: constraint, Problems: problems}
	stages := stagesOf(w.Owner.Content)
	for i, fields := range w.Owner.Content.List("spec", "replicatedJobs") {
		path := field.NewPath("spec", "replicatedJobs").Index(i)
		replicated := replicatedJob{
			Fields:    fields,
			stage:     stages[i],
			jobs:      grouping.TemplateAt(fields, path, "template"),
			pods:      grouping.TemplateAt(fields, path, "template", "spec", "template"),
			exclusive: w.Owner.GetAnnotations(),
		}
		groups, wrong := replicated.groups()
		tree.Templates = append(tree.Templates, replicated.jobs, replicated.pods)
		tree.Problems = append(tree.Problems, wrong...)
		tree.SubGroups = append(tree.SubGroups, groups...)
		if tree.TooLarge() {
			break
		}
	}
	return tree.OrLeaf()
}

// replicatedJob is one entry of the JobSet.
type replicatedJob struct {
	grouping.Fields
	stage      stage
	jobs, pods grouping.Template
	// exclusive are the annotations of the JobSet, which hold for each Job.
	exclusive map[string]string
}

// groups returns a leaf for each Job. When some of the Jobs are complete, the leaves are below a parent that needs the
// others: the JobSet does not say which Jobs are complete.
func (r replicatedJob) groups() ([]grouping.SubGroup, field.ErrorList) {
	own, problems := grouping.FromTemplates(r.jobs, r.pods)
	needed, wrong := r.needed()
	var groups []grouping.SubGroup
	parent := ""
	if r.stage.open > 0 && r.stage.complete > 0 {
		parent = r.Text("name") + "-jobs"
		groups = append(groups, grouping.SubGroup{Name: parent, MinSubGroup: new(r.stage.open)})
	}
	for index := range min(r.Count(1, "replicas"), grouping.MostSubGroups+1) {
		groups = append(groups, grouping.SubGroup{
			Name:       name(r.Text("name"), strconv.Itoa(int(index))),
			Parent:     parent,
			MinMember:  new(needed),
			Expected:   new(r.expected()),
			Constraint: own,
			Templates:  []grouping.Template{r.jobs, r.pods},
			Indexed:    r.indexed(),
		})
	}
	return groups, append(problems, wrong...)
}

// needed returns how many pods of each Job start together.
func (r replicatedJob) needed() (int32, field.ErrorList) {
	limit := job.Limit(r.Map("template", "spec"))
	needed, wrong := grouping.MinMember(r.jobs.Annotations, r.jobs.Path.Child("annotations"), r.lastWave(limit.Pods),
		limit)
	switch {
	case !r.stage.begun || r.stage.open == 0:
		return 0, wrong
	case r.inTurn():
		return min(needed, 1), wrong
	}
	return needed, wrong
}

// lastWave returns how many pods are left at the end when each Job runs so many at a time: they must not wait for pods
// that are complete.
func (r replicatedJob) lastWave(atATime int32) int32 {
	if atATime == 0 {
		return 0
	}
	if rest := r.Count(atATime, "template", "spec", "completions") % atATime; rest > 0 {
		return rest
	}
	return atATime
}

// expected returns how many pods of each Job are to run at a time, whichever Jobs have to be ready before. A JobSet
// does not say which of its Jobs are complete, so the number holds for each Job unless all are complete.
func (r replicatedJob) expected() int32 {
	if r.stage.open == 0 {
		return 0
	}
	return job.Limit(r.Map("template", "spec")).Pods
}

// inTurn reports whether the first pod of a Job must have a node before the others are made.
func (r replicatedJob) inTurn() bool {
	return oneAfterOther(r.exclusive) || oneAfterOther(r.jobs.Annotations)
}

// indexed does not know which pods are done: only the Jobs say so. A JobSet makes its Jobs Indexed unless they say
// otherwise.
func (r replicatedJob) indexed() *grouping.Indexed {
	if r.Text("template", "spec", "completionMode") == string(batchv1.NonIndexedCompletion) {
		return &grouping.Indexed{
			Obstacle: "the pods carry no index: give the template spec.completionMode Indexed, or remove " +
				"the annotation",
		}
	}
	atATime := job.Limit(r.Map("template", "spec")).Pods
	return &grouping.Indexed{Pods: r.Count(atATime, "template", "spec", "completions"), AtATime: atATime,
		InTurn: r.inTurn()}
}

func oneAfterOther(annotations map[string]string) bool {
	_, exclusive := annotations[annotationExclusive]
	_, labelled := annotations[annotationNodeSelector]
	return exclusive && !labelled
}

func leaf(_ grouping.Workload, pod *corev1.Pod) (string, bool) {
	replicated, job := pod.Labels[labelReplicatedJob], pod.Labels[labelJobIndex]
	return name(replicated, job), replicated != "" && job != ""
}

func name(replicated, job string) string {
	return replicated + "-" + job
}
