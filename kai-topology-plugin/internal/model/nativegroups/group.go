// Package nativegroups translates the PodGroups and CompositePodGroups of Kubernetes, in scheduling.k8s.io, to the
// PodGroup that the scheduler decides. A group without a parent is a gang; those below it are its groups.
package nativegroups

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// APIGroup is the API group of the kinds.
const APIGroup = "scheduling.k8s.io"

// The two kinds.
const (
	PodGroup  = "PodGroup"
	Composite = "CompositePodGroup"
)

// Kinds are the two kinds.
var Kinds = []schema.GroupKind{{Group: APIGroup, Kind: PodGroup}, {Group: APIGroup, Kind: Composite}}

// Versions have one of the kinds or both. The first one that is served is read.
var Versions = []string{"v1beta1", "v1alpha3", "v1alpha2"}

// ResourceOf returns the resource of one of the kinds.
func ResourceOf(kind schema.GroupVersionKind) schema.GroupVersionResource {
	return kind.GroupVersion().WithResource(strings.ToLower(kind.Kind) + "s")
}

// Group is an object of one of the kinds, in any version, as far as it is understood.
type Group struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   spec `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

type spec struct {
	Parent           string `json:"parentCompositePodGroupName"`
	SchedulingPolicy struct {
		// Gang is nil for the policy basic. MinCount is that of a PodGroup, MinGroupCount that of a CompositePodGroup.
		Gang *struct {
			MinCount      int32 `json:"minCount"`
			MinGroupCount int32 `json:"minGroupCount"`
		} `json:"gang"`
	} `json:"schedulingPolicy"`
	SchedulingConstraints struct {
		Topology []struct {
			Key string `json:"key"`
		} `json:"topology"`
	} `json:"schedulingConstraints"`
	PriorityClassName string `json:"priorityClassName"`
	// ResourceClaims are not supported; what they are does not matter.
	ResourceClaims []struct{} `json:"resourceClaims"`
}

// Read returns the group that an object is. An error names the field.
func Read(object *unstructured.Unstructured) (*Group, error) {
	group := &Group{}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, group)
	switch least, gang := group.minimum(), field.NewPath("spec", "schedulingPolicy", "gang"); {
	case err != nil:
		err = explained(object, err)
	case *least < 0 && group.Kind == Composite:
		err = field.Invalid(gang.Child("minGroupCount"), *least, "must not be negative")
	case *least < 0:
		err = field.Invalid(gang.Child("minCount"), *least, "must not be negative")
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
	}
	return group, nil
}

// explained returns why an object is no group by its field, which the converter does not say.
func explained(object *unstructured.Unstructured, err error) error {
	var wrong *json.UnmarshalTypeError
	if text, failed := object.MarshalJSON(); failed == nil && errors.As(json.Unmarshal(text, &Group{}), &wrong) {
		return fmt.Errorf("%s: is a %s, and must be a value of type %s", wrong.Field, wrong.Value, wrong.Type)
	}
	return err
}

// unread names the fields of the group that ask for something, and have no effect.
func (g *Group) unread() string {
	var fields []string
	if len(g.Spec.SchedulingConstraints.Topology) > 1 {
		fields = append(fields, "spec.schedulingConstraints.topology[1]")
	}
	if len(g.Spec.ResourceClaims) > 0 {
		fields = append(fields, "spec.resourceClaims")
	}
	return strings.Join(fields, ", ")
}

// Ref names a group.
type Ref struct{ Kind, Namespace, Name string }

// Ref returns the name of the group.
func (g *Group) Ref() Ref { return Ref{g.Kind, g.Namespace, g.Name} }

// parent returns the name of the group above, and false if the group is a gang.
func (g *Group) parent() (Ref, bool) {
	return Ref{Composite, g.Namespace, g.Spec.Parent}, g.Spec.Parent != ""
}

// minimum returns how many pods, or groups, the group needs: one of them, with the policy basic.
func (g *Group) minimum() *int32 {
	gang := g.Spec.SchedulingPolicy.Gang
	switch {
	case gang == nil:
		return new(int32(1))
	case g.Kind == Composite:
		return new(gang.MinGroupCount)
	default:
		return new(gang.MinCount)
	}
}

// GangName returns the name of the gang of a group without a parent, as kubectl would name the object. No PodGroup of
// ours has a slash in its name.
func (r Ref) GangName() string { return strings.ToLower(r.Kind) + "." + APIGroup + "/" + r.Name }

// RefOf returns the group of a gang, and false if the gang is a PodGroup of ours.
func RefOf(namespace, gang string) (Ref, bool) {
	for _, kind := range Kinds {
		if name, is := strings.CutPrefix(gang, Ref{Kind: kind.Kind}.GangName()); is {
			return Ref{kind.Kind, namespace, name}, true
		}
	}
	return Ref{}, false
}
