package compatibility_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"
)

type props = apiextensionsv1.JSONSchemaProps

// schemaBreaks compares the schema at a path, and all below it.
func schemaBreaks(where string, before, after *props) []broken {
	var breaks []broken
	for _, rule := range []func(before, after *props) []string{
		typeBreaks, boundBreaks, choiceBreaks, requirementBreaks, ruleBreaks, mergeBreaks, defaultBreaks,
	} {
		for _, what := range rule(before, after) {
			breaks = append(breaks, broken{where, what})
		}
	}
	return append(breaks, childBreaks(where, before, after)...)
}

func typeBreaks(before, after *props) []string {
	var breaks []string
	if wider := before.Type == "integer" && after.Type == "number"; before.Type != after.Type && !wider {
		breaks = append(breaks, fmt.Sprintf("its type was %s and is %s", named(before.Type), named(after.Type)))
	}
	if before.XIntOrString != after.XIntOrString {
		breaks = append(breaks, "it began or ceased to take both numbers and strings")
	}
	if before.Nullable && !after.Nullable {
		breaks = append(breaks, "it can no longer be null")
	}
	if after.Format != "" && after.Format != before.Format {
		breaks = append(breaks, fmt.Sprintf("its format was %s and is %s", named(before.Format), named(after.Format)))
	}
	if before.XEmbeddedResource != after.XEmbeddedResource {
		breaks = append(breaks, "it began or ceased to be a whole Kubernetes object")
	}
	return breaks
}

func named(word string) string { return cmp.Or(word, "unset") }

func boundBreaks(before, after *props) []string {
	var breaks []string
	check := func(is bool, what string) {
		if is {
			breaks = append(breaks, what)
		}
	}
	check(rises(before.Minimum, after.Minimum), "its minimum rose")
	check(falls(before.Maximum, after.Maximum), "its maximum fell")
	check(after.ExclusiveMinimum && !before.ExclusiveMinimum && after.Minimum != nil,
		"its minimum itself is no longer taken")
	check(after.ExclusiveMaximum && !before.ExclusiveMaximum && after.Maximum != nil,
		"its maximum itself is no longer taken")
	check(after.MultipleOf != nil && !equality.Semantic.DeepEqual(before.MultipleOf, after.MultipleOf),
		"it has to be a multiple of another number")
	if len(before.Enum) == 0 { // An enum says more than lengths do.
		check(rises(before.MinLength, after.MinLength), "its least length rose")
		check(falls(before.MaxLength, after.MaxLength), "its greatest length fell")
	}
	for _, value := range before.Enum {
		length := int64(len(strings.Trim(string(value.Raw), `"`)))
		check(after.MinLength != nil && length < *after.MinLength || after.MaxLength != nil &&
			length > *after.MaxLength, fmt.Sprintf("the value %s is of a length that is no longer taken", value.Raw))
	}
	check(rises(before.MinItems, after.MinItems), "its least number of items rose")
	check(falls(before.MaxItems, after.MaxItems), "its greatest number of items fell")
	check(rises(before.MinProperties, after.MinProperties), "its least number of entries rose")
	check(falls(before.MaxProperties, after.MaxProperties), "its greatest number of entries fell")
	check(after.UniqueItems && !before.UniqueItems, "its items have to differ")
	return breaks
}

// rises reports whether a lower bound accepts less than before. No bound is the lowest.
func rises[T cmp.Ordered](before, after *T) bool {
	return after != nil && (before == nil || *after > *before)
}

// falls reports whether an upper bound accepts less than before. No bound is the highest.
func falls[T cmp.Ordered](before, after *T) bool {
	return after != nil && (before == nil || *after < *before)
}

func choiceBreaks(before, after *props) []string {
	var breaks []string
	if len(after.Enum) > 0 && len(before.Enum) == 0 {
		breaks = append(breaks, "only certain values are taken now")
	}
	for _, value := range before.Enum {
		has := func(other apiextensionsv1.JSON) bool { return string(other.Raw) == string(value.Raw) }
		if len(after.Enum) > 0 && !slices.ContainsFunc(after.Enum, has) {
			breaks = append(breaks, fmt.Sprintf("the value %s is no longer taken", value.Raw))
		}
	}
	if after.Pattern != "" && after.Pattern != before.Pattern {
		breaks = append(breaks, fmt.Sprintf("it has to match another pattern, %s", after.Pattern))
	}
	return breaks
}

