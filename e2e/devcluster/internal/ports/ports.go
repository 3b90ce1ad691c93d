// Package ports chooses loopback ports for programs that are about to start.
package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Host is the address on which all programs listen.
const Host = "127.0.0.1"

// Free ports are looked for below 30000: above 32768 the kernel uses ports for outgoing connections, and a control
// plane opens hundreds before its last programs listen. Ports are reserved in blocks by listening on the first port
// of a block: several clusters may start at once, and the last program listens a minute after the choice.
const (
	lowest  = 20000
	highest = 30000
	block   = 32
)

// Free chooses a free port for every name. Until release is called, no other cluster gets the same ports.
func Free(names []string) (chosen map[string]int, release func(), err error) {
	if len(names) >= block {
		return nil, nil, fmt.Errorf("%d ports: a block has %d", len(names), block-1)
	}
	const tries = 1000
	for range tries {
		first := lowest + block*rand.IntN((highest-lowest)/block)
		held, err := net.Listen("tcp", Address(first))
		if err != nil {
			continue
		}
		if chosen := from(names, first+1); chosen != nil {
			return chosen, func() { held.Close() }, nil
		}
		held.Close()
	}
	return nil, nil, fmt.Errorf("no block of %d free ports between %d and %d on %s", block, lowest, highest, Host)
}

// from gives each name one port, one after the other; nil if another program has one of them.
func from(names []string, base int) map[string]int {
	chosen := map[string]int{}
	for i, name := range names {
		if !free(base + i) {
			return nil
		}
		chosen[name] = base + i
	}
	return chosen
}

func free(port int) bool {
	listener, err := net.Listen("tcp", Address(port))
	if err != nil {
		return false
	}
	listener.Close()
	return true
}

// Address is host:port.
func Address(port int) string {
	return net.JoinHostPort(Host, strconv.Itoa(port))
}
