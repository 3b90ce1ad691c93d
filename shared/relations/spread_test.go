package relations_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/shared/relations"
)

func TestASpreadSaysExactlyOneThing(t *testing.T) {
	for name, test := range map[string]struct {
		spread relations.Spread
		bound  string
		want   string
	}{
		"apart":                     {relations.Spread{MaxPerDomain: new(int32(1))}, "maxPerDomain", ""},
		"evenly":                    {relations.Spread{Even: true}, "even", ""},
		"near a gang":               {relations.Spread{Near: "router-0"}, "near", ""},
		"as much as the kinds take": {relations.Spread{PerDomain: new(int32(10000))}, "perDomain", ""},
		"nothing":                   {relations.Spread{}, "", `s: Invalid value: "": exactly one of`},
		"two things": {relations.Spread{Even: true, Near: "g"}, "",
			`s: Invalid value: "even, near": exactly one of`},
		"none in each domain": {relations.Spread{PerDomain: new(int32(0))}, "perDomain",
			"s.perDomain: Invalid value: 0: must be at least 1"},
		"more than all": {relations.Spread{MaxPercentPerDomain: new(int32(101))}, "maxPercentPerDomain",
			"must be at most 100"},
		"more than the kinds take": {relations.Spread{MaxPerDomain: new(int32(10001))}, "maxPerDomain",
			"must be at most 10000"},
		"of each of one": {relations.Spread{OfEachPerDomain: new(int32(1)), Among: []string{"a"}},
			"ofEachPerDomain", "s.among: Required value"},
		"of each of two, side by side": {relations.Spread{OfEachPerDomain: new(int32(1)), Among: []string{"a", "b"}},
			"ofEachPerDomain", ""},
	} {
		t.Run(name, func(t *testing.T) {
			errs := test.spread.Validate(field.NewPath("s"))
			if bound, _ := test.spread.Bound(); bound != test.bound {
				t.Errorf("the bound is %q, want %q", bound, test.bound)
			}
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
	for name, test := range map[string]struct {
		spread relations.Spread
		items  int
		want   bool
	}{
		"as many as may stand there": {relations.Spread{MaxPerDomain: new(int32(4))}, 4, false},
		"more than may stand there":  {relations.Spread{MaxPerDomain: new(int32(3))}, 4, true},
		"half of them":               {relations.Spread{MaxPercentPerDomain: new(int32(50))}, 4, true},
		"as many as each has":        {relations.Spread{PerDomain: new(int32(4))}, 4, false},
		"fewer than each has":        {relations.Spread{PerDomain: new(int32(5))}, 4, true},
		"two of each of two, four in all": {relations.Spread{OfEachPerDomain: new(int32(2)), Among: []string{"a", "b"}},
			4, false},
		"evenly, in one": {relations.Spread{Even: true}, 4, false},
	} {
		if got := test.spread.Contradicts(test.items); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	err := relations.Spread{MaxPerDomain: new(int32(3))}.
		Contradiction(field.NewPath("s"), 4, "copies", field.NewPath("c"), "rack")
	const want = "s.maxPerDomain: Invalid value: 3: contradicts c, by which all 4 copies stand in one rack: " +
		"spread them over a narrower domain, require a broader one, or set whenUnsatisfiable: ScheduleAnyway"
	if err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
