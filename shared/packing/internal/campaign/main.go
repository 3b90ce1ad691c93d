// Command campaign compares decisions of the engine with an exhaustive oracle on
// random small instances, and counts what is wrong.
//
//	go run ./shared/packing/internal/campaign --instances 1000000
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"packtree.dev/shared/packing"
	"packtree.dev/shared/packing/internal/oracle"
)

// numbers draw from a generator.
type numbers struct{ *rand.Rand }

func (n numbers) Int(_ string, low, high int) int { return low + n.IntN(high-low+1) }

func main() {
	instances := flag.Int("instances", 10_000, "how many instances")
	seed := flag.Uint64("seed", 1, "the first seed; each instance has the next one")
	show := flag.Int("show", 5, "how many faults to print in full")
	flag.Parse()
	faults := campaign(os.Stdout, *instances, *seed, *show)
	fmt.Fprintln(os.Stdout, faults)
	for fault, n := range faults.count {
		if n > 0 && fault != oracle.NotImproved {
			os.Exit(1)
		}
	}
}

// tally counts verdicts and faults.
type tally struct {
	instances int
	verdicts  map[packing.Verdict]int
	count     map[oracle.Fault]int
	engine    time.Duration
	began     time.Time
}

func (t tally) String() string {
	return fmt.Sprintf("%d instances in %s (engine %s): %v, faults %v", t.instances,
		time.Since(t.began).Round(time.Second),
		t.engine.Round(time.Millisecond), t.verdicts, t.count)
}

func campaign(out io.Writer, instances int, seed uint64, show int) tally {
	t := tally{verdicts: map[packing.Verdict]int{}, count: map[oracle.Fault]int{}, began: time.Now()}
	for i := range uint64(instances) {
		scene := oracle.Draw(numbers{rand.New(rand.NewPCG(seed+i, 0))}, oracle.Varied)
		cluster := scene.Build()
		placement := packing.Pack
		if i%4 == 3 {
			placement = packing.Spread
		}
		began := time.Now()
		decided := cluster.Decide(&scene.Gang, packing.Options{Placement: placement})
		t.engine += time.Since(began)
		if decided.Verdict == packing.Unknown {
			// What is refused without words has to be proved.
			decided.Verdict = cluster.Decide(&scene.Gang, packing.Options{Placement: placement, Terse: true}).Verdict
		}
		t.instances++
		t.verdicts[decided.Verdict]++
		fault, err := oracle.Check(scene, &decided)
		if fault == "" {
			fault, err = oracle.Verify(scene, &decided)
		}
		if fault != "" {
			t.count[fault]++
			if t.count[fault] <= show {
				fmt.Fprintf(out, "seed %d, %s: %s\n%s\n", seed+i, cmp.Or(fault, "?"), err, describe(scene))
			}
		}
		if t.instances%50_000 == 0 {
			fmt.Fprintln(out, t)
		}
	}
	return t
}

// describe writes an instance down, so that it can be made a test.
func describe(s *oracle.Scene) string {
	text := fmt.Sprintf("%d useless nodes\n", s.Useless)
	for _, n := range s.Nodes {
		text += fmt.Sprintf("  %s %v %v\n", n.Name, n.Labels, n.Allocatable)
	}
	for _, r := range s.Gang.Relations {
		text += fmt.Sprintf("  %+v\n", r)
	}
	return text + group(&s.Gang.Root, "  ") + fmt.Sprintf("  excluded %v", s.Excluded)
}

func group(g *packing.Group, indent string) string {
	text := fmt.Sprintf("%s%s %+v follow %v beside %v relations %v running %v minimum %d", indent, g.Name, g.Constraint,
		g.Follow, g.Beside, g.Relations, g.Running, g.MinMember)
	if g.MinSubGroups != nil {
		text += fmt.Sprintf(" of subgroups %d", *g.MinSubGroups)
	}
	for _, pods := range g.Pending {
		text += fmt.Sprintf(", %d %s %v", len(pods.Names), pods.Shape.Key, pods.Shape.Requests)
	}
	text += "\n"
	for i := range g.Children {
		text += group(&g.Children[i], indent+"  ")
	}
	return text
}
