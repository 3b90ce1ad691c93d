package plans_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/plans"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

var (
	mine  = gang.Key{Namespace: "default", Name: "mine"}
	other = gang.Key{Namespace: "default", Name: "other"}
)

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
}

func onNode(name, node string) *corev1.Pod {
	placed := pod(name)
	placed.Spec.NodeName = node
	return placed
}

// twoPods is a book with a plan for two pods.
func twoPods() *plans.Book {
	book := plans.NewBook()
	book.Open(mine, 1, false, []plans.Placement{{Pod: pod("a"), Node: "n1"}, {Pod: pod("b"), Node: "n2"}})
	return book
}

func reservedNames(book *plans.Book, except gang.Key) map[string][]string {
	names := map[string][]string{}
	for node, pods := range book.Reserved(except) {
		for _, pod := range pods {
			names[node] = append(names[node], pod.Name)
		}
	}
	return names
}

func TestFindKnowsThePlanOfOneGenerationOnly(t *testing.T) {
	book := twoPods()
	for name, test := range map[string]struct {
		generation int64
		pod        types.UID
		node       string
		standing   plans.Standing
	}{
		"a planned pod":                     {1, "a", "n1", plans.Planned},
		"a pod that the plan leaves out":    {1, "c", "", plans.LeftOut},
		"a pod of a changed PodGroup":       {2, "a", "", plans.Unplanned},
		"another pod of a changed PodGroup": {2, "c", "", plans.Unplanned},
	} {
		if node, standing := book.Find(mine, test.generation, test.pod); node != test.node || standing != test.standing {
			t.Errorf("%s: got %q, %v; want %q, %v", name, node, standing, test.node, test.standing)
		}
	}
}

func TestRoomIsReservedUntilThePodStands(t *testing.T) {
	book := twoPods()
	if got := reservedNames(book, mine); len(got) > 0 {
		t.Errorf("a gang is kept from its own room: %v", got)
	}
	if diff := cmp.Diff(map[string][]string{"n1": {"a"}, "n2": {"b"}}, reservedNames(book, other)); diff != "" {
		t.Errorf("reserved by an open plan (-want +got):\n%s", diff)
	}
	for range 2 {
		if !book.Assume(mine, onNode("a", "n1")) {
			t.Error("a pod on its planned node is refused, at once or the second time")
		}
	}
	if diff := cmp.Diff(map[string][]string{"n2": {"b"}}, reservedNames(book, other)); diff != "" {
		t.Errorf("reserved once a stands (-want +got):\n%s", diff)
	}
	if book.Assume(mine, onNode("b", "n1")) {
		t.Error("a pod is accepted on another node than planned")
	}
	if _, ok := book.LetGo(mine, "a"); !ok {
		t.Error("the gang cannot be let go")
	}
	if got := reservedNames(book, other); len(got) > 0 {
		t.Errorf("room is still reserved for pods above the minimum: %v", got)
	}
	if node, standing := book.Find(mine, 1, "b"); node != "n2" || standing != plans.Planned {
		t.Errorf("a pod above the minimum lost its node: %q, %v", node, standing)
	}
}

func TestAPodThatLosesItsNodeBreaksAPlanThatWaits(t *testing.T) {
	book := twoPods()
	book.Assume(mine, onNode("a", "n1"))
	book.Assume(mine, onNode("b", "n2"))
	if diff := cmp.Diff([]types.UID{"b"}, book.Unassume(mine, "a", start)); diff != "" {
		t.Errorf("pods to send back (-want +got):\n%s", diff)
	}
	if _, ok := book.LetGo(mine, "b"); ok {
		t.Error("a broken gang is let go")
	}
	if got := book.Unassume(mine, "b", start); got != nil {
		t.Errorf("the last pod sends others back: %v", got)
	}
	if got := book.Unassume(mine, "b", start); got != nil {
		t.Errorf("taking a pod off its node a second time sends others back: %v", got)
	}
}

func TestAPodThatLosesItsNodeAfterTheGangWentDisturbsNobody(t *testing.T) {
	book := twoPods()
	book.Assume(mine, onNode("a", "n1"))
	book.Assume(mine, onNode("b", "n2"))
	release, ok := book.LetGo(mine, "b")
	if !ok || len(release.Waited) != 2 || !release.First || !release.Ended {
		t.Fatalf("let go: %v, %v", release, ok)
	}
	if got := book.Unassume(mine, "a", start); got != nil {
		t.Errorf("pods of a gang that went are sent back: %v", got)
	}
	if got := book.Assumed(mine); len(got) != 1 || got[0].Name != "b" {
		t.Errorf("assumed: %v", got)
	}
	if book.Settled(mine, "b") {
		t.Error("a pod that stands is still awaited")
	}
	if got := book.Assumed(mine); len(got) > 0 {
		t.Errorf("a bound pod is remembered: %v", got)
	}
}

func TestAPlannedPodThatVanishesIsMissed(t *testing.T) {
	book := twoPods()
	book.Assume(mine, onNode("a", "n1"))
	if !book.Settled(mine, "b") {
		t.Error("nobody misses a planned pod")
	}
	waiting, broken := book.Break(mine)
	if diff := cmp.Diff([]types.UID{"a"}, waiting); diff != "" || !broken {
		t.Errorf("broken: %v, pods to send back (-want +got):\n%s", broken, diff)
	}
	if _, broken := book.Break(mine); broken {
		t.Error("a plan is broken twice")
	}
}

