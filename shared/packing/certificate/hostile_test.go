package certificate_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing/certificate"
)

// forked tries the last rule in the place where so many rules lead that confine all groups, and then again and
// again: each of the rules between is tried twice in each place of the one before.
func forked(straight int, last certificate.Rule) *certificate.Proof {
	const forks = 40
	var rules []certificate.Rule
	for i := range straight {
		rules = append(rules, branch("all", "zone", i+1, straight+forks+1))
	}
	for i := range forks {
		r, next := branch("spare", "zone", 0, 0), []int{straight + i + 1, straight + i + 1}
		r.Branch.Each, r.Branch.None = next, next
		rules = append(rules, r)
	}
	return proofOf(append(rules, last, deficit())...)
}

// roomy is a gang of one zone with one pod, some more groups, and one that needs nothing.
func roomy(in *certificate.Input, more ...certificate.Group) *certificate.Input {
	in = gang(in, 2, slices.Concat([]certificate.Group{leaf("spare", "zone", 0, 0), leaf("in", "", 0, 1)}, more)...)
	in.Groups[0].Topology, in.Groups[0].Required = "net", "zone"
	return in
}

// nested is a chain of groups inside each other, each in one zone, with a pod in the innermost; beside them is a group
// that needs nothing.
func nested(groups int) *certificate.Input {
	in := roomy(site([]int64{1}))
	in.Groups = in.Groups[:2]
	for i := range groups {
		parent := len(in.Groups) - 1
		if i == 0 {
			parent = 0
		}
		in.Groups = append(in.Groups, certificate.Group{Name: fmt.Sprint(i), Parent: parent, MinSubGroups: 1,
			Topology: "net", Required: "zone"})
	}
	last := leaf("in", "", 0, 1)
	last.Parent = len(in.Groups) - 1
	in.Groups = append(in.Groups, last)
	return in
}

// apart is so many racks, and a running pod with one that joins it in each.
func apart(racks int) *certificate.Input {
	var more []certificate.Group
	for i := range racks {
		g := leaf(fmt.Sprint(i), "rack", 0, 1)
		g.Running = []string{fmt.Sprint("n", i)}
		more = append(more, g)
	}
	return roomy(site(slices.Repeat([][]int64{{2}}, racks)...), more...)
}

// joining is so many racks and items of a relation that each stand in one rack with others.
func joining(racks int) *certificate.Input {
	in := apart(racks)
	var all []int
	for i := 3; i < len(in.Groups); i++ {
		g := &in.Groups[i]
		g.Follow = []certificate.Anchor{{Topology: "net", Level: "rack", Nodes: g.Running}}
		g.Running = nil
		all = append(all, i)
	}
	return of(in, certificate.Relation{Level: "rack", Max: 1}, all...)
}

// computing is the time for which this process has computed, however busy the machine is with others.
func computing(t *testing.T) time.Duration {
	var used syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// Whatever a certificate says, its steps are counted as the time that they take.
func TestAHostileCertificateEnds(t *testing.T) {
	one := func() *certificate.Input { return roomy(site([]int64{4})) }
	for name, test := range map[string]struct {
		in    func() *certificate.Input
		proof func() *certificate.Proof
	}{
		"rules inside each other": {one, func() *certificate.Proof { return forked(20000, cut(gpu())) }},
		"groups set aside that are none": {one, func() *certificate.Proof {
			return forked(0, without(42, 42, slices.Repeat([]string{"all"}, 300000)...))
		}},
		"references": {func() *certificate.Input {
			in := roomy(site([]int64{4}), leaf("no", "", 0, 1))
			in.Groups[3].Follow = []certificate.Anchor{{Topology: "net", Level: "row"}}
			return in
		}, func() *certificate.Proof {
			p := forked(0, without(42, 41, "no"))
			p.Rules = append(p.Rules, branch("no", "zone", 0, 43), deficit())
			p.Rules[42].Branch.Each = slices.Repeat([]int{43}, 600000)
			return p
		}},
		"nested groups": {func() *certificate.Input { return nested(40000) },
			func() *certificate.Proof { return forked(0, cut(gpu())) }},
		"items": {func() *certificate.Input { return joining(10000) },
			func() *certificate.Proof { return forked(0, cut(certificate.Measure{Relation: "r"})) }},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := certificate.Read(test.in())
			require.NoError(t, err)
			proof := test.proof()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begun := computing(t)
			_, steps, err := m.Complete(proof, 1<<18)
			took := computing(t) - begun
			runtime.ReadMemStats(&after)
			allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
			t.Log(steps, took, allocated, err)
			if !errors.Is(err, certificate.ErrNotProved) || took > 4*time.Second || allocated > 64 {
				t.Errorf("%d steps took %v and %d MiB: %v", steps, took, allocated, err)
			}
		})
	}
}
