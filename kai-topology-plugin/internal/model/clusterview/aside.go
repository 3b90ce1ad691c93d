package clusterview

import (
	"maps"

	fwk "k8s.io/kube-scheduler/framework"
)

// Aside runs a function while the nodes are shown changed, and restores them afterwards. Earlier answers stay valid:
// see Holds. The view has no other user meanwhile.
func (v *View) Aside(nodes []fwk.NodeInfo, run func() error) error {
	v.follow(nodes)
	before := v.moments
	before.relabelled = maps.Clone(before.relabelled)
	err := run()
	v.follow(nodes)
	v.moments = before
	return err
}