// TestInvariants lets the scheduler's calls come in any order and checks that no pod is at two places of the book at once,
// and that nothing is left once every pod has settled.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		book := plans.NewBook()
		keys := []gang.Key{mine, other}
		names := []string{"a", "b", "c", "d"}
		anyKey, anyName := rapid.SampledFrom(keys), rapid.SampledFrom(names)
		nodeOf := func(name string) string { return "node-" + name }
		uid := func(key gang.Key, name string) types.UID { return types.UID(key.Name + name) }
		member := func(key gang.Key, name string) *corev1.Pod {
			placed := onNode(name, nodeOf(name))
			placed.UID = uid(key, name)
			return placed
		}
		t.Repeat(map[string]func(*rapid.T){
			"open": func(t *rapid.T) {
				key := anyKey.Draw(t, "gang")
				if len(book.Waiting(key)) > 0 {
					return // Sent back first: see PreFilter.
				}
				var placements []plans.Placement
				for _, name := range rapid.SliceOfDistinct(anyName, rapid.ID[string]).Draw(t, "pods") {
					standing := false
					for _, pod := range book.Assumed(key) {
						standing = standing || pod.Name == name
					}
					if !standing {
						placements = append(placements, plans.Placement{Pod: member(key, name), Node: nodeOf(name)})
					}
				}
				book.Open(key, 1, false, placements)
			},
			"assume": func(t *rapid.T) {
				key, name := anyKey.Draw(t, "gang"), anyName.Draw(t, "pod")
				book.Assume(key, member(key, name))
			},
			"unassume": func(t *rapid.T) {
				key := anyKey.Draw(t, "gang")
				book.Unassume(key, uid(key, anyName.Draw(t, "pod")), start)
			},
			"let go": func(t *rapid.T) {
				key := anyKey.Draw(t, "gang")
				book.LetGo(key, uid(key, anyName.Draw(t, "pod")))
			},
			"refuse": func(t *rapid.T) {
				key := anyKey.Draw(t, "gang")
				book.Refuse(key, uid(key, anyName.Draw(t, "pod")))
			},
			"expire": func(*rapid.T) { book.Expire(start.Add(plans.SeatLife)) },
			"move a node": func(t *rapid.T) {
				node := nodeOf(anyName.Draw(t, "node"))
				for _, key := range book.Misplaced(node, func(plans.Place) bool { return false }) {
					book.Break(key)
				}
			},
			"break": func(t *rapid.T) { book.Break(anyKey.Draw(t, "gang")) },
			"settle": func(t *rapid.T) {
				key := anyKey.Draw(t, "gang")
				book.Settled(key, uid(key, anyName.Draw(t, "pod")))
			},
			"": func(t *rapid.T) {
				reserved := map[types.UID]bool{}
				for _, pods := range book.Reserved(gang.Key{}) {
					for _, pod := range pods {
						if reserved[pod.UID] {
							t.Fatalf("pod %s is reserved for twice", pod.UID)
						}
						reserved[pod.UID] = true
					}
				}
				for _, key := range keys {
					for _, pod := range book.Assumed(key) {
						if reserved[pod.UID] {
							t.Fatalf("pod %s stands and is reserved for", pod.UID)
						}
					}
				}
			},
		})
		for _, key := range keys {
			book.Break(key)
			for _, name := range names {
				book.Settled(key, uid(key, name))
			}
			if left := fmt.Sprint(book.Assumed(key), book.Waiting(key), book.Nodes(key)); left != "[] [] []" {
				t.Fatalf("left of gang %s: %s", key, left)
			}
		}
	})
}

func TestEachPodIsToldAnAnswerOnce(t *testing.T) {
	verdicts := plans.NewVerdicts()
	answer := &decision.Answer{Verdict: "Infeasible"}
	verdicts.Remember(mine, 1, "a", answer)
	if verdicts.Repeat(mine, 1, "a") != nil {
		t.Error("the pod that asked is told again")
	}
	if verdicts.Repeat(mine, 2, "b") != nil {
		t.Error("an answer about an older PodGroup is given")
	}
	if verdicts.Repeat(mine, 1, "b") != answer || verdicts.Repeat(mine, 1, "b") != nil {
		t.Error("another pod is not told exactly once")
	}
	verdicts.Remember(mine, 1, "a", &decision.Answer{Verdict: "Placed", Nodes: map[string]string{"a": "n1"}})
	if verdicts.Repeat(mine, 1, "b") != nil {
		t.Error("a plan is repeated as if it were a refusal")
	}
	verdicts.Forget(mine)
	if verdicts.Last(mine) != nil {
		t.Error("a forgotten answer is remembered")
	}
}

// A pod can ask, and be answered, before the gang hears of it. Were the answer dropped then, nobody would say why it waits.
func TestAnAnswerOutlivesThePodsThatItWasGivenTo(t *testing.T) {
	key := gang.Key{Namespace: "ns", Name: "gang"}
	verdicts := plans.NewVerdicts()
	verdicts.Remember(key, 1, "asked", &decision.Answer{Verdict: "Infeasible"})
	verdicts.Newcomer(key, "asked")
	if verdicts.Last(key) == nil {
		t.Error("dropped for a pod that was told")
	}
	verdicts.Newcomer(key, "new")
	if verdicts.Last(key) != nil {
		t.Error("kept although the gang has a pod that it was given without")
	}
}
