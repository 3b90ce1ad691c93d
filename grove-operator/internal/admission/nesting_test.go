package admission_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/domains"

	"packtree.dev/grove-operator/internal/admission"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

// A child may have its parent's domain, or a narrower one: all pairs are tried.
func TestAChildsDomainIsItsParentsOrNarrower(t *testing.T) {
	all := domains.All()
	var levels []grovev1alpha1.TopologyDomain
	for _, domain := range all {
		levels = append(levels, grovev1alpha1.TopologyDomain(domain))
	}
	everything := admission.Cluster{TopologyAware: true,
		Lookup: fixture.Lookup(fixture.Topology(grovev1alpha1.DefaultClusterTopologyName, levels...))}
	const parents = "topologyConstraint: {packDomain: %s}, cliques: [%s], podCliqueScalingGroups: [{name: g, " +
		"cliqueNames: [a], topologyConstraint: {packDomain: %s}}]"
	for i, parent := range all {
		for j, child := range all {
			for where, template := range map[string]string{
				"a clique in a set": fmt.Sprintf("topologyConstraint: {packDomain: %s}, cliques: [%s]", parent,
					constrained("a", "{packDomain: "+child+"}")),
				"a group in a set": fmt.Sprintf(parents, parent, one("a", ""), child),
				"a clique in a group": fmt.Sprintf(parents, parent, constrained("a", "{packDomain: "+child+"}"),
					parent),
			} {
				_, errs := admission.ValidateCreate(fixture.Set(t, manifest("s", template)), everything)
				assert.Equal(t, j >= i, len(errs) == 0, "%s, %s below %s: %v", where, child, parent, errs)
			}
		}
	}
}
