package ports

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFreePortsAreDistinctAndCanBeListenedOn(t *testing.T) {
	names := strings.Split("abcdefghijklmnop", "")
	chosen, release, err := Free(names)
	require.NoError(t, err)
	defer release()
	seen := map[int]bool{}
	for _, name := range names {
		port := chosen[name]
		if seen[port] || port < lowest || port >= highest {
			t.Errorf("port %d for %s in %v", port, name, chosen)
		}
		seen[port] = true
		listener, err := net.Listen("tcp", Address(port))
		if err != nil {
			t.Errorf("port %d is not free: %v", port, err)
			continue
		}
		listener.Close()
	}
}

func TestNobodyElseIsGivenPortsBeforeTheyAreListenedOn(t *testing.T) {
	names := strings.Split("abcdefghijklmnop", "")
	owner := map[int]int{}
	for cluster := range 60 {
		chosen, release, err := Free(names)
		require.NoError(t, err)
		defer release()
		for _, port := range chosen {
			if other, taken := owner[port]; taken {
				t.Fatalf("port %d is given to cluster %d and to cluster %d", port, other, cluster)
			}
			owner[port] = cluster
		}
	}
}

func TestReleasedPortsAreGivenAgain(t *testing.T) {
	for range 2 * (highest - lowest) / block {
		_, release, err := Free([]string{"a"})
		require.NoError(t, err)
		release()
	}
}

func TestMorePortsThanABlockHasAreRefused(t *testing.T) {
	if _, _, err := Free(make([]string, block)); err == nil || !strings.Contains(err.Error(), "a block has 31") {
		t.Errorf("got %v", err)
	}
}
