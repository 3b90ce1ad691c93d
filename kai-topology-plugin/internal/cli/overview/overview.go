// Package overview is what is seen of a cluster: its topologies with what stands in each domain, its nodes and pods,
// and how each gang is doing. One model is printed by programs, drawn in a terminal and shown in a page.
package overview

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"packtree.dev/kai-topology-plugin/internal/cli/explanation"
	"packtree.dev/kai-topology-plugin/internal/cli/occupancy"
	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/brief"
)

// Overview is a cluster at one moment. Amounts are in the unit of their resource: devices, CPUs, bytes.
type Overview struct {
	// Resource is the one that the amounts of domains and pods are of.
	Resource   string     `json:"resource"`
	Topologies []Topology `json:"topologies"`
	// Waiting are the gangs that do not have all the pods that they need.
	Waiting []Waiting `json:"waiting"`
	// Relations are the relations of gangs with running pods.
	Relations []Relation `json:"relations"`
	// Seats are the nodes held for replacement pods.
	Seats []Seat `json:"seats,omitempty"`
	// Reservations are room that others have to leave to gangs that wait.
	Reservations []Reservation `json:"reservations,omitempty"`
	// OutOfService are the nodes that take no pods.
	OutOfService []OutOfService `json:"outOfService"`
	// Gangs are all that are asked for, in the order of the scheduler, without their nodes: pods have these.
	Gangs []*explanation.Gang `json:"gangs"`
	// Nodes and Pods are by name, pods by namespace first. Pods that are over are left out.
	Nodes []Node   `json:"nodes"`
	Pods  []Pod    `json:"pods"`
	Notes []string `json:"notes"`
	// Histories are those of gangs that events say something about; nil where no events were read.
	Histories []*History `json:"histories,omitempty"`
}

// Topology is a tree of domains.
type Topology struct {
	// Name is empty for nodes without a topology.
	Name   string   `json:"name"`
	Levels []string `json:"levels"`
	// ZoneLevel is the last level if its domains are NUMA zones.
	ZoneLevel string `json:"zoneLevel,omitempty"`
	// Cluster is the whole cluster, with its domains below it.
	Cluster *occupancy.Domain `json:"cluster"`
}

// Waiting is a gang as the scheduler last spoke of it.
type Waiting struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Pending counts the pods without a node.
	Pending int    `json:"pending"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// OutOfService is a node that takes no pods.
type OutOfService struct {
	Name     string `json:"name"`
	Cordoned bool   `json:"cordoned"`
	NotReady bool   `json:"notReady"`
}

// Question is what is to be in an overview; the zero value asks for everything.
type Question struct {
	// Topology is the only one; all if it is empty.
	Topology string
	// Resource is GPUs if any node has them, else CPUs, unless it is set.
	Resource string
	// Namespace restricts the listed gangs and pods; empty for all. Amounts always include all namespaces.
	Namespace string
}

// Of answers a question about a cluster. The error names what the question asks for and the cluster does not have.
func Of(ctx context.Context, cluster *inventory.Inventory, asked Question) (*Overview, error) {
	resource := corev1.ResourceName(cmp.Or(asked.Resource, string(occupancy.Resource(cluster.Nodes))))
	if asked.Resource != "" && len(cluster.Nodes) > 0 {
		if err := offered(cluster.Nodes, resource); err != nil {
			return nil, err
		}
	}
	byName := *cluster
	byName.PodGroups = slices.SortedFunc(slices.Values(cluster.PodGroups), func(a, b *scheduling.PodGroup) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	cluster = &byName
	seen := &Overview{
		Resource:     string(resource),
		Topologies:   []Topology{},
		Waiting:      waiting(cluster, asked.shows),
		Seats:        seats(cluster, asked.shows),
		Reservations: reservations(cluster),
		OutOfService: outOfService(cluster.Nodes),
		Nodes:        nodesOf(cluster),
		Pods:         pods(cluster, resource, asked),
		Notes:        []string{},
		Histories:    histories(cluster, asked.shows),
	}
	var err error
	if seen.Relations, err = relationsOf(cluster, asked.shows); err != nil {
		return nil, err
	}
	names, err := topologies(cluster, asked.Topology)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		seen.Notes = append(seen.Notes, "there is no Topology, so only nodes can be drawn")
		names = []string{""}
	}
	for _, name := range names {
		levels, _ := cluster.Levels(name)
		drawn := occupancy.Of(cluster, levels, resource, asked.shows)
		topology := Topology{Name: name, Levels: levels.Keys(), ZoneLevel: levels.Zone(), Cluster: drawn}
		seen.Topologies = append(seen.Topologies, topology)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	table, err := turns.Set(ctx, cluster)
	if err != nil {
		return nil, err
	}
	seen.Gangs, err = gangs(cluster, table, asked.shows)
	return seen, err
}

func (q Question) shows(key gang.Key) bool {
	return q.Namespace == "" || q.Namespace == key.Namespace
}

func topologies(cluster *inventory.Inventory, only string) ([]string, error) {
	names := slices.Sorted(maps.Keys(cluster.Topologies))
	if only == "" {
		return names, nil
	}
	if cluster.Topologies[only] == nil {
		return nil, fmt.Errorf("--topology: no Topology is called %q, there is: %s",
			only, cmp.Or(strings.Join(names, ", "), "none"))
	}
	return []string{only}, nil
}

func gangs(cluster *inventory.Inventory, table *turns.Table, shows func(gang.Key) bool) ([]*explanation.Gang, error) {
	all, err := explanation.Standing(cluster, table)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(g *explanation.Gang) bool {
		return !shows(gang.Key{Namespace: g.Namespace, Name: g.Name})
	})
	for _, g := range all {
		g.Nodes = nil
	}
	return all, nil
}

func offered(nodes []*corev1.Node, resource corev1.ResourceName) error {
	there := map[string]bool{}
	for _, node := range nodes {
		for name := range node.Status.Allocatable {
			there[string(name)] = true
		}
	}
	if there[string(resource)] {
		return nil
	}
	return fmt.Errorf("--resource: no node has %s, they have: %s",
		resource, strings.Join(slices.Sorted(maps.Keys(there)), ", "))
}

// waiting lists the gangs that want pods placed.
func waiting(read *inventory.Inventory, shows func(gang.Key) bool) []Waiting {
	result := []Waiting{}
	members := read.Members()
	for _, podGroup := range read.PodGroups {
		key := gang.KeyOfPodGroup(podGroup)
		pending := 0
		for _, pod := range members[key] {
			if gang.Pending(pod) {
				pending++
			}
		}
		condition := meta.FindStatusCondition(podGroup.Status.Conditions, scheduling.ConditionScheduled)
		if !shows(key) || pending == 0 && (condition == nil || condition.Reason == scheduling.ReasonPlaced) {
			continue
		}
		waits := Waiting{Namespace: key.Namespace, Name: key.Name, Pending: pending}
		if condition != nil {
			waits.Reason, waits.Message = condition.Reason, brief.Plain(condition.Message)
		}
		result = append(result, waits)
	}
	return result
}

func outOfService(all []*corev1.Node) []OutOfService {
	result := []OutOfService{}
	for _, node := range all {
		out := OutOfService{Name: node.Name, Cordoned: node.Spec.Unschedulable, NotReady: !nodes.Ready(node)}
		if out.Cordoned || out.NotReady {
			result = append(result, out)
		}
	}
	slices.SortFunc(result, func(a, b OutOfService) int { return cmp.Compare(a.Name, b.Name) })
	return result
}
