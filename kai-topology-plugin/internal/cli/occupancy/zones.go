package occupancy

import (
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
)

// zonesOf returns the zones of a node, which may report none, with what pods on the node leave of a resource. Where the
// kubelet takes pods whatever their zones, that is what the node reports.
func zonesOf(reported *zones.Node, node *corev1.Node, pods []*corev1.Pod, name corev1.ResourceName) []*Domain {
	if reported == nil {
		return nil
	}
	free := reported.Usage(pods, nil).Free()
	var all []*Domain
	for i, zone := range reported.Zones {
		left := zone.Available
		if free != nil {
			left = free[i]
		}
		amounts := Amounts{Total: nodes.InUnits(string(name), zone.Allocatable[string(name)])}
		rest := &amounts.Free
		if !nodes.Schedulable(node) {
			rest = &amounts.Unavailable
		}
		*rest = min(nodes.InUnits(string(name), left[string(name)]), amounts.Total)
		amounts.Used = amounts.Total - *rest
		all = append(all, &Domain{Name: zone.Name, Amounts: amounts})
	}
	return all
}
