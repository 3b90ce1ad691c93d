package podgrouptree_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/shared/relations"
)

func TestASpreadSaysExactlyOneThing(t *testing.T) {
	for name, test := range map[string]struct {
		spread relations.Spread
		bound  string
		want   string
	}{
		"apart":  {relations.Spread{MaxPerDomain: new(int32(1))}, "maxPerDomain", ""},
		"evenly": {relations.Spread{Even: true, Preferred: true}, "even", ""},
		"evenly, or not at all": {relations.Spread{Even: true}, "even",
			"s.even: Invalid value: true: can only be preferred: set whenUnsatisfiable: ScheduleAnyway, or use maxPerDomain"},
		"as much as the kinds take": {relations.Spread{MaxPerDomain: new(int32(10000))}, "maxPerDomain", ""},
		"none in each domain": {relations.Spread{MaxPerDomain: new(int32(0))}, "maxPerDomain",
			"s.maxPerDomain: Invalid value: 0: must be at least 1"},
		"near a gang": {relations.Spread{Near: "router-0"}, "near", ""},
		"nothing":     {relations.Spread{}, "", `s: Invalid value: "": exactly one of`},
		"two things": {relations.Spread{Even: true, Near: "g"}, "",
			`s: Invalid value: "even, near": exactly one of`},
		"more than all": {relations.Spread{MaxPercentPerDomain: new(int32(101))}, "maxPercentPerDomain",
			"must be at most 100"},
		"more than the kinds take": {relations.Spread{MaxPerDomain: new(int32(10001))}, "maxPerDomain",
			"must be at most 10000"},
	} {
		t.Run(name, func(t *testing.T) {
			errs := test.spread.Validate(field.NewPath("s"))
			bound, _ := test.spread.Bound()
			assert.Equal(t, test.bound, bound, "the bound")
			switch {
			case test.want == "" && len(errs) > 0:
				t.Errorf("refused: %v", errs)
			case test.want != "" && (len(errs) != 1 || !strings.Contains(errs[0].Error(), test.want)):
				t.Errorf("errors %v, want one with %q", errs, test.want)
			}
		})
	}
}

func TestASpreadContradictsOneDomainForAll(t *testing.T) {
	err := relations.Spread{MaxPerDomain: new(int32(3))}.
		Contradiction(field.NewPath("s"), 4, "copies", field.NewPath("c"), "rack")
	const want = "s.maxPerDomain: Invalid value: 3: contradicts c, by which all 4 copies stand in one rack: " +
		"spread them over a narrower domain, require a broader one, or set whenUnsatisfiable: ScheduleAnyway"
	assert.EqualError(t, err, want)
}
