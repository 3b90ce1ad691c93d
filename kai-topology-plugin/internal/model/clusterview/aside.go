package clusterview

import (
	"maps"

	fwk "k8s.io/kube-scheduler/framework"
)

// Aside runs a function during which the nodes are shown otherwise than they are, and as they are afterwards. No
// answer that was given before is the worse for it: see Holds. Nobody else asks the view meanwhile.
func (v *View) Aside(nodes []fwk.NodeInfo, run func() error) error {
	v.follow(nodes)
	before := v.moments
	before.relabelled = maps.Clone(before.relabelled)
	err := run()
	v.follow(nodes)
	v.moments = before
	return err
}
