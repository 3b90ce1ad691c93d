package live

import "k8s.io/apimachinery/pkg/runtime/schema"

// Made are the kinds of a PodCliqueSet's objects.
var Made = []schema.GroupVersionKind{
	{Group: "grove.io", Version: "v1alpha1", Kind: "PodClique"},
	{Group: "grove.io", Version: "v1alpha1", Kind: "PodCliqueScalingGroup"},
	{Group: "scheduler.grove.io", Version: "v1alpha1", Kind: "PodGang"},
	{Group: "scheduling.run.ai", Version: "v2alpha2", Kind: "PodGroup"},
	{Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "ServiceAccount"},
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
}
