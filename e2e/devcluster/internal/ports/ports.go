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

// Free ports are looked for below 30000: above 32768 the kernel uses ports for outgoing connections, of which a control
// plane opens hundreds before its last programs listen. Ports are reserved in blocks by listening on the first port of
// a block: several clusters may start at once, and the last program listens a minute after the choice.
const (
	lowest  = 20000
	highest = 30000
	block   = 32
)

// Free chooses a free port for every name. With a base the first name gets that port, the next name the next one and so
// on, and a used port is an error. Until release is called, nobody else gets the same ports.
func Free(names []string, base int) (chosen map[string]int, release func(), err error) {
	if base != 0 {
		chosen, err = from(names, base)
		return chosen, func() {}, err
	}
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
		if chosen, err = from(names, first+1); err == nil {
			return chosen, func() { held.Close() }, nil
		}
		held.Close()
	}
	return nil, nil, fmt.Errorf("no block of %d free ports between %d and %d on %s", block, lowest, highest, Host)
}

// from gives each name one port, one after the other.
func from(names []string, base int) (map[string]int, error) {
	if base < 1024 || base+len(names) > 65536 {
		return nil, fmt.Errorf("ports %d to %d: must lie between 1024 and 65535", base, base+len(names)-1)
	}
	chosen := map[string]int{}
	for i, name := range names {
		if !free(base + i) {
			return nil, fmt.Errorf("port %d on %s, meant for %s, is taken by another program", base+i, Host, name)
		}
		chosen[name] = base + i
	}
	return chosen, nil
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
