package compatibility_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"
)

// admission does what an API server does with an object of a schema, with the API server's code.
type admission struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
}

func admissionOf(written *schema) (admission, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(written.DeepCopy(), internal,
		nil); err != nil {
		return admission{}, err
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return admission{}, err
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	return admission{structural, validator}, err
}

// stores is the part of an object that would be stored, and the errors if it is refused. Like our webhooks, it refuses
// undescribed fields beside described ones.
func (a admission) stores(object map[string]any) (map[string]any, field.ErrorList) {
	kept := runtime.DeepCopyJSON(object)
	if misspelt(kept, a.structural) {
		return nil, field.ErrorList{field.Forbidden(nil, "a field that is not described")}
	}
	pruning.Prune(kept, a.structural, false)
	defaulting.PruneNonNullableNullsWithoutDefaults(kept, a.structural)
	defaulting.Default(kept, a.structural)
	return kept, validation.ValidateCustomResource(nil, kept, a.validator)
}

func misspelt(value any, s *structuralschema.Structural) bool {
	switch value := value.(type) {
	case map[string]any:
		for name, below := range value {
			property, described := s.Properties[name]
			switch {
			case described && misspelt(below, &property):
				return true
			case !described && s.AdditionalProperties != nil && misspelt(below, s.AdditionalProperties.Structural):
				return true
			case !described && s.XPreserveUnknownFields && len(s.Properties) > 0:
				return true
			}
		}
	case []any:
		return s.Items != nil && slices.ContainsFunc(value, func(one any) bool { return misspelt(one, s.Items) })
	}
	return false
}

// contains reports whether all of one value is in another. A null equals a missing field.
func contains(whole, part any) bool {
	switch part := part.(type) {
	case map[string]any:
		object, is := whole.(map[string]any)
		for name, value := range part {
			below, there := object[name]
			is = is && (there && contains(below, value) || !there && value == nil)
		}
		return is
	case []any:
		list, is := whole.([]any)
		is = is && len(list) == len(part)
		for i := 0; is && i < len(part); i++ {
			is = contains(list[i], part[i])
		}
		return is
	}
	return reflect.DeepEqual(whole, part)
}

// If there is no break between two schemas, every object that an API server stored under the first is accepted under
// the second, and kept as a whole.
func TestWithoutABreakNothingIsRefusedNorLost(t *testing.T) {
	compared, breaksFound := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		before := anObject(3).Draw(t, "before")
		after := edited(t, before)
		old, errOld := admissionOf(before)
		now, errNow := admissionOf(after)
		if errOld != nil || errNow != nil {
			return // No API server accepts such a definition.
		}
		if len(breaksOf(versioned(before), versioned(after))) > 0 {
			breaksFound++
			return
		}
		for range 10 {
			object := aValueOf(t, before, 3).(map[string]any)
			// A field that was never stored was no promise.
			pruning.Prune(object, old.structural, false)
			stored, refused := old.stores(object)
			if len(refused) > 0 {
				continue
			}
			compared++
			kept, refused := now.stores(stored)
			if len(refused) > 0 {
				t.Fatalf("%v was stored and is refused: %v\n%s", stored, refused, cmp.Diff(before, after))
			}
			if !contains(kept, stored) {
				t.Fatalf("%v was stored, and kept is %v\n%s", stored, kept, cmp.Diff(before, after))
			}
			// A user who still has the manifest applies it, with the same meaning.
			again, refused := now.stores(object)
			if len(refused) > 0 || !contains(again, stored) {
				t.Fatalf("%v became %v, and becomes %v: %v\n%s", object, stored, again, refused,
					cmp.Diff(before, after))
			}
		}
	})
	t.Logf("%d objects were compared, and breaks found in %d pairs of schemas", compared, breaksFound)
	if compared == 0 || breaksFound == 0 {
		t.Error("the schemas that are drawn are all of one kind: this shows nothing")
	}
}

func versioned(s *schema) *definition {
	d := &definition{}
	d.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{
		Name: "v1", Served: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: s},
	}}
	return d
}

var names = []string{"a", "b", "c"}

// anObject draws schemas of objects with so many levels.
func anObject(depth int) *rapid.Generator[*schema] {
	return rapid.Custom(func(t *rapid.T) *schema {
		s := &schema{Type: "object", Properties: map[string]schema{}}
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID[string]).Draw(t, "names") {
			s.Properties[name] = *aSchema(depth-1).Draw(t, name)
			if rapid.IntRange(0, 3).Draw(t, "required") == 0 {
				s.Required = append(s.Required, name)
			}
		}
		if rapid.IntRange(0, 4).Draw(t, "free") == 0 {
			s.XPreserveUnknownFields = set(true)
		}
		return s
	})
}

