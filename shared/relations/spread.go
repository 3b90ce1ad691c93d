package relations

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Spread is a relation in the form of the operators' field topologySpread.
type Spread struct {
	MaxPerDomain, MaxPercentPerDomain *int32

	Even bool
	Near string
	// Preferred says that it is met as far as possible only.
	Preferred bool
}

// mostPerDomain is the largest allowed number, as in the definitions of the kinds.
const mostPerDomain = 10000

// said are the fields that are set, among the ones that say how the items stand, with their values; 1 for fields that
// are no numbers.
func (s Spread) said() (named []string, values []int32) {
	say := func(name string, value *int32) {
		if value != nil {
			named, values = append(named, name), append(values, *value)
		}
	}
	say("maxPerDomain", s.MaxPerDomain)
	say("maxPercentPerDomain", s.MaxPercentPerDomain)
	if s.Even {
		say("even", new(int32(1)))
	}
	if s.Near != "" {
		say("near", new(int32(1)))
	}
	return named, values
}

// Bound is the field that says how the items stand; false if there is none, or more than one.
func (s Spread) Bound() (name string, ok bool) {
	named, _ := s.said()
	if len(named) != 1 {
		return "", false
	}
	return named[0], true
}

// Validate returns what is wrong with the field that says how the items stand.
func (s Spread) Validate(path *field.Path) field.ErrorList {
	named, values := s.said()
	if len(named) != 1 {
		return field.ErrorList{field.Invalid(path, strings.Join(named, ", "), "exactly one of maxPerDomain, "+
			"maxPercentPerDomain, even and near must be given; write a spread for each")}
	}
	most := int32(mostPerDomain)
	if named[0] == "maxPercentPerDomain" {
		most = 100
	}
	at := path.Child(named[0])
	switch {
	case values[0] < 1:
		return field.ErrorList{field.Invalid(at, values[0], "must be at least 1")}
	case values[0] > most:
		return field.ErrorList{field.Invalid(at, values[0], fmt.Sprintf("must be at most %d", most))}
	case s.Even && !s.Preferred:
		return field.ErrorList{field.Invalid(at, true,
			"can only be preferred: set whenUnsatisfiable: ScheduleAnyway, or use maxPerDomain")}
	}
	return nil
}

// Limit is how many of so many items may stand in one domain.
func (s Spread) Limit(items int) int {
	orNone := func(number *int32) int32 {
		if number == nil {
			return 0
		}
		return *number
	}
	relation := Relation{
		MaxPerDomain: orNone(s.MaxPerDomain), MaxPercentPerDomain: orNone(s.MaxPercentPerDomain),
	}
	return relation.Limit(items)
}

// Contradiction is the error of a spread by which so many items cannot stand in one domain, while the constraint at
// another path requires that. Called is the word for items.
func (s Spread) Contradiction(
	path *field.Path, items int, called string, constraint *field.Path, domain string,
) *field.Error {
	bound, _ := s.Bound()
	return field.Invalid(path.Child(bound), s.Limit(items), fmt.Sprintf(
		"contradicts %s, by which all %d %s stand in one %s: "+
			"spread them over a narrower domain, require a broader one, or set whenUnsatisfiable: ScheduleAnyway",
		constraint, items, called, domain))
}
