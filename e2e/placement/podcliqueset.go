package placement

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// setReader collects the claims of one PodCliqueSet.
type setReader struct {
	set        *grovev1alpha1.PodCliqueSet
	topologies Topologies
	claims     []Claim
}

func readPodCliqueSet(set *grovev1alpha1.PodCliqueSet, topologies Topologies) (Workload, error) {
	reader := &setReader{set: set, topologies: topologies}
	pods := 0
	for replica := range int(set.Spec.Replicas) {
		if err := reader.readReplica(replica); err != nil {
			return Workload{}, err
		}
		pods += reader.podsOfReplica()
	}
	return Workload{
		Pods:   pods,
		Owns:   labelled(set.Namespace, map[string]string{grovev1alpha1.LabelPartOf: set.Name}),
		Claims: reader.claims,
	}, nil
}

func (r *setReader) readReplica(replica int) error {
	template := &r.set.Spec.Template
	name := fmt.Sprintf("replica %d", replica)
	labels := map[string]string{
		grovev1alpha1.LabelPartOf:                   r.set.Name,
		grovev1alpha1.LabelPodCliqueSetReplicaIndex: strconv.Itoa(replica),
	}
	if err := r.claim(name, template.TopologyConstraint, r.podsOfReplica(), labels); err != nil {
		return err
	}
	for _, group := range template.PodCliqueScalingGroups {
		for copyOf := range orOne(group.Replicas) {
			if err := r.readGroupCopy(replica, copyOf, group); err != nil {
				return err
			}
		}
	}
	for _, clique := range template.Cliques {
		if r.groupOf(clique.Name) != nil {
			continue
		}
		podClique := fmt.Sprintf("%s-%d-%s", r.set.Name, replica, clique.Name)
		if err := r.claim(name+" "+clique.Name, clique.TopologyConstraint, cliquePods(clique),
			map[string]string{grovev1alpha1.LabelPodClique: podClique}); err != nil {
			return err
		}
	}
	return nil
}

// readGroupCopy reads the constraints on one copy of a scaling group.
func (r *setReader) readGroupCopy(replica, copyOf int, group grovev1alpha1.PodCliqueScalingGroupConfig) error {
	name := fmt.Sprintf("replica %d %s %d", replica, group.Name, copyOf)
	scalingGroup := fmt.Sprintf("%s-%d-%s", r.set.Name, replica, group.Name)
	if err := r.claim(name, group.TopologyConstraint, r.podsOfCopy(group), map[string]string{
		grovev1alpha1.LabelPodCliqueScalingGroup:             scalingGroup,
		grovev1alpha1.LabelPodCliqueScalingGroupReplicaIndex: strconv.Itoa(copyOf),
	}); err != nil {
		return err
	}
	for _, clique := range r.set.Spec.Template.Cliques {
		if !slices.Contains(group.CliqueNames, clique.Name) {
			continue
		}
		podClique := fmt.Sprintf("%s-%d-%s", scalingGroup, copyOf, clique.Name)
		if err := r.claim(name+" "+clique.Name, clique.TopologyConstraint, cliquePods(clique),
			map[string]string{grovev1alpha1.LabelPodClique: podClique}); err != nil {
			return err
		}
	}
	return nil
}

func (r *setReader) claim(
	group string, constraint *grovev1alpha1.TopologyConstraint, pods int, labels map[string]string,
) error {
	if constraint == nil {
		return nil
	}
	selects := labelled(r.set.Namespace, labels)
	required, preferred := string(constraint.RequiredDomain()), string(constraint.PreferredDomain())
	claims, err := claimsOf(r.topologies, r.topology(constraint), group, required, preferred, pods, selects)
	r.claims = append(r.claims, claims...)
	return err
}

func (r *setReader) topology(constraint *grovev1alpha1.TopologyConstraint) string {
	switch {
	case r.set.Spec.Template.ClusterTopologyName != "":
		return r.set.Spec.Template.ClusterTopologyName
	case constraint.TopologyName != "":
		return constraint.TopologyName
	default:
		return DefaultTopology
	}
}

// podsOfReplica counts the pods of one replica of the set, with all copies of its scaling groups.
func (r *setReader) podsOfReplica() int {
	pods := 0
	for _, clique := range r.set.Spec.Template.Cliques {
		if group := r.groupOf(clique.Name); group != nil {
			pods += orOne(group.Replicas) * cliquePods(clique)
		} else {
			pods += cliquePods(clique)
		}
	}
	return pods
}

func (r *setReader) podsOfCopy(group grovev1alpha1.PodCliqueScalingGroupConfig) int {
	pods := 0
	for _, clique := range r.set.Spec.Template.Cliques {
		if slices.Contains(group.CliqueNames, clique.Name) {
			pods += cliquePods(clique)
		}
	}
	return pods
}

func (r *setReader) groupOf(clique string) *grovev1alpha1.PodCliqueScalingGroupConfig {
	groups := r.set.Spec.Template.PodCliqueScalingGroups
	at := slices.IndexFunc(groups, func(group grovev1alpha1.PodCliqueScalingGroupConfig) bool {
		return slices.Contains(group.CliqueNames, clique)
	})
	if at < 0 {
		return nil
	}
	return &groups[at]
}

func cliquePods(clique grovev1alpha1.PodCliqueTemplateSpec) int {
	return max(int(clique.Spec.Replicas), 1)
}

// orOne is the value, or the default 1 of all numbers here.
func orOne(value *int32) int {
	if value == nil {
		return 1
	}
	return int(*value)
}

// claimsOf are the claims of one constraint, which may have a required and a preferred level.
func claimsOf(topologies Topologies, topology, group, required, preferred string, pods int,
	selects func(*corev1.Pod) bool,
) ([]Claim, error) {
	var claims []Claim
	for _, wish := range []struct {
		called string
		soft   bool
	}{{required, false}, {preferred, true}} {
		if wish.called == "" {
			continue
		}
		level, err := topologies.level(topology, wish.called)
		if err != nil {
			return nil, err
		}
		claims = append(claims, Claim{Group: group, Level: level, Preferred: wish.soft, Pods: pods, Selects: selects})
	}
	return claims, nil
}
