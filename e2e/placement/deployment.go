package placement

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Labels on the pods of a DynamoGraphDeployment.
const (
	deploymentLabel = "nvidia.com/dynamo-graph-deployment-name"
	selectorLabel   = "nvidia.com/selector"
)

// deployment has the fields of a DynamoGraphDeployment, in either version, on which placement depends.
type deployment struct {
	TopologyConstraint *deploymentConstraint `json:"topologyConstraint"`
	Services           services              `json:"services"`
	Components         services              `json:"components"`
	Experimental       struct {
		ComponentGroups []componentGroup `json:"componentGroups"`
	} `json:"experimental"`
}

// componentGroup are services that scale together: each copy has all pods of each.
type componentGroup struct {
	Name               string                `json:"name"`
	Replicas           *int32                `json:"replicas"`
	TopologyConstraint *deploymentConstraint `json:"topologyConstraint"`
	TopologySpread     []deploymentSpread    `json:"topologySpread"`
	Components         []struct {
		Name string `json:"name"`
	} `json:"components"`
}

type deploymentConstraint struct {
	PackDomain          string `json:"packDomain"`
	PreferredDomain     string `json:"preferredDomain"`
	TopologyProfile     string `json:"topologyProfile"`
	ClusterTopologyName string `json:"clusterTopologyName"`
}

// deploymentSpread has the fields of a spread that bounds how many copies stand in a domain.
type deploymentSpread struct {
	Domain       string `json:"domain"`
	MaxPerDomain int    `json:"maxPerDomain"`
}

type service struct {
	Name      string `json:"name"`
	Replicas  *int32 `json:"replicas"`
	Multinode *struct {
		NodeCount int `json:"nodeCount"`
	} `json:"multinode"`
	TopologyConstraint *deploymentConstraint `json:"topologyConstraint"`

	// group is the component group with which it scales; nil if it scales by itself.
	group *componentGroup
}

// pods is how many the service has, in all copies of its group.
func (s service) pods() int {
	if s.group != nil {
		return orOne(s.group.Replicas) * orOne(s.Replicas) * s.nodes()
	}
	return orOne(s.Replicas) * s.nodes()
}

// services are written as a list with names, or as a map by name.
type services []service

func (s *services) UnmarshalJSON(written []byte) error {
	var list []service
	if json.Unmarshal(written, &list) == nil {
		*s = list
		return nil
	}
	var byName map[string]service
	if err := json.Unmarshal(written, &byName); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		named := byName[name]
		named.Name = name
		*s = append(*s, named)
	}
	return nil
}

func readDeployment(object *unstructured.Unstructured, topologies Topologies) (Workload, error) {
	spec, err := deploymentOf(object)
	if err != nil {
		return Workload{}, fmt.Errorf("reading %s: %w", nameOf(object), err)
	}
	reader := &deploymentReader{object: object, topologies: topologies, topology: DefaultTopology}
	all := append(spec.Services, spec.Components...)
	for i := range spec.Experimental.ComponentGroups {
		for _, member := range spec.Experimental.ComponentGroups[i].Components {
			if at := slices.IndexFunc(all, func(s service) bool { return s.Name == member.Name }); at >= 0 {
				all[at].group = &spec.Experimental.ComponentGroups[i]
			}
		}
	}
	if err := reader.readAll(spec.TopologyConstraint, all, spec.Experimental.ComponentGroups); err != nil {
		return Workload{}, fmt.Errorf("reading %s: %w", nameOf(object), err)
	}
	workload := Workload{
		Object: nameOf(object),
		Owns:   labelled(object.GetNamespace(), map[string]string{deploymentLabel: object.GetName()}),
		Claims: reader.claims,
	}
	for _, each := range all {
		workload.Pods += each.pods()
	}
	return workload, nil
}

