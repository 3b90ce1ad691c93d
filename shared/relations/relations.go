// Package relations has the relations between the groups, the pods and the gangs of PodGroups: apart, at most so many
// in a domain, evenly, near. Operators, the pod grouper, the webhook and the scheduler read them by the same functions
// from the annotation packtree.dev/relations, which any PodGroup can have.
package relations

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/manifests"
	"packtree.dev/shared/podgrouptree"
)

// Relation says how items stand in the domains of one level. An item counts in each domain in which it has a pod, so
// that an item that spans two domains counts in both.
//
// Items are the SubGroups, the pods of PodsOf, or gangs; if none of the three is set, the pods of a PodGroup without
// subgroups. Exactly one of MaxPerDomain, MaxPercentPerDomain, Even and Near is set.
type Relation struct {
	// Name of the relation for users and messages, unique in its PodGroup: up to 253 letters, digits and -_.
	Name string `json:"name"`
	// SubGroups are items: names of subgroups, none inside another. With Gangs they are the items of this gang, with
	// Near the subgroups that stand near; without them it is the whole gang.
	SubGroups []string `json:"subGroups,omitempty"`
	// PodsOf names a leaf; its pods are the items. Empty without subgroups.
	PodsOf string `json:"podsOf,omitempty"`
	// Gangs is a key: the items are the gangs of all PodGroups of the namespace with a relation of the same Gangs. Each
	// gang is one item, or as many as its relation has SubGroups.
	Gangs string `json:"gangs,omitempty"`
	// Item is, with Gangs and without SubGroups, the name under which this gang counts: gangs with the same Item are
	// one item, such as the gangs of one replica of a PodCliqueSet. Empty: the gang is an item by itself.
	Item string `json:"item,omitempty"`
	// Near is the name of another PodGroup of the namespace: all items stand in domains in which that one has pods.
	// They stand in one domain if all pods of that PodGroup are in one.
	Near string `json:"near,omitempty"`
	// Topology is the Topology of the level; empty for that of the first of the PodGroup's constraints in the order of
	// the tree.
	Topology string `json:"topology,omitempty"`
	// Level is the node label key of a level of the Topology, or its alias.
	Level string `json:"level"`
	// MaxPerDomain is how many items may stand in one domain; 1 keeps them apart. 0 means unset.
	MaxPerDomain int32 `json:"maxPerDomain,omitempty"`
	// MaxPercentPerDomain is the share of the items that may stand in one domain, from 1 to 100, rounded up. 0 means
	// unset.
	MaxPercentPerDomain int32 `json:"maxPercentPerDomain,omitempty"`
	// Even means that all domains with items have equally many, as far as possible: Required is false then.
	Even bool `json:"even,omitempty"`
	// Required is nil or true if no pod is placed against the relation; false if the relation is met as far as
	// possible, after the preferred levels.
	Required *bool `json:"required,omitempty"`
}

// Preferred reports whether the relation is met as far as possible only.
func (r *Relation) Preferred() bool {
	return r.Required != nil && !*r.Required
}

// Limit returns how many of a number of items may stand in one domain, at least 1; all of them if the relation has no
// maximum.
func (r *Relation) Limit(items int) int {
	switch {
	case r.MaxPerDomain > 0:
		return int(r.MaxPerDomain)
	case r.MaxPercentPerDomain > 0:
		return max(1, (items*int(r.MaxPercentPerDomain)+99)/100)
	default:
		return max(1, items)
	}
}

// TopologyIn returns the name of the Topology that the relation's level belongs to, in a PodGroup with these groups;
// empty if neither the relation nor any constraint names one.
func (r *Relation) TopologyIn(tree *podgrouptree.Tree) string {
	if r.Topology != "" {
		return r.Topology
	}
	for _, group := range tree.Groups() {
		if group.Constraint.Topology != "" {
			return group.Constraint.Topology
		}
	}
	return ""
}

// String describes the relation, such as "at most 1 per domain of example.com/rack".
func (r *Relation) String() string {
	switch {
	case r.MaxPerDomain > 0:
		return fmt.Sprintf("at most %d per domain of %s", r.MaxPerDomain, r.Level)
	case r.MaxPercentPerDomain > 0:
		return fmt.Sprintf("at most %d %% per domain of %s", r.MaxPercentPerDomain, r.Level)
	case r.Even:
		return "as many in each domain of " + r.Level
	default:
		return fmt.Sprintf("near %s by %s", r.Near, r.Level)
	}
}

// Format returns the relations in the form of the annotation; empty for none.
func Format(relations []Relation) string {
	if len(relations) == 0 {
		return ""
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(relations); err != nil {
		panic(err) // They are strings, numbers and booleans.
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// Path of the relations in an object.
func Path() *field.Path {
	return field.NewPath("metadata", "annotations").Key(scheduling.AnnotationRelations)
}

// longest is the maximum size of the relations in annotations, in bytes. The API server allows 256 KiB for all
// annotations.
const longest = 128 << 10

// Parse reads the relations from the annotations of a PodGroup, a PodGang or a workload. It returns none if there is no
// annotation, and errors if it is malformed. Validate checks the relations against a PodGroup.
func Parse(annotations map[string]string) ([]Relation, field.ErrorList) {
	written, found := annotations[scheduling.AnnotationRelations]
	if !found {
		return nil, nil
	}
	if len(written) > longest {
		return nil, field.ErrorList{field.TooLong(Path(), "", longest)}
	}
	const shape = `must be a JSON list of relations, such as ` +
		`[{"name":"apart","podsOf":"worker","level":"example.com/rack","maxPerDomain":1}]`
	// If the value has another shape, only that is reported.
	var shaped []json.RawMessage
	if err := json.Unmarshal([]byte(written), &shaped); err != nil || shaped == nil {
		return nil, field.ErrorList{field.Invalid(Path(), written, shape)}
	}
	// Fields are suggested for a struct, not for a list.
	var list struct {
		Relations []Relation `json:"relations"`
	}
	var errs field.ErrorList
	for _, problem := range manifests.DecodeStrict([]byte(`{"relations":`+written+`}`), &list) {
		errs = append(errs, at(problem))
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return list.Relations, validateEach(list.Relations)
}

func at(problem manifests.Problem) *field.Error {
	// A path goes on after "relations", with an index: relations[0].levl.
	place := Path().String() + strings.TrimPrefix(problem.Path, "relations")
	return &field.Error{Type: field.ErrorTypeInvalid, Field: place, BadValue: field.OmitValueType{},
		Detail: problem.Reason}
}
