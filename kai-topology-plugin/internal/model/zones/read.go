package zones

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/shared/packing"
)

// Resource is what agents report the zones of nodes as. Most clusters do not serve it.
var Resource = schema.GroupVersionResource{
	Group: "topology.node.k8s.io", Version: "v1alpha2", Resource: "noderesourcetopologies",
}

// Kind is that of its objects.
var Kind = schema.GroupKind{Group: Resource.Group, Kind: "NodeResourceTopology"}

// object is what is read of a NodeResourceTopology.
type object struct {
	Attributes []struct {
		Name, Value string
	} `json:"attributes"`
	// TopologyPolicies are what older agents write in place of attributes.
	TopologyPolicies []string `json:"topologyPolicies"`
	Zones            []struct {
		Name      string           `json:"name"`
		Type      string           `json:"type"`
		Resources []listedResource `json:"resources"`
	} `json:"zones"`
}

// listedResource has quantities as they are written.
type listedResource struct {
	Name        string `json:"name"`
	Capacity    any    `json:"capacity"`
	Allocatable any    `json:"allocatable"`
	Available   any    `json:"available"`
}

// Read reads a NodeResourceTopology of v1alpha1 or v1alpha2. Errors name the field.
func Read(from *unstructured.Unstructured) (*Node, error) {
	var o object
	text, err := json.Marshal(from.Object)
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	wrong := &json.UnmarshalTypeError{}
	if errors.As(err, &wrong) {
		return nil, field.TypeInvalid(field.NewPath(wrong.Field), wrong.Value, "is no value of this field")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the NodeResourceTopology %s: %w", from.GetName(), err)
	}
	n := &Node{Name: from.GetName()}
	n.readPolicy(&o)
	names := map[string]bool{}
	for i, zone := range o.Zones {
		path := field.NewPath("zones").Index(i)
		switch {
		case zone.Type != "Node":
			continue
		case zone.Name == "":
			return nil, field.Required(path.Child("name"), "")
		case names[zone.Name]:
			return nil, field.Duplicate(path.Child("name"), zone.Name)
		}
		names[zone.Name] = true
		read := Zone{zone.Name, packing.Resources{}, packing.Resources{}, packing.Resources{}}
		for j := range zone.Resources {
			if err := read.add(path.Child("resources").Index(j), &zone.Resources[j]); err != nil {
				return nil, err
			}
		}
		n.Zones = append(n.Zones, read)
	}
	slices.SortFunc(n.Zones, func(a, b Zone) int {
		return cmp.Or(cmp.Compare(number(a.Name), number(b.Name)), strings.Compare(a.Name, b.Name))
	})
	n.Zones = n.Zones[:min(len(n.Zones), mostZones)]
	n.read = n.table()
	return n, nil
}

// readPolicy takes attributes before topologyPolicies.
func (n *Node) readPolicy(o *object) {
	if len(o.TopologyPolicies) > 0 {
		name, perPod := strings.CutSuffix(o.TopologyPolicies[0], "PodLevel")
		name = strings.TrimSuffix(name, "ContainerLevel")
		old := map[string]Policy{"SingleNUMANode": SingleNUMA, "Restricted": Restricted, "BestEffort": "best-effort"}
		n.Policy, n.PerPod = old[name], perPod
	}
	for _, attribute := range o.Attributes {
		if attribute.Name == "topologyManagerPolicy" {
			n.Policy, n.PerPod = Policy(attribute.Value), false
		}
	}
	for _, attribute := range o.Attributes {
		if attribute.Name == "topologyManagerScope" {
			n.PerPod = attribute.Value == "pod"
		}
	}
}

func (z *Zone) add(path *field.Path, listed *listedResource) error {
	if listed.Name == "" {
		return field.Required(path.Child("name"), "")
	}
	if _, twice := z.Allocatable[listed.Name]; twice {
		return field.Duplicate(path.Child("name"), listed.Name)
	}
	for _, amount := range []struct {
		field   string
		written any
		into    packing.Resources
	}{
		{"capacity", listed.Capacity, z.Capacity},
		{"allocatable", cmp.Or(listed.Allocatable, listed.Capacity, any(0)), z.Allocatable},
		{"available", listed.Available, z.Available},
	} {
		if amount.written == nil {
			continue
		}
		quantity, err := resource.ParseQuantity(fmt.Sprint(amount.written))
		if err != nil {
			return field.Invalid(path.Child(amount.field), amount.written, "must be a quantity")
		}
		amount.into[listed.Name] = min(valueOf(corev1.ResourceName(listed.Name), quantity), most)
	}
	return nil
}

// valueOf is an amount in the units of a Zone, at least 0. What is more than most becomes most+1, which no zone has.
func valueOf(name corev1.ResourceName, quantity resource.Quantity) int64 {
	switch {
	case quantity.Sign() <= 0:
		return 0
	case name == corev1.ResourceCPU && quantity.CmpInt64(most/1000) <= 0:
		return quantity.MilliValue()
	case name != corev1.ResourceCPU && quantity.CmpInt64(most) <= 0:
		return quantity.Value()
	}
	return most + 1
}

// number is the number at the end of a name, the largest if there is none.
func number(name string) int {
	digits := name[len(strings.TrimRight(name, "0123456789")):]
	if n, err := strconv.Atoi(digits); err == nil {
		return n
	}
	return math.MaxInt
}
