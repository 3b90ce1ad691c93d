//go:build unix

package packing_test

import (
	"fmt"
	"testing"

	"packtree.dev/shared/packing"
)

// BenchmarkDecidePreferring measures gangs that would like to be closer together than they have to, in a cluster
// half full.
func BenchmarkDecidePreferring(b *testing.B) {
	c := newYard(b, 10_000, 50)
	for _, g := range []struct {
		required, preferred string
		pods                []int
	}{
		{"rack", "host", []int{8, 64}},
		{"block", "host", []int{8, 64, 512, 4096}},
		{"block", "rack", []int{8, 64, 512, 4096}},
		{"", "host", []int{8, 64, 512, 4096}},
		{"", "rack", []int{8, 64, 512, 4096}},
	} {
		for _, pods := range g.pods {
			b.Run(fmt.Sprintf("required=%s/preferred=%s/pods=%d", g.required, g.preferred, pods), func(b *testing.B) {
				gang := flat(pods, g.required)
				gang.Root.Constraint.Preferred = g.preferred
				benchDecide(b, c, gang, packing.Placed)
			})
		}
	}
}
