package packing_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"packtree.dev/shared/packing"
	"packtree.dev/shared/packing/certificate"
	"packtree.dev/shared/packing/internal/oracle"
)

// Where a certificate is asked for, the sentence says what it says.
func TestCertificatesArePutIntoWords(t *testing.T) {
	elastic := leaf("", 4, shape(1), packing.Constraint{})
	elastic.MinMember = 3
	follower := leaf("", 4, shape(1), packing.Constraint{})
	follower.Follow = []packing.Anchor{{Topology: "site", Level: "zone", Nodes: []string{"z/a/0"}, PodsText: "gang base"}}
	tied := leaf("", 3, shape(1), at("rack"))
	tied.Running, tied.MinMember = []string{"z/a/0"}, 4
	apart := follower
	apart.Follow = append(slices.Clone(follower.Follow), packing.Anchor{Topology: "site", Level: "zone",
		Nodes: []string{"y/a/0"}, PodsText: "gang stray"})
	barred := shape(1)
	barred.Key, barred.Excluded = "barred", deviceAndSlot("", "z/a/0").Excluded
	one := 1
	for name, tc := range map[string]struct {
		site    site
		root    packing.Group
		message string
	}{
		"a resource, of which a minimum needs less than all pods": {
			site: site{"z/a": {2}}, root: elastic,
			message: "the gang: 2 of 3 pods fit into the cluster, short of 1 device",
		},
		"a resource in the nearest domain": {
			site: site{"z/a": {1}, "z/b": {2}}, root: leaf("", 3, shape(1), at("rack")),
			message: "the gang needs one rack, and the nearest is z/b: 2 of 3 pods fit, short of 1 device",
		},
		"a resource beside the pods that the gang follows": {
			site: site{"z/a": {1}, "z/b": {2}, "y/a": {9}}, root: follower,
			message: "the gang must join gang base in zone z: 3 of 4 pods fit, short of 1 device",
		},
		"a resource beside running pods": {
			site: site{"z/a": {2}, "z/b": {9}}, root: tied,
			message: "the gang needs one rack, and running pods tie it to z/a: 2 of 3 pods fit, short of 1 device",
		},
		"nodes that no pod may use": {
			site: site{"z/a": {4}}, root: leaf("", 2, deviceAndSlot("a", "z/a/0"), at("rack")),
			message: "the gang needs one rack, and the nearest is z/a: 0 of 2 pods fit; 1 node excluded by taint x",
		},
		"domains that lack as much, of which one has a node that no pod may use": {
			site: site{"z/a": {4, 1}, "z/b": {1}}, root: leaf("", 3, barred, at("rack")),
			message: "the gang needs one rack, and the nearest is z/b: 1 of 3 pods fit, short of 2 device",
		},
		"domains without room, of which one has a node that no pod may use": {
			site: site{"z/a": {4, 0}, "z/b": {0, 0}}, root: leaf("", 2, barred, at("rack")),
			message: "the gang needs one rack, and the nearest is z/b: 0 of 2 pods fit, a pod requests 1 device, " +
				"and no node has any free",
		},
		"pods that are too large for any node": {
			site: site{"z/a": {4, 4}}, root: leaf("", 2, shape(5), packing.Constraint{}),
			message: "the gang: 0 of 2 pods fit into the cluster, a pod requests 5 device, and no node has more than 4 free",
		},
		"a subgroup that fits nowhere": {
			site: site{"z/a": {4}, "z/b": {4}}, root: packing.Group{Children: []packing.Group{
				leaf("small", 1, shape(1), at("rack")), leaf("large", 5, shape(1), at("rack")),
			}},
			message: `group "large" needs one rack, and the nearest is z/a: 4 of 5 pods fit, short of 1 device`,
		},
		"one of two subgroups that both fit nowhere": {
			site: site{"z/a": {4}, "z/b": {4}}, root: packing.Group{MinSubGroups: &one, Children: []packing.Group{
				leaf("one", 5, shape(1), at("rack")), leaf("two", 6, shape(1), at("rack")),
			}},
			message: "the gang: at most 0 of 1 subgroups fit into the cluster, each subgroup in one rack",
		},
		"subgroups of which a domain takes few": {
			site: site{"z/a": {5}, "z/b": {5}}, root: packing.Group{Children: racks(3, 3, 3)},
			message: "the gang: at most 2 of 3 subgroups fit into the cluster, each subgroup in one rack",
		},
		"pods that must join others in two places": {
			site: site{"z/a": {4}, "y/a": {4}}, root: apart,
			message: "the gang cannot be with gang base in zone z and with gang stray in zone y at the same time",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := tc.site.cluster(t)
			gang := &packing.Gang{Root: tc.root}
			d := c.Decide(gang, packing.Options{})
			require.NotNil(t, d.Certificate, "%s without a certificate", d.Verdict)
			require.NoError(t, certificate.Verify(c.Input(gang), d.Certificate))
			assert.Empty(t, cmp.Diff(tc.message, d.Message()), "of %+v (-want +got)", d.Certificate.Rules)
		})
	}
}

// Whatever the gang, a figure of the explanation is one of the certificate, and it
// is too little.
func TestNoSentenceContradictsItsCertificate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := oracle.Draw(numbers{t}, oracle.Varied)
		d := s.Build().Decide(&s.Gang, packing.Options{})
		if d.Certificate == nil {
			return
		}
		e := d.Explanations[0]
		require.NotEmpty(t, e.Sentence, "for a certificate")
		require.NotContains(t, e.Sentence, "gave up", "for a certificate")
		if strings.Contains(e.Sentence, "cannot") {
			return // No domain is left to count in.
		}
		if e.Wanted > 0 && (e.Fit >= e.Wanted || !states(d.Certificate, "", int64(e.Wanted), int64(e.Fit)) &&
			len(e.Short) != 1) {
			t.Fatalf("%s: %d of %d is not of %+v", e.Sentence, e.Fit, e.Wanted, d.Certificate.Rules)
		}
		for _, short := range e.Short {
			if short.Amount <= 0 || short.Amount != short.Needed-short.Free || !states(d.Certificate, short.Resource,
				short.Needed, short.Free) {
				t.Fatalf("%s: %+v is not of %+v", e.Sentence, short, d.Certificate.Rules)
			}
		}
	})
}

// states reports whether a rule of a certificate has figures: of a resource, or of
// pods and groups.
func states(proof *certificate.Proof, resource string, needs, has int64) bool {
	return slices.ContainsFunc(proof.Rules, func(r certificate.Rule) bool {
		switch {
		case r.Deficit != nil:
			return resource == "" && r.Deficit.Needs-r.Deficit.Has == needs-has ||
				resource != "" && r.Deficit.Resource == resource && r.Deficit.Asks == needs && r.Deficit.Free == has
		case r.Cut != nil:
			return r.Cut.Resource == resource && r.Cut.Need == needs && r.Cut.Offer == has
		}
		return false
	})
}
