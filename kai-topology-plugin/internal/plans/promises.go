package plans

import (
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/gang"
)

// Promises is the room that is kept for pods that are still to come, from when a gang is planned until they are planned themselves:
// its own, and those of gangs which have to follow it. Its methods may be called at any time from any goroutine, and each may be called twice.
type Promises struct {
	mu    sync.RWMutex
	gangs map[gang.Key]promise
}

// promise is room that is kept for one gang.
type promise struct {
	// leader is the gang that was planned: the gang itself, if the room is for further pods of it.
	leader gang.Key
	// priority is the gang's: whoever is above it may take the room.
	priority int32
	until    time.Time
	room     clusterview.Reserved
}

// NewPromises returns an empty memory.
func NewPromises() *Promises {
	return &Promises{gangs: map[gang.Key]promise{}}
}

// Keep records the room that a planned gang needs for its further pods and for those that follow it, in place of what was kept for
// them before. Priority is that of the gang. Until tells when the room of a gang is given back; the zero time is no end.
func (p *Promises) Keep(leader gang.Key, priority int32, rooms map[gang.Key]clusterview.Reserved, until func(gang.Key) time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropIf(func(_ gang.Key, kept promise) bool { return kept.leader == leader })
	for key, room := range rooms {
		p.gangs[key] = promise{leader: leader, priority: priority, until: until(key), room: room}
	}
}

// Redeem forgets the room that is kept for the pods of a gang that are planned now, and reports whether any of it is free for others.
// Of the room for further pods of a gang that which is not needed yet stays.
func (p *Promises) Redeem(planned gang.Key, placements []Placement) (free bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept, found := p.gangs[planned]
	switch {
	case !found:
		return false
	case kept.leader != planned:
		delete(p.gangs, planned)
		return true
	}
	kept.room = maps.Clone(kept.room)
	for _, placement := range placements {
		if !leave(kept.room, placement.Node, gang.LeafOf(placement.Pod)) {
			free = leaveAny(kept.room, gang.LeafOf(placement.Pod)) || free
		}
	}
	if p.gangs[planned] = kept; len(kept.room) == 0 {
		delete(p.gangs, planned)
	}
	return free
}

// leave takes a pod of a leaf out of the room on a node, and reports whether there was one.
func leave(room clusterview.Reserved, node, leaf string) bool {
	at := slices.IndexFunc(room[node], func(pod *corev1.Pod) bool { return gang.LeafOf(pod) == leaf })
	if at < 0 {
		return false
	}
	room[node] = slices.Delete(slices.Clone(room[node]), at, at+1)
	if len(room[node]) == 0 {
		delete(room, node)
	}
	return true
}

// leaveAny takes a pod of a leaf out of the room on the first node that has one.
func leaveAny(room clusterview.Reserved, leaf string) bool {
	return slices.ContainsFunc(slices.Sorted(maps.Keys(room)), func(node string) bool { return leave(room, node, leaf) })
}

// Drop forgets the room that is kept for a gang and for all who follow it, and reports whether there was any.
func (p *Promises) Drop(changed gang.Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dropIf(func(key gang.Key, kept promise) bool { return key == changed || kept.leader == changed })
}

func (p *Promises) dropIf(over func(gang.Key, promise) bool) bool {
	before := len(p.gangs)
	maps.DeleteFunc(p.gangs, over)
	return len(p.gangs) < before
}

// Expire forgets the room whose time has come, and reports whether there was any.
func (p *Promises) Expire(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dropIf(func(_ gang.Key, kept promise) bool { return !kept.until.IsZero() && !kept.until.After(now) })
}

// Reserved returns the pods, by node, that room is kept for and that somebody of this priority has to respect. The gang of the
// given key need not respect its own, nor that of those who follow it.
func (p *Promises) Reserved(except gang.Key, priority int32) clusterview.Reserved {
	p.mu.RLock()
	defer p.mu.RUnlock()
	reserved := map[string][]*corev1.Pod{}
	for key, kept := range p.gangs {
		if key == except || kept.leader == except || kept.priority < priority {
			continue
		}
		for node, pods := range kept.room {
			reserved[node] = append(reserved[node], pods...)
		}
	}
	return reserved
}
