package plugin

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"packtree.dev/kai-topology-plugin/internal/capacity"
	"packtree.dev/kai-topology-plugin/internal/shapes"
	"packtree.dev/shared/manifests"
	"packtree.dev/shared/packing"
)

// arguments are what a KubeSchedulerConfiguration says of the plugin, in pluginConfig.
type arguments struct {
	// Placement is which domains those gangs get that do not say so themselves: Pack, also if unset, or Spread.
	Placement packing.Placement `json:"placement,omitempty"`
	// Shapes are gangs of which metrics tell how many more fit, besides those that there are.
	Shapes []shapes.Named `json:"shapes,omitempty"`
	// RepairabilityInterval is how long after all single failures of nodes and domains were foretold that is done again, for
	// metrics and for the condition Repairable of PodGroups. Unset or 0: never.
	RepairabilityInterval metav1.Duration `json:"repairabilityInterval,omitzero"`
	// shapes are what Shapes say.
	shapes []capacity.Shape
}

// minRepairabilityInterval bounds how often statuses may change for what is foretold.
const minRepairabilityInterval = time.Minute

// argumentsOf reads the arguments, of which there may be none, and names every field that does not exist.
func argumentsOf(configured runtime.Object) (arguments, error) {
	written, ok := configured.(*runtime.Unknown)
	if !ok || len(written.Raw) == 0 {
		return arguments{Placement: packing.Pack}, nil
	}
	read := arguments{Placement: packing.Pack}
	if problems := manifests.DecodeStrict(written.Raw, &read); len(problems) > 0 {
		return arguments{}, fmt.Errorf("pluginConfig of %s: args.%s: %s", Name, problems[0].Path, problems[0].Reason)
	}
	if err := (packing.Options{Placement: read.Placement}).Check(); err != nil {
		return arguments{}, err
	}
	if interval := read.RepairabilityInterval.Duration; interval != 0 && interval < minRepairabilityInterval {
		return arguments{}, fmt.Errorf("pluginConfig of %s: args.repairabilityInterval: must be 0 or at least %s, not %s",
			Name, minRepairabilityInterval, interval)
	}
	var err error
	if read.shapes, err = shapes.FromConfiguration(read.Shapes); err != nil {
		return arguments{}, fmt.Errorf("pluginConfig of %s: args.%w", Name, err)
	}
	return read, nil
}