func aSchema(depth int) *rapid.Generator[*schema] {
	return rapid.Custom(func(t *rapid.T) *schema {
		kinds := 3
		if depth > 0 {
			kinds = 6
		}
		var s *schema
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			s = &schema{Type: "integer"}
			if rapid.Bool().Draw(t, "bounded") {
				s.Minimum, s.Maximum = set(0.0), set(float64(rapid.IntRange(0, 3).Draw(t, "maximum")))
			}
		case 1:
			s = &schema{Type: "string"}
			if rapid.Bool().Draw(t, "chosen") {
				s.Enum = []apiextensionsv1.JSON{{Raw: []byte(`"x"`)}, {Raw: []byte(`"yy"`)}}
			}
		case 2:
			return &schema{XPreserveUnknownFields: set(true)}
		case 3:
			s = anObject(depth).Draw(t, "object")
		case 4:
			s = &schema{Type: "object",
				AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true,
					Schema: aSchema(depth-1).Draw(t, "entries")}}
		default:
			s = &schema{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: aSchema(
				depth-1).Draw(t, "items")}}
			s.MaxItems = set(int64(rapid.IntRange(1, 3).Draw(t, "maxItems")))
		}
		s.Nullable = rapid.IntRange(0, 4).Draw(t, "nullable") == 0
		if s.Type == "integer" && rapid.IntRange(0, 2).Draw(t, "defaulted") == 0 {
			s.Default = &apiextensionsv1.JSON{Raw: []byte("0")}
		}
		return s
	})
}

// edited is a schema after one or two edits at random places.
func edited(t *rapid.T, s *schema) *schema {
	result := s.DeepCopy()
	for range rapid.IntRange(1, 2).Draw(t, "edits") {
		edit(t, result)
	}
	return result
}

func edit(t *rapid.T, s *schema) {
	if deeper := rapid.IntRange(0, 2).Draw(t, "deeper") > 0; deeper {
		switch {
		case s.Items != nil:
			edit(t, s.Items.Schema)
			return
		case s.AdditionalProperties != nil:
			edit(t, s.AdditionalProperties.Schema)
			return
		case len(s.Properties) > 0:
			name := rapid.SampledFrom(present(s)).Draw(t, "field")
			property := s.Properties[name]
			edit(t, &property)
			s.Properties[name] = property
			return
		}
	}
	switch rapid.IntRange(0, 12).Draw(t, "edit") {
	case 0:
		*s = *aSchema(1).Draw(t, "other")
	case 1:
		s.Nullable = !s.Nullable
	case 2:
		s.Default = nil
	case 3:
		s.Minimum, s.Maximum = nil, nil
	case 4:
		s.Maximum = set(2.0)
	case 5:
		s.Enum = nil
	case 6:
		s.Enum = append(s.Enum, apiextensionsv1.JSON{Raw: []byte(`"z"`)})
	case 7:
		s.MaxItems = set(int64(2))
	case 8:
		s.XPreserveUnknownFields = set(true)
	case 9:
		s.XPreserveUnknownFields = nil
	case 10:
		s.Required = nil
	case 11:
		s.Required = slices.Clone(present(s))
	default:
		if s.Type == "object" && s.AdditionalProperties == nil {
			name := rapid.SampledFrom(names).Draw(t, "changed")
			s.Properties[name] = *aSchema(1).Draw(t, "property")
		}
	}
}

func present(s *schema) []string {
	return slices.DeleteFunc(slices.Clone(names),
		func(name string) bool { _, there := s.Properties[name]; return !there })
}

// aValueOf draws values that a schema mostly accepts.
func aValueOf(t *rapid.T, s *schema, depth int) any {
	if s.Nullable && rapid.IntRange(0, 3).Draw(t, "null") == 0 {
		return nil
	}
	switch s.Type {
	case "integer":
		return int64(rapid.IntRange(0, 4).Draw(t, "integer"))
	case "string":
		return rapid.SampledFrom([]string{"x", "yy", "z"}).Draw(t, "string")
	case "array":
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, aValueOf(t, s.Items.Schema, depth-1))
		}
		return list
	case "object":
		object := map[string]any{}
		for _, name := range names {
			property, described := s.Properties[name]
			switch {
			case !rapid.Bool().Draw(t, "set") && !slices.Contains(s.Required, name):
			case described:
				object[name] = aValueOf(t, &property, depth-1)
			case s.AdditionalProperties != nil:
				object[name] = aValueOf(t, s.AdditionalProperties.Schema, depth-1)
			default:
				object[name] = anything(t)
			}
		}
		return object
	}
	return anything(t)
}

func anything(t *rapid.T) any {
	return rapid.SampledFrom([]any{int64(7), "free", []any{"free"}, map[string]any{"a": "free"}, true}).Draw(
		t, "anything")
}
