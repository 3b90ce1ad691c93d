package placement

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Labels on the pods of a DynamoGraphDeployment.
const (
	deploymentLabel = "nvidia.com/dynamo-graph-deployment-name"
	selectorLabel   = "nvidia.com/selector"
)

// deployment is as much of a DynamoGraphDeployment, of either version, as placement depends on.
type deployment struct {
	TopologyConstraint *deploymentConstraint `json:"topologyConstraint"`
	Services           services              `json:"services"`
	Components         services              `json:"components"`
}

type deploymentConstraint struct {
	PackDomain          string `json:"packDomain"`
	PreferredDomain     string `json:"preferredDomain"`
	TopologyProfile     string `json:"topologyProfile"`
	ClusterTopologyName string `json:"clusterTopologyName"`
}

type service struct {
	Name      string `json:"name"`
	Replicas  *int32 `json:"replicas"`
	Multinode *struct {
		NodeCount int `json:"nodeCount"`
	} `json:"multinode"`
	TopologyConstraint *deploymentConstraint `json:"topologyConstraint"`
}

// services are written as a list with names, or as a map keyed by name.
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
	if err := reader.readAll(spec.TopologyConstraint, all); err != nil {
		return Workload{}, fmt.Errorf("reading %s: %w", nameOf(object), err)
	}
	workload := Workload{
		Object: nameOf(object),
		Owns:   labelled(object.GetNamespace(), map[string]string{deploymentLabel: object.GetName()}),
		Claims: reader.claims,
	}
	for _, each := range all {
		workload.Pods += orOne(each.Replicas) * each.nodes()
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

func (r *deploymentReader) readAll(whole *deploymentConstraint, all []service) error {
	if whole != nil {
		if named := whole.TopologyProfile + whole.ClusterTopologyName; named != "" {
			r.topology = named
		}
	}
	pods := 0
	for _, each := range all {
		pods += orOne(each.Replicas) * each.nodes()
	}
	if err := r.claim("", whole, pods, map[string]string{deploymentLabel: r.object.GetName()}); err != nil {
		return err
	}
	for _, each := range all {
		if err := r.readService(each); err != nil {
			return err
		}
	}
	return nil
}

// readService reads the constraint on a service. All pods of a single-node service are one group, while each replica of a
// multi-node service is.
func (r *deploymentReader) readService(each service) error {
	selector := fmt.Sprintf("%s-%s", r.object.GetName(), strings.ToLower(each.Name))
	if each.Multinode == nil {
		return r.claim(each.Name, each.TopologyConstraint, orOne(each.Replicas), map[string]string{selectorLabel: selector})
	}
	for replica := range orOne(each.Replicas) {
		if err := r.claim(fmt.Sprintf("%s %d", each.Name, replica), each.TopologyConstraint, each.nodes(), map[string]string{
			selectorLabel: selector, grovev1alpha1.LabelPodCliqueScalingGroupReplicaIndex: strconv.Itoa(replica),
		}); err != nil {
			return err
		}
	}
	return nil
}

func (r *deploymentReader) claim(group string, constraint *deploymentConstraint, pods int, labels map[string]string) error {
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
