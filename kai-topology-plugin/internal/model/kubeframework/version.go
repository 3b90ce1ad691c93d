package kubeframework

import (
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Version is a node of a snapshot as it was once. The zero value is that of none. All nodes are compared with theirs
// for each decision, so that this reads them without a call.
type Version struct {
	info       *framework.NodeInfo
	generation int64
}

// VersionOf returns the version of a node, and the zero value for one that is not kube-scheduler's own.
func VersionOf(node fwk.NodeInfo) Version {
	info, own := node.(*framework.NodeInfo)
	if !own || info == nil {
		return Version{}
	}
	return Version{info, info.Generation}
}

// Is reports whether a node is the same one, and has not changed since. What changes a node, in place as it may be,
// gives it a generation that no node had before.
func (v Version) Is(node fwk.NodeInfo) bool {
	info, own := node.(*framework.NodeInfo)
	return own && info != nil && info == v.info && info.Generation == v.generation
}
