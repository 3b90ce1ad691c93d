package gangstate

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Version tells apart what a gang requests at different times: its PodGroup, what that shares with other gangs, and the
// Topologies that it names.
type Version struct {
	UID        types.UID
	Generation int64
	// Carried are the annotations that have no generation, and Topologies the UIDs and generations of Topologies.
	Carried, Topologies string
}

// VersionOf returns the version of a PodGroup. Topology returns that of a Topology, empty if there is none of that
// name.
func VersionOf(podGroup *scheduling.PodGroup, topology func(name string) string) Version {
	version := Version{UID: podGroup.UID, Generation: podGroup.Generation}
	var carried, topologies strings.Builder
	for _, key := range scheduling.CarriedAnnotations() {
		if value, ok := podGroup.Annotations[key]; ok {
			fmt.Fprintf(&carried, "%q=%q ", key, value)
		}
	}
	for _, name := range gang.TopologiesOf(podGroup) {
		fmt.Fprintf(&topologies, "%q=%q ", name, topology(name))
	}
	version.Carried, version.Topologies = carried.String(), topologies.String()
	return version
}

// ChangedTo says what of a gang is another thing in a later version, empty if nothing is.
func (v Version) ChangedTo(now Version) string {
	switch {
	case v == now:
		return ""
	case v.UID == now.UID && v.Generation == now.Generation && v.Carried == now.Carried:
		return "a Topology was changed"
	default:
		return "its PodGroup was changed"
	}
}
