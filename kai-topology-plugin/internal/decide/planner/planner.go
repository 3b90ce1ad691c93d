// Package planner assembles what a decision about a gang is made of, for the scheduler, the offline commands and the
// simulator alike.
package planner

import (
	"iter"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Cluster is where gangs are decided.
type Cluster interface {
	// Common is the part of a request that is the same for every gang: the nodes, and how they are looked at.
	Common() solve.Request
	// Topologies returns the Topologies that gangs name.
	Topologies(gangs ...*gang.Gang) (map[string]*kai.Topology, error)
	// PodsOf returns all pods of a gang.
	PodsOf(key gang.Key) ([]*corev1.Pod, error)
	// Related yields the gangs that have one of gang.IndexKeys in common, with their pods as they stand or are to go.
	Related(key gang.Key) iter.Seq2[*scheduling.PodGroup, []*corev1.Pod]
	// Assemble makes a gang of its PodGroup and its pods, and says what holds it.
	Assemble(podGroup *scheduling.PodGroup, pods []*corev1.Pod) (*gang.Gang, *gang.Hold)
	// Stays reports whether what stands of a gang stays where it is, so that lost pods can have places beside it.
	Stays(podGroup *scheduling.PodGroup) bool
	// Kept returns the room that a gang has to leave alone.
	Kept(assembled *gang.Gang) Kept
}

// Kept is the room that a gang has to leave alone.
type Kept struct {
	Room clusterview.Reserved
	// Overdue is reserved for gangs that the gang would overtake once too often, and Note says so.
	Overdue clusterview.Reserved
	Note    string
}

// Hold returns what keeps a gang from being decided: what holds it, unless it is mended without the pods that it lacks.
func Hold(cluster Cluster, assembled *gang.Gang, held *gang.Hold) *gang.Hold {
	return held.UnlessMends(func() bool { return mends(cluster, assembled) })
}

func mends(cluster Cluster, assembled *gang.Gang) bool {
	return assembled.Mends() && cluster.Stays(assembled.PodGroup)
}

// Request assembles the request to decide a gang of a cluster, which no Hold keeps from that, and records in the gang
// where those stand that it is related to. Held is what Assemble said of the gang.
func Request(cluster Cluster, assembled *gang.Gang, held *gang.Hold) (solve.Request, error) {
	sharing := Meet(cluster, assembled)
	followers, err := followersOf(cluster, assembled, sharing)
	if err != nil {
		return solve.Request{}, err
	}
	request := cluster.Common()
	request.Gang, request.Followers = assembled, followers
	request.Mends, request.Lacks = mends(cluster, assembled), held
	if request.Topologies, err = cluster.Topologies(append([]*gang.Gang{assembled}, followers...)...); err != nil {
		return solve.Request{}, err
	}
	kept := cluster.Kept(assembled)
	request.Reserved, request.Overdue, request.Note = kept.Room, kept.Overdue, kept.Note
	return request, nil
}

// Meet records in a gang where those stand that it shares a constraint with, or that its relations name. It returns the
// former.
func Meet(cluster Cluster, assembled *gang.Gang) (sharing []*scheduling.PodGroup) {
	assembled.Relate(cluster.Related)
	if assembled.Shared == nil {
		return nil
	}
	assembled.Shared.Others = nil
	base, _ := gang.BaseKey(assembled.PodGroup)
	for other, pods := range cluster.Related(base) {
		if key := gang.KeyOfPodGroup(other); key != assembled.Key() {
			assembled.Shared.Add(key, gang.NodesOf(pods))
			sharing = append(sharing, other)
		}
	}
	return sharing
}

// followersOf returns the gangs that have to go where a gang goes, if it decides that now.
func followersOf(
	cluster Cluster, leader *gang.Gang, sharing []*scheduling.PodGroup,
) (followers []*gang.Gang, err error) {
	if !leader.Leads() {
		return nil, nil
	}
	for _, podGroup := range sharing {
		pods, err := cluster.PodsOf(gang.KeyOfPodGroup(podGroup))
		if err != nil {
			return nil, err
		}
		follower, hold := cluster.Assemble(podGroup, gang.Released(pods))
		if hold == nil && follower.Follows(leader) {
			followers = append(followers, follower)
		}
	}
	return followers, nil
}
