package managerstart_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/freeport"
)

func TestPortsAreFreeAndNotThoseOfOutgoingConnections(t *testing.T) {
	for range 50 {
		port, err := freeport.Port()
		require.NoError(t, err)
		if port < 1024 || port >= 20_000 {
			t.Fatalf("port %d may be taken by an outgoing connection, or by a development cluster", port)
		}
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		require.NoError(t, err)
		t.Cleanup(func() { _ = listener.Close() })
	}
}

func TestAnAddressIsOfThisMachineOnly(t *testing.T) {
	address, err := freeport.Address()
	require.NoError(t, err)
	host, _, err := net.SplitHostPort(address)
	require.NoError(t, err, address)
	assert.True(t, net.ParseIP(host).IsLoopback(), address)
}
