package nodes_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	"packtree.dev/shared/packing"
)

func TestPath(t *testing.T) {
	labels := map[string]string{"zone": "z", "rack": "", "host": "h"}
	for name, c := range map[string]struct {
		levels   []string
		want     packing.Path
		inDomain bool
	}{
		"no level is the cluster":           {inDomain: true},
		"from the broadest level down":      {[]string{"zone", "host"}, packing.Path{"z", "h"}, true},
		"an empty value is a domain":        {[]string{"zone", "rack"}, packing.Path{"z", ""}, true},
		"it ends where a label is missing":  {[]string{"zone", "block", "host"}, packing.Path{"z"}, false},
		"it is empty without the first one": {[]string{"block", "host"}, nil, false},
	} {
		got := nodes.Path(labels, c.levels)
		assert.True(t, slices.Equal(got, c.want), "%s: %q", name, got)
		if _, got := nodes.Domain(labels, c.levels); got != c.inDomain {
			t.Errorf("%s: in a domain of the last level: %t", name, got)
		}
	}
}

func TestSchedulable(t *testing.T) {
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus) *corev1.Node {
		return &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: kind, Status: status}}}}
	}
	taint := func(key string, effect corev1.TaintEffect) *corev1.Node {
		return &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: key, Effect: effect}}}}
	}
	for name, c := range map[string]struct {
		node               *corev1.Node
		ready, schedulable bool
	}{
		"a node of a manifest":        {&corev1.Node{}, true, true},
		"cordoned":                    {&corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}}, true, false},
		"ready":                       {condition(corev1.NodeReady, corev1.ConditionTrue), true, true},
		"not ready":                   {condition(corev1.NodeReady, corev1.ConditionFalse), false, false},
		"its kubelet is silent":       {condition(corev1.NodeReady, corev1.ConditionUnknown), false, false},
		"another condition":           {condition(corev1.NodeDiskPressure, corev1.ConditionFalse), true, true},
		"tainted by Kubernetes":       {taint(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule), true, false},
		"out of service":              {taint(corev1.TaintNodeOutOfService, corev1.TaintEffectNoExecute), true, false},
		"reserved for pods with GPUs": {taint("nvidia.com/gpu", corev1.TaintEffectNoSchedule), true, true},
	} {
		assert.Equal(t, c.ready, nodes.Ready(c.node), "%s: ready", name)
		assert.Equal(t, c.schedulable, nodes.Schedulable(c.node), "%s: schedulable", name)
	}
}

func TestIsDevice(t *testing.T) {
	for resource, want := range map[corev1.ResourceName]bool{
		"nvidia.com/gpu": true, "rdma/hca": true, "cpu": false, "hugepages-2Mi": false, "requests.nvidia.com/gpu": false,
		"kubernetes.io/batch-cpu": false,
	} {
		assert.Equal(t, want, nodes.IsDevice(resource), "%s", resource)
	}
}

func TestRequestsCountAnAcceptedResize(t *testing.T) {
	cpu := func(amount string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(amount)}}
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: cpu("1")}}}}
	accepted := cpu("3")
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "main", Resources: &accepted, AllocatedResources: accepted.Requests,
	}}
	requested := nodes.Requests(pod)["cpu"]
	assert.Equal(t, "3", requested.String(), "CPUs")
}
