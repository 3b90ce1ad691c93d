package controller

import (
	"hash/fnv"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// turns are locks for objects. Several objects can share a lock: that costs a wait now and then, but no memory per
// object.
type turns [64]sync.Mutex

// take waits for the object's lock and returns the function that releases it.
func (t *turns) take(key client.ObjectKey) func() {
	hash := fnv.New32a()
	hash.Write([]byte(key.String()))
	lock := &t[hash.Sum32()%uint32(len(t))]
	lock.Lock()
	return lock.Unlock
}
