package refute

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"

	"packtree.dev/shared/packing/certificate"
)

// Inside one group its pods are counted, and the groups that need one domain, by one measure of pods at a time; what
// narrower domains take bounds what broader ones do.
func TestCutsThatAreAboutOneGroup(t *testing.T) {
	for name, test := range map[string]struct {
		change func(in *question)
		group  int
		want   []string
	}{
		"a leaf has pods alone": {group: right, want: []string{"deficit", "cut gpu", "cut pods r-0"}},
		"a team has halves that need racks, in the zone too": {group: team, want: []string{
			"deficit", "cut gpu", "cut pods l-0",
			"cut left right in net/rack by (gpu)",
			"cut left right in net/rack by (pods l-0)",
			"cut left right in net/zone by (gpu)",
			"cut left right in net/zone by (pods l-0)",
			"cut left right in net/zone by (left right in net/rack by (gpu))",
			"cut left right in net/zone by (left right in net/rack by (pods l-0))",
			"cut left right in net/zone by (left right in net/rack by (gpu, pods l-0))",
		}},
		"by one measure there is nothing to combine": {
			change: func(in *question) { in.Kinds[0].Requests = nil },
			group:  team,
			want: []string{
				"deficit", "cut pods l-0",
				"cut left right in net/rack by (pods l-0)",
				"cut left right in net/zone by (pods l-0)",
				"cut left right in net/zone by (left right in net/rack by (pods l-0))",
			}},
		"a relation counts where its domains are, and in broader ones": {
			change: func(in *question) {
				in.Kinds[0].Requests = nil
				in.Relations = []certificate.Relation{apart(),
					{Name: "zones", Topology: "net", Level: "zone", Max: 1}}
			},
			group: team,
			want: []string{
				"deficit", "cut pods l-0", "cut relation apart", "cut relation zones",
				"cut left right in net/rack by (pods l-0, relation apart)",
				"cut left right in net/zone by (pods l-0, relation apart, relation zones)",
				"cut left right in net/zone by (left right in net/rack by (pods l-0, relation apart), " +
					"relation apart, relation zones)",
			}},
		"each topology begins anew": {
			change: func(in *question) { in.Kinds[0].Requests, in.Groups[right].Required = nil, "" },
			group:  all,
			want: []string{
				"deficit", "cut pods l-0",
				"cut left in net/rack by (pods l-0)",
				"cut team in net/zone by (pods l-0)",
				"cut team in net/zone by (left in net/rack by (pods l-0))",
				"cut lone in power/feed by (pods l-0)",
			}},
	} {
		t.Run(name, func(t *testing.T) {
			in := yard()
			if test.change != nil {
				test.change(in)
			}
			assert.Empty(t, cmp.Diff(test.want, texts(cutsIn(in, test.group))), "(-want +got)")
			assert.Len(t, in.Groups, 6, "groups are left of the question")
		})
	}
}

// The scarce resources come first inside one group too.
func TestCutsAboutOneGroupBeginWithWhatIsScarce(t *testing.T) {
	in := yard()
	in.Kinds[0].Requests["cpu"] = 1
	in.scarce = []string{"gpu"}
	want := []string{"deficit", "cut gpu", "cut cpu", "cut pods r-0"}
	assert.Empty(t, cmp.Diff(want, texts(cutsIn(in, right))), "(-want +got)")
}

// Of all groups those are counted that need one domain and have none around them that does: each as one, and by the
// pods that it needs.
func TestGroupsAreCountedByLevel(t *testing.T) {
	for name, test := range map[string]struct {
		change func(in *question)
		want   []string
	}{
		"narrow levels bound broad ones, and topologies stand alone": {want: []string{
			"cut left right in net/rack by (gpu, pods l-0)",
			"cut left*2 right in net/rack by (gpu, pods l-0)",
			"cut team in net/zone by (gpu, pods l-0, left right in net/rack by (gpu, pods l-0))",
			"cut team*3 in net/zone by (gpu, pods l-0, left right in net/rack by (gpu, pods l-0))",
			"cut lone in power/feed by (gpu, pods l-0)",
			"cut lone in power/feed by (gpu, pods l-0)",
		}},
		"groups that need no pods have no size": {
			change: func(in *question) {
				in.Topologies = in.Topologies[:1]
				in.Groups[right].MinMember, in.Groups[team].Required = 0, ""
			},
			want: []string{
				"cut left right in net/rack by (gpu, pods l-0)",
				"cut left*2 in net/rack by (gpu, pods l-0)",
				"cut left right in net/zone by (gpu, pods l-0, left right in net/rack by (gpu, pods l-0))",
				"cut left*2 in net/zone by (gpu, pods l-0, left right in net/rack by (gpu, pods l-0))",
			}},
		"if none needs pods, sizes say nothing": {
			change: func(in *question) {
				in.Topologies = in.Topologies[1:]
				in.Groups[lone].Running = []string{"a"}
			},
			want: []string{"cut lone in power/feed by (gpu, pods l-0)"}},
		"relations bound the levels that contain theirs": {
			change: func(in *question) {
				in.Relations = []certificate.Relation{{Name: "zones", Topology: "net", Level: "zone", Max: 1}}
				in.Kinds[0].Requests, in.Groups[right].MinMember, in.Groups[left].MinMember = nil, 0, 0
			},
			want: []string{
				"cut left right in net/rack by (pods l-0)",
				"cut team in net/zone by (pods l-0, left right in net/rack by (pods l-0), relation zones)",
				"cut lone in power/feed by (pods l-0)",
				"cut lone in power/feed by (pods l-0)",
			}},
	} {
		t.Run(name, func(t *testing.T) {
			in := yard()
			if test.change != nil {
				test.change(in)
			}
			assert.Empty(t, cmp.Diff(test.want, texts(groupCuts(in))), "(-want +got)")
		})
	}
}

// The gang as a whole is weighed by one measure at a time if it needs one domain.
func TestTheWholeGangInOneDomain(t *testing.T) {
	in := yard()
	cuts := wholeCuts(in)
	assert.Nil(t, cuts, "it needs no domain, and is weighed by %v", texts(cuts))
	in.Groups[all].Topology, in.Groups[all].Required = "net", "zone"
	want := []string{"cut all in net/zone by (gpu)", "cut all in net/zone by (pods l-0)"}
	assert.Empty(t, cmp.Diff(want, texts(wholeCuts(in))), "(-want +got)")
}

// Cuts by pods begin with few, and are worked out once.
func TestCutsByPods(t *testing.T) {
	in := yard()
	want := []string{"deficit", "cut gpu", "cut pods l-0"}
	assert.Empty(t, cmp.Diff(want, texts(podCuts(in))), "(-want +got)")
	in.Kinds[0].Requests = nil
	assert.Empty(t, cmp.Diff(want, texts(podCuts(in))), "of the same question later (-want +got)")
}

func TestRelationsCountByTheirOwnTopology(t *testing.T) {
	in := yard()
	in.Relations = []certificate.Relation{apart(), {Name: "feeds", Topology: "power", Level: "feed", Max: 1},
		{Name: "near", Topology: "power", Level: "feed", Near: []string{"a"}}}
	for topology, want := range map[int]string{0: " by (relation apart)", 1: " by (relation feeds)"} {
		got := byText(relationMeasures(in, in.Topologies[topology], 0))
		assert.Equal(t, want, got, "topology %d is measured%s, want%s", topology, got, want)
	}
}
