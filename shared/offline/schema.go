// Package offline does without an API server what one does at admission: it finds unknown fields, sets the schema's
// defaults, calls the webhook's own defaulting and validation, and checks the schema's rules, CEL included. The schemas
// are the very CRDs that are installed into clusters.
package offline

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/shared/definitions"
)

// crdSchema is one version's schema of a kind, in the forms that the API server's own code needs.
type crdSchema struct {
	namespaced bool
	structural *structuralschema.Structural
	openAPI    validation.SchemaValidator
	rules      *cel.Validator
}

// compiled has the schemas that were asked for: to compile one takes longer than to check many objects.
var compiled sync.Map

func schemaOf(kind schema.GroupVersionKind) (*crdSchema, error) {
	if known, ok := compiled.Load(kind); ok {
		return known.(*crdSchema), nil
	}
	made, err := compileFor(kind)
	if err == nil {
		compiled.Store(kind, made)
	}
	return made, err
}

func compileFor(kind schema.GroupVersionKind) (*crdSchema, error) {
	definition, err := definitions.For(kind.GroupKind())
	if err != nil {
		return nil, err
	}
	var versions []string
	for _, version := range definition.Spec.Versions {
		versions = append(versions, version.Name)
		if version.Name == kind.Version {
			made, err := compile(version.Schema.OpenAPIV3Schema)
			if err != nil {
				return nil, err
			}
			made.namespaced = definition.Spec.Scope == apiextensionsv1.NamespaceScoped
			return made, nil
		}
	}
	return nil, fmt.Errorf("%s has no version %s, but %s", definition.Name, kind.Version,
		strings.Join(versions, " and "))
}

func compile(written *apiextensionsv1.JSONSchemaProps) (*crdSchema, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(written, internal,
		nil); err != nil {
		return nil, fmt.Errorf("converting schema: %w", err)
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil, fmt.Errorf("reading structural schema: %w", err)
	}
	openAPI, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return nil, fmt.Errorf("compiling schema: %w", err)
	}
	return &crdSchema{
		structural: structural,
		openAPI:    openAPI,
		rules:      cel.NewValidator(structural, true, math.MaxInt64),
	}, nil
}

// setDefaults sets the schema's defaults in object, in place. A null counts as unset, as it does for an API server.
func (s *crdSchema) setDefaults(object map[string]any) {
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	defaulting.Default(object, s.structural)
}

// validate checks object against the schema as on creation, with or without its CEL rules, and its metadata.
func (s *crdSchema) validate(object map[string]any, rules bool) field.ErrorList {
	metadata := validateMetadata(&unstructured.Unstructured{Object: object}, s.namespaced)
	errs := located(validation.ValidateCustomResource(nil, object, s.openAPI))
	if len(errs) == 0 && s.rules != nil && rules {
		errs, _ = s.rules.Validate(context.Background(), nil, s.structural, object, nil, math.MaxInt64)
	}
	return append(metadata, errs...)
}

// located has each error name its field once: it adds the field to errors that name it only in the message, as for a
// number out of its format's range, and takes it from messages that repeat it.
func located(errs field.ErrorList) field.ErrorList {
	for _, err := range errs {
		err.Detail = strings.TrimPrefix(err.Detail, err.Field+" in body ")
		if at := strings.LastIndex(err.Detail, " in "); err.Field == (*field.Path)(nil).String() && at >= 0 {
			err.Field, err.Detail = err.Detail[at+len(" in "):], err.Detail[:at]
		}
	}
	return errs
}
