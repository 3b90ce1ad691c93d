package plans

import (
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/gang"
)

// Promises is the room that is kept for gangs which have to follow another one, from when that is planned until they are planned
// themselves. Its methods may be called at any time from any goroutine, and each may be called twice.
type Promises struct {
	mu    sync.RWMutex
	gangs map[gang.Key]promise
}

// promise is room that is kept for one gang.
type promise struct {
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

// Keep records the room of those that follow a leader, in place of what was kept for them before. Priority is that of the leader;
// the zero time is no end.
func (p *Promises) Keep(leader gang.Key, priority int32, until time.Time, followers map[gang.Key]clusterview.Reserved) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropIf(func(_ gang.Key, kept promise) bool { return kept.leader == leader })
	for key, room := range followers {
		p.gangs[key] = promise{leader: leader, priority: priority, until: until, room: room}
	}
}

// Redeem forgets the room that is kept for a gang, and reports whether there was any.
func (p *Promises) Redeem(follower gang.Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dropIf(func(key gang.Key, _ promise) bool { return key == follower })
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
