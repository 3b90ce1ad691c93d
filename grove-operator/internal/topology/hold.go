package topology

import (
	"fmt"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// holds reports whether a set's pods are to wait for a missing level.
func holds(set *grovev1alpha1.PodCliqueSet) bool {
	return set.Annotations[grovev1alpha1.AnnotationMissingTopologyLevel] == grovev1alpha1.MissingTopologyLevelHold
}

// Awaited says what the pods of a set wait for if the set asks for holding rather than placing without its constraints;
// empty if nothing is missing, or if the set does not ask.
func (r Resolution) Awaited() string {
	switch {
	case !r.hold || r.Name == "":
		return ""
	case !r.Found:
		return fmt.Sprintf("ClusterTopology %s", r.Name)
	case len(r.Missing) > 0:
		return fmt.Sprintf("level %s of %s %s", joined(r.Missing), r.Kind, r.Name)
	}
	return ""
}

// consequence says what the missing levels mean for the set.
func (r Resolution) consequence(constraints string) string {
	if r.hold {
		return fmt.Sprintf("so that pods which are on no node wait (%s: %s)",
			grovev1alpha1.AnnotationMissingTopologyLevel, grovev1alpha1.MissingTopologyLevelHold)
	}
	return "so that " + constraints + " are not enforced"
}
