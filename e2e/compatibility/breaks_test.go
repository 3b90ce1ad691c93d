package compatibility_test

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// broken is one way in which a definition accepts less than an earlier one, drops a field that it kept, or changes the
// meaning of one.
type broken struct {
	// Where is the kind's definition, the version, and the path of the field: "podcliquesets.grove.io v1alpha1
	// spec.template".
	Where string
	// What says what is different, and so which users it affects.
	What string
}

func (b broken) String() string { return b.Where + ": " + b.What }

// breaksOf compares a definition with its successor. If there are no breaks, every object that the earlier one accepted
// is accepted by the later one, which keeps all of it. A break may be a false alarm: patterns, CEL rules and the like
// are only compared for equality.
func breaksOf(before, after *apiextensionsv1.CustomResourceDefinition) []broken {
	breaks := namesBreak(before, after)
	for i := range before.Spec.Versions {
		earlier := &before.Spec.Versions[i]
		where := before.Name + " " + earlier.Name
		at := slices.IndexFunc(after.Spec.Versions,
			func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == earlier.Name })
		if at < 0 {
			breaks = append(breaks,
				broken{where, "the version is gone: stored objects of it cannot be read, nor manifests applied"})
			continue
		}
		later := &after.Spec.Versions[at]
		if earlier.Served && !later.Served {
			breaks = append(breaks, broken{where, "the version is no longer served: manifests of it are refused"})
		}
		for _, what := range versionBreaks(earlier, later) {
			breaks = append(breaks, broken{where, what})
		}
		if earlier.Schema != nil && later.Schema != nil {
			breaks = append(breaks, schemaBreaks(where, earlier.Schema.OpenAPIV3Schema,
				later.Schema.OpenAPIV3Schema)...)
		}
	}
	return breaks
}

func namesBreak(before, after *apiextensionsv1.CustomResourceDefinition) []broken {
	var breaks []broken
	same := func(what string, earlier, later any) {
		if !equality.Semantic.DeepEqual(earlier, later) {
			breaks = append(breaks, broken{before.Name, fmt.Sprintf("%s was %v and is %v", what, earlier, later)})
		}
	}
	same("the group", before.Spec.Group, after.Spec.Group)
	same("the scope", before.Spec.Scope, after.Spec.Scope)
	same("the kind", before.Spec.Names.Kind, after.Spec.Names.Kind)
	same("the kind of lists", before.Spec.Names.ListKind, after.Spec.Names.ListKind)
	same("the plural", before.Spec.Names.Plural, after.Spec.Names.Plural)
	same("the singular", before.Spec.Names.Singular, after.Spec.Names.Singular)
	for _, name := range without(before.Spec.Names.ShortNames, after.Spec.Names.ShortNames) {
		breaks = append(breaks, broken{before.Name, fmt.Sprintf("the short name %s is gone", name)})
	}
	for _, name := range without(before.Spec.Names.Categories, after.Spec.Names.Categories) {
		breaks = append(breaks, broken{before.Name, fmt.Sprintf("the category %s is gone", name)})
	}
	return breaks
}

// versionBreaks compares the parts of a version beside its schema.
func versionBreaks(before, after *apiextensionsv1.CustomResourceDefinitionVersion) []string {
	var breaks []string
	earlier, later := subresources(before), subresources(after)
	if (earlier.Status == nil) != (later.Status == nil) {
		breaks = append(breaks, "the status subresource came or went: whoever writes status has to write it elsewhere")
	}
	if earlier.Scale != nil && !equality.Semantic.DeepEqual(earlier.Scale, later.Scale) {
		breaks = append(breaks,
			"the scale subresource is gone or reads other fields: autoscalers and kubectl scale do not find what they found")
	}
	for _, field := range before.SelectableFields {
		if !slices.Contains(after.SelectableFields, field) {
			breaks = append(breaks,
				fmt.Sprintf("lists can no longer be selected by %s", strings.TrimPrefix(field.JSONPath, ".")))
		}
	}
	return breaks
}

func subresources(version *apiextensionsv1.CustomResourceDefinitionVersion) apiextensionsv1.CustomResourceSubresources {
	if version.Subresources == nil {
		return apiextensionsv1.CustomResourceSubresources{}
	}
	return *version.Subresources
}

// without are the elements of a list that another one lacks.
func without[T comparable](all, others []T) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return slices.Contains(others, one) })
}
