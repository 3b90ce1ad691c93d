package podgroups

import (
	"cmp"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"packtree.dev/podgrouper/internal/grouping"
)

// Defaults are the fields of PodGroups that a workload does not set. The zero value sets nothing.
type Defaults struct {
	// Queue is the name of a queue.
	Queue string
	// PriorityClasses are names of PriorityClasses, by the kind of the workload's owner. The key otherKinds holds for
	// all kinds without an entry.
	PriorityClasses map[string]string
}

// otherKinds stands for all kinds without a priority class of their own.
const otherKinds = "*"

// BindFlags adds the flags that set the defaults.
func (d *Defaults) BindFlags(flags *pflag.FlagSet) {
	flags.StringVar(&d.Queue, "default-queue", "",
		"queue of PodGroups of workloads that name none; KAI's scheduler places nothing without a queue")
	flags.StringToStringVar(&d.PriorityClasses, "default-priority-classes", nil,
		"priority classes of PodGroups of workloads that name none, by the owner's kind, as in "+
			"Deployment=inference,*=train")
}

// Decide is the function Decide with the defaults filled in.
func (d Defaults) Decide(w grouping.Workload, levels grouping.Levels) Decision {
	decision := Decide(w, levels)
	spec := &decision.PodGroup.Spec
	spec.Queue = cmp.Or(spec.Queue, d.Queue)
	spec.PriorityClassName = cmp.Or(spec.PriorityClassName, d.priorityClass(w.Owner.Kind.GroupKind()))
	return decision
}

func (d Defaults) priorityClass(kind schema.GroupKind) string {
	return cmp.Or(d.PriorityClasses[kind.Kind], d.PriorityClasses[otherKinds])
}
