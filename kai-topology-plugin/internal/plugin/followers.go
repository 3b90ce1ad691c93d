package plugin

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

const (
	// followersWait is how long a gang that leads waits for the pods of those that follow, since only pods tell what room they
	// need. They are made together with the gang's own, by the same hand.
	followersWait = 2 * time.Second
	// promiseLife is how long room is kept for followers. They are let go of once all that the leader needs is bound, which
	// takes seconds for a thousand pods.
	promiseLife = time.Minute
	// expectedLife is how long room is kept for further pods of a gang that has just been planned. Who makes them has begun to.
	expectedLife = 2 * time.Second
)

// followersOf returns the gangs that have to go where a gang goes, if it decides that now.
func (p *Plugin) followersOf(leader *gang.Gang) ([]*gang.Gang, error) {
	if !leader.Leads() {
		return nil, nil
	}
	var followers []*gang.Gang
	for _, podGroup := range p.companionsOf(leader.PodGroup) {
		pods, err := p.podsOf(keyOfPodGroup(podGroup))
		if err != nil {
			return nil, err
		}
		follower, hold := gang.AssembleFor(p.profiles.have, podGroup, gang.Released(pods), p.levels)
		if hold == nil && follower.Follows(leader) {
			followers = append(followers, follower)
		}
	}
	return followers, nil
}

// awaitsFollower says what a gang that leads waits for, empty if it does not: see followersWait. It wakes the gang when the time
// is up.
func (p *Plugin) awaitsFollower(podGroup *scheduling.PodGroup) string {
	key := keyOfPodGroup(podGroup)
	level := podGroup.Annotations[scheduling.AnnotationSharedRequired]
	if base, ok := gang.BaseOf(podGroup); !ok || base != key || level == "" || p.leading.over(key, podGroup.UID) {
		return ""
	}
	lacking := p.lackingFollower(podGroup)
	if lacking == nil {
		return ""
	}
	p.leading.await(key, podGroup.UID, keyOfPodGroup(lacking), func() { p.wakeIfReady(key) })
	return fmt.Sprintf("waiting up to %s for the pods of gang %s, which has to join it in one %s", followersWait, lacking.Name, level)
}

// lackingFollower returns the first follower of which pods are still to be made; nil if there is none, or if it is too late to
// look where all of them have room.
func (p *Plugin) lackingFollower(leader *scheduling.PodGroup) (lacking *scheduling.PodGroup) {
	if p.roster.Placed(keyOfPodGroup(leader)) {
		return nil
	}
	for _, podGroup := range p.companionsOf(leader) {
		key := keyOfPodGroup(podGroup)
		if p.roster.Placed(key) {
			return nil
		}
		tree, _ := p.outlines.of(podGroup, p.levels)
		if tree != nil && p.roster.Lacks(key, tree) && (lacking == nil || podGroup.Name < lacking.Name) {
			lacking = podGroup
		}
	}
	return lacking
}

// followerAppeared lets the leader of a gang go, if the gang's pods were all that it waited for.
func (p *Plugin) followerAppeared(key gang.Key) {
	if leader, ok := p.leading.awaiting(key); ok {
		p.wakeIfReady(leader)
	}
}

// promise keeps the room that was found for pods which are still to come: further ones of a gang that begins to be placed, and those
// of gangs that follow it.
func (p *Plugin) promise(leader *gang.Gang, answer *decision.Answer) {
	if len(leader.Standing) > 0 {
		return // What was kept when it began to be placed stays.
	}
	now := time.Now()
	lives := map[gang.Key]time.Duration{}
	for key := range answer.Kept {
		if lives[key] = promiseLife; key == leader.Key() {
			lives[key] = p.expecting.left(leader.PodGroup, now)
		}
	}
	p.promises.Keep(leader.Key(), leader.Priority(), answer.Kept, func(key gang.Key) time.Time { return now.Add(lives[key]) })
	if len(answer.Kept) == 0 {
		return
	}
	klog.Background().Info("Room is kept for pods that are to come", "podGroup", leader.Key(), "gangs", len(answer.Kept))
	for _, life := range slices.Compact(slices.Sorted(maps.Values(lives))) {
		time.AfterFunc(life, func() {
			if p.promises.Expire(time.Now()) {
				p.givenBack(leader.Key())
			}
		})
	}
}

// breakPromises gives back the room that is kept for a gang and for those who follow it.
func (p *Plugin) breakPromises(key gang.Key) {
	if p.promises.Drop(key) {
		p.givenBack(key)
	}
}

// reservedByPromises adds the room that somebody of this priority must leave to those who follow others.
func (p *Plugin) reservedByPromises(reserved clusterview.Reserved, except gang.Key, priority int32) {
	for node, pods := range p.promises.Reserved(except, priority) {
		reserved[node] = append(reserved[node], pods...)
	}
}

// leadingGangs are the gangs that wait, or waited, for the pods of those who follow.
type leadingGangs struct {
	mu    sync.Mutex
	gangs map[gang.Key]*leadingGang
	// awaited has who waits for the pods of a gang.
	awaited map[gang.Key]gang.Key
}

// leadingGang is a PodGroup that waits until over is set.
type leadingGang struct {
	podGroup types.UID
	timer    *time.Timer
	over     bool
	awaits   gang.Key
}

func newLeadingGangs() *leadingGangs {
	return &leadingGangs{gangs: map[gang.Key]*leadingGang{}, awaited: map[gang.Key]gang.Key{}}
}

// await has the gang of a PodGroup wait for the pods of a follower. Its time, at the end of which wake is called, begins when it
// waits for the first one.
func (l *leadingGangs) await(key gang.Key, podGroup types.UID, follower gang.Key, wake func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting := l.gangs[key]
	if waiting == nil || waiting.podGroup != podGroup {
		l.stop(key)
		waiting = &leadingGang{podGroup: podGroup}
		waiting.timer = time.AfterFunc(followersWait, func() {
			l.mu.Lock()
			waiting.over = true
			delete(l.awaited, waiting.awaits)
			l.mu.Unlock()
			wake()
		})
		l.gangs[key] = waiting
	}
	delete(l.awaited, waiting.awaits)
	waiting.awaits = follower
	if !waiting.over {
		l.awaited[follower] = key
	}
}

// over reports whether the gang of a PodGroup has waited long enough.
func (l *leadingGangs) over(key gang.Key, podGroup types.UID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.gangs[key]
	return known != nil && known.podGroup == podGroup && known.over
}

// awaiting returns who waits for the pods of a gang.
func (l *leadingGangs) awaiting(follower gang.Key) (leader gang.Key, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	leader, ok = l.awaited[follower]
	return leader, ok
}

// forget is for a PodGroup that is gone.
func (l *leadingGangs) forget(key gang.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop(key)
}

func (l *leadingGangs) stop(key gang.Key) {
	if known := l.gangs[key]; known != nil {
		known.timer.Stop()
		delete(l.awaited, known.awaits)
		delete(l.gangs, key)
	}
}
