package controller

import (
	"hash/fnv"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// turns are locks for objects. Several objects can share one, which costs a wait now and then and no memory per object.
type turns [64]sync.Mutex

// take waits for the object's turn and returns what ends it.
func (t *turns) take(key client.ObjectKey) func() {
	hash := fnv.New32a()
	hash.Write([]byte(key.String()))
	lock := &t[hash.Sum32()%uint32(len(t))]
	lock.Lock()
	return lock.Unlock
}
