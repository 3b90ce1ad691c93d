package plugin

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"packtree.dev/shared/manifests"
	"packtree.dev/shared/packing"
)

// arguments are what a KubeSchedulerConfiguration says of the plugin, in pluginConfig.
type arguments struct {
	// Placement is which domains those gangs get that do not say so themselves: Pack, also if unset, or Spread.
	Placement packing.Placement `json:"placement,omitempty"`
}

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
	return read, packing.Options{Placement: read.Placement}.Check()
}
