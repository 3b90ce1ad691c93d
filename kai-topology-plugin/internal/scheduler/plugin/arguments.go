package plugin

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"packtree.dev/kai-topology-plugin/internal/scheduler/capacity"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/manifests"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/repairpolicy"
)

// arguments are what a KubeSchedulerConfiguration says of the plugin, in pluginConfig.
type arguments struct {
	// Placement is which domains those gangs get that do not say so themselves: Pack, also if unset, or Spread.
	Placement packing.Placement `json:"placement,omitempty"`
	// Shapes are gangs for which metrics count how many more fit.
	Shapes []capacity.Shape `json:"shapes,omitempty"`
	// Repair is what may be moved for gangs that have lost pods and do not say so themselves.
	Repair repairArguments `json:"repair,omitzero"`
	// ReserveFor is how long room is reserved for a gang that was overtaken too often while no pod leaves it; unset is
	// five minutes, and 0s never.
	ReserveFor *metav1.Duration `json:"reserveFor,omitempty"`
	// AdmissionCheck has AdmissionChecks of Kueue answered.
	AdmissionCheck bool `json:"admissionCheck,omitempty"`
	// repair is what Repair says.
	repair repairpolicy.Policy
}

// repairArguments are what annotations of PodGroups say otherwise.
type repairArguments struct {
	// Move is a value of AnnotationRepairMove; unset is none.
	Move *string `json:"move,omitempty"`
	// After is a value of AnnotationRepairAfter; unset is two minutes.
	After *string `json:"after,omitempty"`
}

// policy reads the arguments as the annotations are read.
func (a repairArguments) policy() (repairpolicy.Policy, error) {
	said := map[string]string{}
	if a.Move != nil {
		said[scheduling.AnnotationRepairMove] = *a.Move
	}
	if a.After != nil {
		said[scheduling.AnnotationRepairAfter] = *a.After
	}
	policy, errs := repairpolicy.Parse(said, repairpolicy.Policy{After: repairpolicy.DefaultAfter})
	if len(errs) > 0 {
		argument := "move"
		if _, wrong := said[scheduling.AnnotationRepairAfter]; wrong &&
			!strings.Contains(errs[0].Field, scheduling.AnnotationRepairMove) {
			argument = "after"
		}
		return policy, fmt.Errorf("repair.%s: %q %s", argument, errs[0].BadValue, errs[0].Detail)
	}
	return policy, nil
}

// argumentsOf reads the arguments, which may be absent, and names every field that does not exist.
func argumentsOf(configured runtime.Object) (arguments, error) {
	written, ok := configured.(*runtime.Unknown)
	if !ok || len(written.Raw) == 0 {
		return arguments{Placement: packing.Pack, repair: repairpolicy.Policy{After: repairpolicy.DefaultAfter}}, nil
	}
	read := arguments{Placement: packing.Pack}
	if problems := manifests.DecodeStrict(written.Raw, &read); len(problems) > 0 {
		return arguments{}, fmt.Errorf("pluginConfig of %s: args.%s: %s", Name, problems[0].Path, problems[0].Reason)
	}
	if err := (packing.Options{Placement: read.Placement}).Check(); err != nil {
		return arguments{}, err
	}
	var err error
	if read.ReserveFor != nil && read.ReserveFor.Duration < 0 {
		return arguments{}, fmt.Errorf("pluginConfig of %s: args.reserveFor: %s is negative", Name, read.ReserveFor.Duration)
	}
	if read.repair, err = read.Repair.policy(); err != nil {
		return arguments{}, fmt.Errorf("pluginConfig of %s: args.%w", Name, err)
	}
	if err := capacity.CheckShapes(read.Shapes); err != nil {
		return arguments{}, fmt.Errorf("pluginConfig of %s: args.%w", Name, err)
	}
	return read, nil
}
