package kubeflow

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/podgrouper/internal/grouping"
)

// replicas are those of one type.
type replicas struct {
	name   string
	fields grouping.Fields
	path   *field.Path
	// count is how many replicas there are, and needed how many of them start together.
	count, needed int32
	// left is how many of them have yet to complete; nil while none is complete.
	left *int32
}

// indexed is set for workers only: there is one coordinator, or few that are not related to each other.
func (r replicas) indexed() *grouping.Indexed {
	if r.name != worker {
		return nil
	}
	return &grouping.Indexed{Pods: r.count}
}

// replicas returns the replica types of the job, each needed with all its replicas.
func (k kind) replicas(job grouping.Fields) []replicas {
	var found []replicas
	specs := job.Map("spec", k.specs)
	for _, name := range k.types {
		key, given := spelt(specs, name)
		if !given {
			continue
		}
		otherwise := int32(1)
		if k.noWorkers && name == worker {
			otherwise = 0
		}
		count := specs.Count(otherwise, key, "replicas")
		found = append(found, replicas{
			name:   name,
			fields: specs.Map(key),
			path:   field.NewPath("spec", k.specs, key),
			count:  count,
			needed: count,
			left:   left(job, name, count),
		})
	}
	return found
}

func left(job grouping.Fields, name string, count int32) *int32 {
	complete := job.Count(0, "status", "replicaStatuses", name, "succeeded")
	if complete == 0 {
		return nil
	}
	return new(max(count-complete, 0))
}

// spelt returns the spelling of a replica type in the job: the operators take it in upper and lower case alike.
func spelt(specs grouping.Fields, name string) (string, bool) {
	if specs.Has(name) {
		return name, true
	}
	for _, key := range slices.Sorted(maps.Keys(specs)) {
		if strings.EqualFold(key, name) {
			return key, true
		}
	}
	return "", false
}

// lower lowers the minima by the job's elastic policy, its scheduling policy and its way of making the launcher, and
// returns what is wrong with these.
func lower(job grouping.Fields, all []replicas) field.ErrorList {
	elastic, wrong := minimum(job, "spec", "elasticPolicy", "minReplicas")
	available, more := minimum(job, "spec", "runPolicy", "schedulingPolicy", "minAvailable")
	for i := range all {
		if r := &all[i]; r.name == worker && elastic != nil {
			r.needed = min(r.needed, *elastic)
		}
	}
	if available != nil {
		deal(*available, all)
	}
	if job.Text("spec", "launcherCreationPolicy") == "WaitForWorkersReady" {
		for i := range all {
			if all[i].name == launcher {
				all[i].needed = 0
			}
		}
	}
	return append(wrong, more...)
}

// minimum returns a number of pods that suffices, or nil if all are needed.
func minimum(job grouping.Fields, path ...string) (*int32, field.ErrorList) {
	if !job.Has(path...) {
		return nil, nil
	}
	number := job.Count(0, path...)
	if number > 0 {
		return &number, nil
	}
	return nil, field.ErrorList{field.Invalid(field.NewPath(path[0], path[1:]...), job.Value(path...),
		"must be a whole number above 0, or be left out; all replicas are waited for instead")}
}

// deal lowers the minima so that their sum is at most total.
func deal(total int32, all []replicas) {
	for i := range all {
		all[i].needed = min(all[i].needed, total)
		total -= all[i].needed
	}
}
