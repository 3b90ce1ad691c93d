package topology_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	schedulingv2alpha2 "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/grove-operator/internal/pods"
)

// all are the guards with a scheduler that compares pods with their PodGroup.
var all = guards{asRead: true, past: true, later: true, agree: true, compared: true}

// uncompared are those with a scheduler that does not, but always has the newest PodGroup.
var uncompared = guards{asRead: true, past: true, later: true, agree: true}

// live runs all actors in any order.
func (w *world) live(steps int) {
	slow := map[string]int{} // One of so many chances to catch up is taken: each cache lags by its own number.
	for _, cache := range []string{"set", "gang", "pods", "scheduler"} {
		slow[cache] = 1 << (2 * w.choose(3))
	}
	for range steps {
		switch w.choose(20) {
		case 0:
			w.disturb()
		case 1:
			if w.choose(5) == 0 {
				w.crash()
			}
		case 2, 3:
			w.set.catchUp("operator", w.taken(slow["set"])*w.choose(3))
		case 4, 5:
			w.gang.catchUp("operator", w.taken(slow["gang"])*w.choose(3))
		case 6, 7:
			w.pods.catchUp("operator", w.taken(slow["pods"])*w.choose(6))
		case 8:
			w.gang.catchUp("scheduler", w.taken(slow["scheduler"])*w.choose(3))
		case 9, 10:
			w.pods.catchUp("scheduler", w.choose(6))
		case 11, 12, 13, 14:
			w.step("podgang", w.keepGang)
		case 15, 16, 17:
			w.step("podclique", w.keepPods)
		default:
			w.step("scheduler", w.schedule)
		}
		if w.violated != "" {
			return
		}
	}
}

// taken is 1 for one of so many chances, and 0 for the others.
func (w *world) taken(chances int) int {
	if w.choose(chances) == 0 {
		return 1
	}
	return 0
}

// settle lets all actors see everything until nothing changes any more.
func (w *world) settle() {
	for range 40 {
		for name, act := range map[string]func(pause){"podgang": w.keepGang, "podclique": w.keepPods,
			"scheduler": w.schedule} {
			w.endPods()
			for _, reader := range []string{"operator", "scheduler"} {
				w.set.catchUp(reader, len(w.set.states))
				w.gang.catchUp(reader, len(w.gang.states))
				w.pods.catchUp(reader, len(w.pods.states))
			}
			w.step(name, act)
			for w.running[name] != nil {
				w.step(name, act)
			}
		}
	}
}

// unsettled says what is wrong with the end state; empty if all is well.
func (w *world) unsettled() string {
	gang, named := w.gang.live(), w.set.live()
	if gang == nil {
		return "there is no gang"
	}
	inForce := gang.Annotations[schedulingv2alpha2.AnnotationPodsTopology]
	standing := 0
	for _, pod := range w.pods.live() {
		if pods.Scheduled(pod) {
			standing++
		}
	}
	switch {
	case standing != wanted || len(w.pods.live()) != wanted:
		return fmt.Sprintf("of %d pods, %d stand on nodes, of %d wanted; the set names %s, the gang has %s",
			len(w.pods.live()), standing, wanted, named, inForce)
	case inForce != named && standing == 0:
		return fmt.Sprintf("the set names %s, and the gang keeps %s without a pod", named, inForce)
	}
	return ""
}

// Whatever happens at the same time, the pods of a gang on nodes were placed under one topology; and in the end, all
// pods are on nodes.
func TestPodsOnNodesWerePlacedUnderOneTopology(t *testing.T) {
	for name, guards := range map[string]guards{"compared": all, "uncompared": uncompared} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := newWorld(guards, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") })
				w.live(600)
				require.Empty(t, w.violated)
				w.settle()
				require.Empty(t, w.violated)
				require.Empty(t, w.unsettled())
			})
		})
	}
}

// Without any one of the guards, the simulation finds a gang that is placed under two topologies, or a pod on a node
// that is deleted.
func TestEveryGuardIsNeeded(t *testing.T) {
	without := func(from guards, remove func(*guards)) guards {
		remove(&from)
		return from
	}
	for name, weakened := range map[string]guards{
		"pods are deleted as they were read":                  without(all, func(g *guards) { g.asRead = false }),
		"a pass does not open gates of pods that it has made": without(uncompared, func(g *guards) { g.later = false }),
		"gates open where pod, gang and set agree":            without(uncompared, func(g *guards) { g.agree = false }),
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(5000) {
				random := rand.New(rand.NewPCG(seed, 1))
				w := newWorld(weakened, random.IntN)
				w.live(600)
				if w.violated != "" {
					t.Logf("seed %d: %s", seed, w.violated)
					return
				}
			}
			t.Error("nothing went wrong without it")
		})
	}
}

// In a cache that has missed two changes, a gang looks right and lists the names of the new pods.
func TestGangThatTurnedTwiceIsReadPastTheCache(t *testing.T) {
	for name, c := range map[string]struct {
		guards guards
		opened bool
	}{
		"read past the cache": {guards: uncompared},
		"read from the cache": {guards: guards{asRead: true, later: true, agree: true}, opened: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(c.guards, func(int) int { return 0 })
			pass := func(name string, act func(pause), caughtUp ...string) {
				for _, cache := range caughtUp {
					map[string]func(string, int){"set": w.set.catchUp, "gang": w.gang.catchUp,
						"pods": w.pods.catchUp}[cache](
						"operator", 1000)
				}
				w.step(name, act)
				for w.running[name] != nil {
					w.step(name, act)
				}
			}
			pass("podclique", w.keepPods)
			pass("podgang", w.keepGang, "pods")
			w.set.write("b")
			pass("podgang", w.keepGang, "set", "gang") // Deletes the pods, and changes the gang.
			w.set.write("a")
			pass("podclique", w.keepPods, "set", "pods") // Makes pods with the same names.
			pass("podclique", w.keepPods, "pods")
			opened := false
			for _, pod := range w.pods.live() {
				opened = opened || !pods.Gated(pod)
			}
			assert.Equal(t, c.opened, opened, "gates were opened under the gang of another topology")
			assert.Len(t, w.pods.live(), wanted, "gates were opened under the gang of another topology")
		})
	}
}
