package plans

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/gang"
)

// Clearings is the room that is being made for gangs by others who leave. Its methods may be called at any time from any
// goroutine, and each may be called twice.
type Clearings struct {
	mu    sync.RWMutex
	gangs map[gang.Key]*Clearing
}

// Clearing is room that is being made for one gang.
type Clearing struct {
	// Priority is the gang's: whoever is above it may take the room.
	Priority int32
	// Placements are the pods of the gang and where they will go.
	Placements []Placement
	// Awaited are the pods that have to be gone first.
	Awaited sets.Set[types.UID]
	// Message says, in one sentence, who leaves for the gang.
	Message string
}

// NewClearings returns an empty memory.
func NewClearings() *Clearings {
	return &Clearings{gangs: map[gang.Key]*Clearing{}}
}

// Open records that room is being made, in place of any that was before. The clearing belongs to the memory from now on.
func (c *Clearings) Open(key gang.Key, clearing *Clearing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gangs[key] = clearing
}

// State tells whether room is being made for a gang, how many pods still have to go, and what to say of it.
func (c *Clearings) State(key gang.Key) (awaited int, message string, open bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	clearing := c.gangs[key]
	if clearing == nil {
		return 0, "", false
	}
	return clearing.Awaited.Len(), clearing.Message, true
}

// Gone records that a pod has left, and returns the gangs that waited for it as the last one.
func (c *Clearings) Gone(pod types.UID) (ready []gang.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, clearing := range c.gangs {
		if !clearing.Awaited.Has(pod) {
			continue
		}
		if clearing.Awaited.Delete(pod); clearing.Awaited.Len() == 0 {
			ready = append(ready, key)
		}
	}
	return ready
}

// Close forgets the room that was made for a gang and returns it; nil if there was none.
func (c *Clearings) Close(key gang.Key) *Clearing {
	c.mu.Lock()
	defer c.mu.Unlock()
	clearing := c.gangs[key]
	delete(c.gangs, key)
	return clearing
}

// Gangs returns for whom room is being made.
func (c *Clearings) Gangs() []gang.Key {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Collect(maps.Keys(c.gangs))
}

// Reserved returns the pods, by node, that room is being made for and that somebody of this priority has to respect. The gang
// of the given key need not respect its own.
func (c *Clearings) Reserved(except gang.Key, priority int32) map[string][]*corev1.Pod {
	c.mu.RLock()
	defer c.mu.RUnlock()
	reserved := map[string][]*corev1.Pod{}
	for key, clearing := range c.gangs {
		if key == except || clearing.Priority < priority {
			continue
		}
		for _, placement := range clearing.Placements {
			reserved[placement.Node] = append(reserved[placement.Node], placement.Pod)
		}
	}
	return reserved
}
