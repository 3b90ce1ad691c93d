package layout

import "fmt"

// The names of all objects that are made from a PodCliqueSet are part of the interface: users address pods and Services
// by them.

// MaxLength is how many characters the names of a set, of a scaling group and of a clique may have together, so that
// the names built from them fit into a DNS label.
const MaxLength = 45

// ScalingGroup is the name of the PodCliqueScalingGroup of a group in one replica of a set.
func ScalingGroup(set string, replica int32, group string) string {
	return fmt.Sprintf("%s-%d-%s", set, replica, group)
}

// PodClique is the name of the PodClique of a standalone clique in one replica of a set.
func PodClique(set string, replica int32, clique string) string {
	return fmt.Sprintf("%s-%d-%s", set, replica, clique)
}

// groupPodClique is the name of the PodClique of a clique in one copy of a scaling group.
func groupPodClique(set string, replica int32, group string, copyIndex int32, clique string) string {
	return fmt.Sprintf("%s-%d-%s-%d-%s", set, replica, group, copyIndex, clique)
}

// BaseGang is the name of the base PodGang of one replica of a set.
func BaseGang(set string, replica int32) string {
	return fmt.Sprintf("%s-%d", set, replica)
}

// ScaledGang is the name of the PodGang of a scaling group's copy beyond the first minAvailable, which belong to the
// base gang. Scaled gangs count from 0.
func ScaledGang(set string, replica int32, group string, copyIndex, minAvailable int32) string {
	return fmt.Sprintf("%s-%d-%s-%d", set, replica, group, copyIndex-minAvailable)
}

// GroupConfig is the name of the group config of one copy of a scaling group inside a base gang.
func GroupConfig(set string, replica int32, group string, copyIndex int32) string {
	return fmt.Sprintf("%s-%d-%s-%d", set, replica, group, copyIndex)
}

// HeadlessService is the name of the Service under which the pods of one replica of a set find each other.
func HeadlessService(set string, replica int32) string {
	return fmt.Sprintf("%s-%d", set, replica)
}

// HeadlessServiceHost is the full DNS name of that Service.
func HeadlessServiceHost(set string, replica int32, namespace string) string {
	return fmt.Sprintf("%s.%s.svc.cluster.local", HeadlessService(set, replica), namespace)
}

// Hostname is the hostname of the pod with the given index in a PodClique.
func Hostname(podClique string, index int32) string {
	return fmt.Sprintf("%s-%d", podClique, index)
}

// ServiceAccount is the name of the ServiceAccount for the pods of a set.
func ServiceAccount(set string) string {
	return set
}

// Role is the name of the Role, and of the RoleBinding, of that ServiceAccount.
func Role(set string) string {
	return "grove.io:pcs:" + set
}
