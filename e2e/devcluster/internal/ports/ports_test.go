package ports

import (
	"net"
	"strings"
	"testing"
)

func TestFreePortsAreDistinctAndCanBeListenedOn(t *testing.T) {
	names := strings.Split("abcdefghijklmnop", "")
	chosen, release, err := Free(names, 0)
	if err != nil {
		t.Fatal(err)
	}
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

func TestFixedPortsFollowTheBase(t *testing.T) {
	free, release, err := Free([]string{"a"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	base := free["a"]
	chosen, _, err := Free([]string{"kube-apiserver"}, base)
	if err != nil || chosen["kube-apiserver"] != base {
		t.Errorf("got %v, %v; want %d", chosen, err, base)
	}
}

func TestABaseOutOfRangeIsRefused(t *testing.T) {
	for _, base := range []int{-1, 80, 65535} {
		if _, _, err := Free([]string{"a", "b"}, base); err == nil ||
			!strings.Contains(err.Error(), "between 1024 and 65535") {
			t.Errorf("base %d: got %v", base, err)
		}
	}
}

func TestNobodyElseIsGivenPortsBeforeTheyAreListenedOn(t *testing.T) {
	names := strings.Split("abcdefghijklmnop", "")
	owner := map[int]int{}
	for cluster := range 60 {
		chosen, release, err := Free(names, 0)
		if err != nil {
			t.Fatal(err)
		}
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
		_, release, err := Free([]string{"a"}, 0)
		if err != nil {
			t.Fatal(err)
		}
		release()
	}
}

func TestMorePortsThanABlockHasAreRefused(t *testing.T) {
	if _, _, err := Free(make([]string, block), 0); err == nil || !strings.Contains(err.Error(), "a block has 31") {
		t.Errorf("got %v", err)
	}
}
