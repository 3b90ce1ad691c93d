// Package ports chooses loopback ports for programs that are about to start.
package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Host is the address that everything listens on.
const Host = "127.0.0.1"

// Free ports are looked for below 30000: above 32768 the kernel takes ports for outgoing connections, of which a control
// plane opens hundreds while its last programs have yet to listen.
const (
	lowest  = 20000
	highest = 30000
)

// Free chooses a free port for every name. With a base the first name gets that port, the next name the next one and so
// on, and one that is taken is an error.
func Free(names []string, base int) (map[string]int, error) {
	if base != 0 && (base < 1024 || base+len(names) > 65536) {
		return nil, fmt.Errorf("ports %d to %d: must lie between 1024 and 65535", base, base+len(names)-1)
	}
	chosen := map[string]int{}
	for i, name := range names {
		if base != 0 {
			if !free(base + i) {
				return nil, fmt.Errorf("port %d on %s, meant for %s, is taken by another program", base+i, Host, name)
			}
			chosen[name] = base + i
			continue
		}
		port, err := search(chosen)
		if err != nil {
			return nil, err
		}
		chosen[name] = port
	}
	return chosen, nil
}

func search(chosen map[string]int) (int, error) {
	taken := map[int]bool{}
	for _, port := range chosen {
		taken[port] = true
	}
	const tries = 1000
	for range tries {
		port := lowest + rand.IntN(highest-lowest)
		if !taken[port] && free(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port between %d and %d on %s", lowest, highest, Host)
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