func requirementBreaks(before, after *props) []string {
	var breaks []string
	for _, name := range without(after.Required, before.Required) {
		if after.Properties[name].Default == nil {
			breaks = append(breaks, fmt.Sprintf("%s is required now, and has no default", name))
		}
	}
	return breaks
}

// ruleBreaks compares rules that show their effect only in a request: they may be removed, and otherwise have to stay
// as they were.
func ruleBreaks(before, after *props) []string {
	var breaks []string
	for i := range after.XValidations {
		same := func(earlier apiextensionsv1.ValidationRule) bool {
			return earlier.Rule == after.XValidations[i].Rule &&
				equality.Semantic.DeepEqual(earlier.OptionalOldSelf, after.XValidations[i].OptionalOldSelf)
		}
		if !slices.ContainsFunc(before.XValidations, same) {
			breaks = append(breaks, fmt.Sprintf("there is another rule: %s", after.XValidations[i].Rule))
		}
	}
	for _, logic := range []struct {
		name          string
		before, after []props
	}{{"allOf", before.AllOf, after.AllOf}, {"anyOf", before.AnyOf, after.AnyOf},
		{"oneOf", before.OneOf, after.OneOf}} {
		if len(logic.after) > 0 && !equality.Semantic.DeepEqual(logic.before, logic.after) {
			breaks = append(breaks, logic.name+" is another one")
		}
	}
	if after.Not != nil && !equality.Semantic.DeepEqual(before.Not, after.Not) {
		breaks = append(breaks, "not is another one")
	}
	return breaks
}

// mergeBreaks compares how changes of several writers are merged: a writer that applied a part before must own the same
// part afterwards.
func mergeBreaks(before, after *props) []string {
	var breaks []string
	if earlier, later := ptr.Deref(before.XListType, "atomic"), ptr.Deref(after.XListType, "atomic"); earlier != later {
		breaks = append(breaks, fmt.Sprintf("as a list it was merged as %s and is as %s", earlier, later))
	}
	if !slices.Equal(before.XListMapKeys, after.XListMapKeys) {
		breaks = append(breaks,
			fmt.Sprintf("its items were distinguished by %v and are by %v", before.XListMapKeys, after.XListMapKeys))
	}
	if earlier, later := ptr.Deref(before.XMapType, "granular"), ptr.Deref(after.XMapType, "granular"); earlier != later {
		breaks = append(breaks, fmt.Sprintf("as a map it was merged as %s and is as %s", earlier, later))
	}
	return breaks
}

// defaultBreaks compares the meaning of unset fields.
func defaultBreaks(before, after *props) []string {
	if raw(before.Default) == raw(after.Default) {
		return nil
	}
	return []string{fmt.Sprintf("its default was %s and is %s", named(raw(before.Default)), named(raw(after.Default)))}
}

func raw(value *apiextensionsv1.JSON) string {
	if value == nil {
		return ""
	}
	return string(value.Raw)
}

func childBreaks(where string, before, after *props) []broken {
	var breaks []broken
	for _, name := range slices.Sorted(maps.Keys(before.Properties)) {
		earlier := before.Properties[name]
		later, kept := after.Properties[name]
		if !kept {
			breaks = append(breaks,
				broken{where + "." + name, "the field is gone: what is stored in it is dropped or turned down"})
			continue
		}
		breaks = append(breaks, schemaBreaks(where+"."+name, &earlier, &later)...)
	}
	if isFree(before) && !isFree(after) {
		breaks = append(breaks, broken{where, "it was free, and is described now"})
	}
	if earlier := entries(before); earlier != nil {
		if later := entries(after); later != nil {
			breaks = append(breaks, schemaBreaks(where+"{}", earlier, later)...)
		} else {
			breaks = append(breaks, broken{where, "it no longer takes entries of any name"})
		}
	}
	if before.Items != nil && before.Items.Schema != nil && after.Items != nil && after.Items.Schema != nil {
		breaks = append(breaks, schemaBreaks(where+"[]", before.Items.Schema, after.Items.Schema)...)
	}
	return breaks
}

// isFree reports whether a schema accepts fields of any name and form. If it describes some fields, the others are kept
// only until admission, which refuses them with a suggestion.
func isFree(s *props) bool {
	return ptr.Deref(s.XPreserveUnknownFields, false) && len(s.Properties) == 0
}

// entries is the schema of a map's entries, whatever their names; nil if it is no map.
func entries(s *props) *props {
	if s.AdditionalProperties == nil {
		return nil
	}
	return s.AdditionalProperties.Schema
}
