// Package freeport chooses loopback ports for programs that a test is about to start.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are chosen below 20000. From 32768 on the kernel takes ports for outgoing connections, and a test opens
// hundreds before its program listens; development clusters have theirs from 20000 to 30000.
const (
	lowest  = 10_000
	highest = 20_000
)

// Address returns an address of this machine at which no program listens, host and port.
func Address() (string, error) {
	const tries = 1_000
	for range tries {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(lowest+rand.IntN(highest-lowest)))
		listener, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		return address, listener.Close()
	}
	return "", fmt.Errorf("no free port of 127.0.0.1 was found between %d and %d", lowest, highest)
}

// Port is Address without the host.
func Port() (int, error) {
	address, err := Address()
	if err != nil {
		return 0, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", address, err)
	}
	return strconv.Atoi(port)
}