func deploymentOf(object *unstructured.Unstructured) (deployment, error) {
	var spec deployment
	written, err := json.Marshal(object.Object["spec"])
	if err == nil {
		err = json.Unmarshal(written, &spec)
	}
	return spec, err
}

type deploymentReader struct {
	object     *unstructured.Unstructured
	topologies Topologies
	topology   string
	claims     []Claim
}

func (r *deploymentReader) readAll(whole *deploymentConstraint, all []service, groups []componentGroup) error {
	if whole != nil {
		if named := whole.TopologyProfile + whole.ClusterTopologyName; named != "" {
			r.topology = named
		}
	}
	pods := 0
	for _, each := range all {
		pods += each.pods()
	}
	if err := r.claim("", whole, pods, map[string]string{deploymentLabel: r.object.GetName()}); err != nil {
		return err
	}
	podsInCopy := map[*componentGroup]int{}
	for _, each := range all {
		if each.group != nil {
			podsInCopy[each.group] += orOne(each.Replicas) * each.nodes()
			continue
		}
		if err := r.readService(each); err != nil {
			return err
		}
	}
	for i := range groups {
		if err := r.readGroup(&groups[i], podsInCopy[&groups[i]]); err != nil {
			return err
		}
	}
	return nil
}

// readGroup reads the constraint on a component group, which holds for the pods of each copy, and how many copies may
// stand in one domain.
func (r *deploymentReader) readGroup(group *componentGroup, pods int) error {
	scaled := map[string]string{grovev1alpha1.LabelPodCliqueScalingGroup: fmt.Sprintf("%s-0-%s", r.object.GetName(),
		strings.ToLower(group.Name))}
	var copies []func(*corev1.Pod) bool
	for replica := range orOne(group.Replicas) {
		labels := maps.Clone(scaled)
		labels[grovev1alpha1.LabelPodCliqueScalingGroupReplicaIndex] = strconv.Itoa(replica)
		copies = append(copies, labelled(r.object.GetNamespace(), labels))
		err := r.claim(fmt.Sprintf("%s %d", group.Name, replica), group.TopologyConstraint, pods, labels)
		if err != nil {
			return err
		}
	}
	for _, spread := range group.TopologySpread {
		level, err := r.topologies.level(r.topology, spread.Domain)
		if err != nil {
			return err
		}
		r.claims = append(r.claims, Claim{
			Group: group.Name, Level: level, Pods: pods * len(copies), Selects: labelled(r.object.GetNamespace(), scaled),
			Items: copies, Most: spread.MaxPerDomain,
		})
	}
	return nil
}

// readService reads the constraint on a service. All pods of a single-node service are one group, while each replica of
// a multi-node service is one.
func (r *deploymentReader) readService(each service) error {
	selector := fmt.Sprintf("%s-%s", r.object.GetName(), strings.ToLower(each.Name))
	if each.Multinode == nil {
		return r.claim(each.Name, each.TopologyConstraint, orOne(each.Replicas),
			map[string]string{selectorLabel: selector})
	}
	for replica := range orOne(each.Replicas) {
		if err := r.claim(fmt.Sprintf("%s %d", each.Name, replica), each.TopologyConstraint, each.nodes(),
			map[string]string{
				selectorLabel: selector,
				grovev1alpha1.LabelPodCliqueScalingGroupReplicaIndex: strconv.Itoa(replica),
			}); err != nil {
			return err
		}
	}
	return nil
}

func (r *deploymentReader) claim(
	group string, constraint *deploymentConstraint, pods int, labels map[string]string,
) error {
	if constraint == nil {
		return nil
	}
	claims, err := claimsOf(r.topologies, r.topology, group, constraint.PackDomain, constraint.PreferredDomain, pods,
		labelled(r.object.GetNamespace(), labels))
	r.claims = append(r.claims, claims...)
	return err
}

func (s service) nodes() int {
	if s.Multinode == nil {
		return 1
	}
	return s.Multinode.NodeCount
}
