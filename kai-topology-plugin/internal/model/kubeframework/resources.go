package kubeframework

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/util"

	"packtree.dev/shared/packing"
)

// Resources says which resources of nodes count for the pods of a profile. Most do. Its filter may ignore some, and
// what a DeviceClass provides is no resource of a node that does not advertise it: there the filter for devices
// decides.
type Resources struct {
	filters Filters
	// enabled are the filters of the profile, known once all its plugins are.
	enabled func() sets.Set[string]
	// devices are nil without a cluster.
	devices fwk.SharedDRAManager
	// ignored has, by the name of a resource, whether the filter of the profile was found to ignore it.
	ignored sync.Map
}

// NewResources returns the resources as the filters of a profile see them. Filters may be nil if there is nothing to
// decide.
func NewResources(filters Filters) *Resources {
	r := &Resources{filters: filters, enabled: sync.OnceValue(func() sets.Set[string] { return enabledOf(filters) })}
	if with, ok := filters.(interface{ SharedDRAManager() fwk.SharedDRAManager }); ok &&
		utilfeature.DefaultFeatureGate.Enabled(features.DRAExtendedResource) {
		r.devices = with.SharedDRAManager()
	}
	return r
}

// Requests returns what a pod takes of a node, without what the profile ignores.
func (r *Resources) Requests(pod *corev1.Pod) (packing.Resources, error) {
	requests, err := Requests(pod)
	for name := range requests {
		if r.ignores(name) {
			delete(requests, name)
		}
	}
	return requests, err
}

// ByDevices returns, sorted, the resources that pods request and a DeviceClass provides, and the extended resources
// that no DeviceClass provides although one could. Nodes that advertise none of a provided resource may have devices
// for it.
func (r *Resources) ByDevices(pods ...*corev1.Pod) (provided, unprovided []string) {
	if r.devices == nil {
		return nil, nil
	}
	asked := sets.New[corev1.ResourceName]()
	for i, pod := range pods {
		if i == 0 || !Alike(pods[i-1], pod) {
			asked.Insert(asks(pod)...)
		}
	}
	for _, name := range sets.List(asked) {
		switch {
		case !util.IsDRAExtendedResourceName(name):
		case r.Provides(string(name)):
			provided = append(provided, string(name))
		default:
			unprovided = append(unprovided, string(name))
		}
	}
	return provided, unprovided
}

// asks returns the resources with a domain in their name that a pod asks for, some of them twice.
func asks(pod *corev1.Pod) (names []corev1.ResourceName) {
	for requests := range requestsOf(&pod.Spec) {
		for name, amount := range requests {
			if !amount.IsZero() && strings.Contains(string(name), "/") {
				names = append(names, name)
			}
		}
	}
	return names
}

// Provides reports whether a DeviceClass provides a resource.
func (r *Resources) Provides(name string) bool {
	return r.devices != nil && r.devices.DeviceClassResolver().GetDeviceClass(corev1.ResourceName(name)) != nil
}

// Claims reports whether volumes or devices are set aside for any of the pods before it is bound, which later pods
// cannot have then.
func (r *Resources) Claims(pods ...*corev1.Pod) bool {
	return r.readsDevices() && r.askForDevices(pods) || r.readsVolumes() && slices.ContainsFunc(pods, claimsVolumes)
}

// Supplied reports whether a pod asks for volumes or devices, whatever the filters of the profile.
func (r *Resources) Supplied(pod *corev1.Pod) bool {
	return r.askForDevices([]*corev1.Pod{pod}) || claimsVolumes(pod)
}

func (r *Resources) askForDevices(pods []*corev1.Pod) bool {
	if slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return len(pod.Spec.ResourceClaims) > 0 }) {
		return true
	}
	provided, _ := r.ByDevices(pods...)
	return len(provided) > 0
}

// claimsVolumes reports whether a volume of a pod comes from a PersistentVolumeClaim.
func claimsVolumes(pod *corev1.Pod) bool {
	for i := range pod.Spec.Volumes {
		if volume := &pod.Spec.Volumes[i]; volume.PersistentVolumeClaim != nil || volume.Ephemeral != nil {
			return true
		}
	}
	return false
}

// readsDevices and readsVolumes report whether any filter of the profile looks at claims for them.
func (r *Resources) readsDevices() bool { return r.enabled().Has(names.DynamicResources) }

func (r *Resources) readsVolumes() bool {
	return r.enabled().HasAny(names.VolumeBinding, names.VolumeRestrictions, names.VolumeZone, names.NodeVolumeLimits)
}

// FitsBeside reports whether a node has the resources and host ports for a pod once the others stand on it too.
func (r *Resources) FitsBeside(pod *corev1.Pod, node fwk.NodeInfo, others []*corev1.Pod) (bool, error) {
	crowded := node.Snapshot()
	for _, other := range others {
		info, err := framework.NewPodInfo(other)
		if err != nil {
			return false, fmt.Errorf("reading pod %s/%s: %w", other.Namespace, other.Name, err)
		}
		crowded.AddPodInfo(info)
	}
	options := noderesources.ResourceRequestsOptions{EnablePodLevelResources: true,
		EnableDRAExtendedResource: r.devices != nil}
	lacks := slices.ContainsFunc(noderesources.Fits(pod, crowded, r.devices, options),
		func(lacking noderesources.InsufficientResource) bool {
			return !r.ignores(string(lacking.ResourceName))
		})
	return !lacks && nodeports.Fits(pod, crowded), nil
}

// ignores reports whether the profile's filter for resources does not look at one. Only those with a domain in their
// name can be ignored.
func (r *Resources) ignores(name string) bool {
	if !strings.Contains(name, "/") || !r.enabled().Has(names.NodeResourcesFit) {
		return false
	}
	ignored, known := r.ignored.Load(name)
	if !known {
		ignored, _ = r.ignored.LoadOrStore(name, r.offersTooLittle(name))
	}
	return ignored.(bool)
}

// offersTooLittle asks the filter about a pod that wants two of a resource and a node that has one, and reports
// whether it accepts that.
func (r *Resources) offersTooLittle(name string) bool {
	amount := func(count int64) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceName(name): *resource.NewQuantity(count, resource.DecimalSI)}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}
	requests := corev1.ResourceRequirements{Requests: amount(2)}
	pod.Spec.Containers = []corev1.Container{{Name: "probe", Resources: requests}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}
	node.Status.Allocatable = amount(1)
	node.Status.Allocatable[corev1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI)
	state := Simulation()
	r.filters.RunPreFilterPlugins(context.Background(), state, pod)
	state.SetSkipFilterPlugins(r.enabled().Difference(sets.New(names.NodeResourcesFit)))
	return r.filters.RunFilterPlugins(context.Background(), state, pod, BareNode(node)).IsSuccess()
}

func enabledOf(filters Filters) sets.Set[string] {
	enabled := sets.New[string]()
	if filters == nil {
		return enabled
	}
	for _, plugin := range filters.ListPlugins().Filter.Enabled {
		enabled.Insert(plugin.Name)
	}
	return enabled
}
