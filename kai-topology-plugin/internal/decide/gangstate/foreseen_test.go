package gangstate

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	kai "packtree.dev/shared/api/kai/v1alpha1"
)

func key(name string) gang.Key { return gang.Key{Namespace: "default", Name: name} }

// keepFor keeps room for followers until some time.
func (s *State) keepFor(
	leader gang.Key, priority int32, rooms map[gang.Key]clusterview.Reserved, until func(gang.Key) time.Time,
) {
	s.change(leader, func(r *record, _ *Effects) { r.foresee(priority, rooms, until) })
}

// promised is room for the followers of two leaders, until noon for those of the first.
func promised() *State {
	room := func(name, node string) clusterview.Reserved {
		return clusterview.Reserved{node: []*corev1.Pod{pod(name)}}
	}
	state := New(anyone, nil)
	state.keepFor(key("a"), 5, map[gang.Key]clusterview.Reserved{key("a-0"): room("p", "n1"), key("a-1"): room("q", "n2")},
		untilNoon)
	state.keepFor(key("b"), 0, map[gang.Key]clusterview.Reserved{key("b-0"): room("r", "n1")},
		func(gang.Key) time.Time { return time.Time{} })
	return state
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func untilNoon(gang.Key) time.Time { return noon }

func TestForeseenRoomIsKeptFromOthersUntilItIsRedeemedOrDroppedOrTheirTimeIsUp(t *testing.T) {
	for name, c := range map[string]struct {
		happens  func(*State)
		except   string
		priority int32
		want     map[string][]string
	}{
		"from others":                   {except: "x", want: map[string][]string{"n1": {"p", "r"}, "n2": {"q"}}},
		"not from those it is kept for": {except: "a-0", want: map[string][]string{"n1": {"r"}, "n2": {"q"}}},
		"not from the leader":           {except: "a", want: map[string][]string{"n1": {"r"}}},
		"not from who ranks higher":     {except: "x", priority: 1, want: map[string][]string{"n1": {"p"}, "n2": {"q"}}},
		"redeemed": {except: "x", want: map[string][]string{"n1": {"p", "r"}},
			happens: func(p *State) { p.redeem(key("a-1"), nil) }},
		"of a leader that changed": {except: "x", want: map[string][]string{"n1": {"r"}},
			happens: func(p *State) { drop(p, "a") }},
		"of a follower that changed": {except: "x", want: map[string][]string{"n1": {"r"}, "n2": {"q"}},
			happens: func(p *State) { drop(p, "a-0") }},
		"of a leader that is planned anew": {except: "x", want: map[string][]string{"n1": {"r"}},
			happens: func(p *State) { p.keepFor(key("a"), 5, nil, untilNoon) }},
		"before the time is up": {except: "x", want: map[string][]string{"n1": {"p", "r"}, "n2": {"q"}},
			happens: func(p *State) { p.Tick(noon.Add(-time.Second)) }},
		"after the time is up": {except: "x", want: map[string][]string{"n1": {"r"}},
			happens: func(p *State) { p.Tick(noon) }},
	} {
		t.Run(name, func(t *testing.T) {
			state := promised()
			if c.happens != nil {
				c.happens(state)
			}
			got := map[string][]string{}
			for node, pods := range state.reserved(key(c.except), c.priority) {
				for _, pod := range pods {
					got[node] = append(got[node], pod.Name)
				}
			}
			for _, names := range got {
				slices.Sort(names)
			}
			assert.Empty(t, cmp.Diff(c.want, got))
		})
	}
}

// drop reports whether room was kept for a gang, and forgets it.
func drop(state *State, name string) bool {
	effects := state.change(key(name), func(r *record, e *Effects) { state.forgetForeseen(e, r.key) })
	return len(effects.WriteStatus) > 0
}

func TestNoRoomIsForeseenForPodsThatNeedQuota(t *testing.T) {
	state, queued := New(anyone, nil), pod("q")
	inQueue(queued)
	state.keepFor(key("a"), 5, map[gang.Key]clusterview.Reserved{key("a-0"): {"n1": {pod("p"), queued}}}, untilNoon)
	want := map[string][]string{"n1": {"p"}}
	assert.Empty(t, cmp.Diff(want, reservedNames(state, key("x"))), "reserved")
}

func TestRoomIsGivenBackOnce(t *testing.T) {
	state := promised()
	assert.True(t, state.redeem(key("a-0"), nil), "room is redeemed once")
	assert.False(t, state.redeem(key("a-0"), nil), "room is redeemed once")
	require.NotEmpty(t, state.Tick(noon).WriteStatus, "room expires once")
	assert.Empty(t, state.Tick(noon).WriteStatus, "room expires once")
	assert.True(t, drop(state, "b"), "room is dropped once")
	assert.False(t, drop(state, "b"), "room is dropped once")
}

// Of the room for further pods of a gang each pod takes what is for its leaf: on its node, or else anywhere.
func TestRoomForFurtherPodsIsRedeemedPodByPod(t *testing.T) {
	inLeaf := func(name, leaf string) *corev1.Pod {
		made := pod(name)
		made.Labels = map[string]string{kai.LabelSubGroupName: leaf}
		return made
	}
	for name, c := range map[string]struct {
		placed []Placement
		want   map[string]int
		free   bool
	}{
		"where it was expected": {placed: []Placement{{Pod: inLeaf("x", "worker"), Node: "n2"}},
			want: map[string]int{"n1": 2, "n2": 1}},
		"elsewhere": {placed: []Placement{{Pod: inLeaf("x", "worker"), Node: "n9"}},
			want: map[string]int{"n1": 1, "n2": 2}, free: true},
		"of a leaf that expects nobody": {placed: []Placement{{Pod: inLeaf("x", "router"), Node: "n1"}},
			want: map[string]int{"n1": 2, "n2": 2}},
		"the one of another leaf stays": {placed: []Placement{{Pod: inLeaf("x", "leader"), Node: "n2"}},
			want: map[string]int{"n1": 1, "n2": 2}, free: true},
		"nobody": {want: map[string]int{"n1": 2, "n2": 2}},
		"all of them, and more besides": {placed: []Placement{
			{Pod: inLeaf("v", "leader"), Node: "n1"}, {Pod: inLeaf("w", "worker"), Node: "n1"},
			{Pod: inLeaf("x", "worker"), Node: "n2"},
			{Pod: inLeaf("y", "worker"), Node: "n2"}, {Pod: inLeaf("z", "worker"), Node: "n2"},
		}, want: map[string]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			state := New(anyone, nil)
			state.keepFor(key("a"), 0, map[gang.Key]clusterview.Reserved{key("a"): {
				"n1": {inLeaf("l", "leader"), inLeaf("p", "worker")}, "n2": {inLeaf("q", "worker"), inLeaf("r", "worker")},
			}}, untilNoon)
			assert.Equal(t, c.free, state.redeem(key("a"), c.placed), "room is free for others")
			got := map[string]int{}
			for node, pods := range state.reserved(key("x"), 0) {
				got[node] = len(pods)
			}
			assert.Empty(t, cmp.Diff(c.want, got), "room that is kept")
			assert.Empty(t, state.reserved(key("a"), 0), "the gang is kept from its own room")
		})
	}
}

func TestAGangThatIsPlannedAgainAndAgainKeepsNoOtherOutForLong(t *testing.T) {
	for after, want := range map[time.Duration]time.Duration{
		0: expectedLife, time.Second: expectedLife - time.Second, expectedLife: 0, followersLife - time.Second: 0,
		followersLife: expectedLife,
	} {
		state := known(1)
		r := state.record(mine)
		r.expectedFor(start)
		assert.Equal(t, want, r.expectedFor(start.Add(after)), "%s after it was planned first, room is kept", after)
		another := groupOf(1)
		another.UID = "another"
		state.PodGroupChanged(groupOf(1), another, start)
		assert.Equal(t, expectedLife, r.expectedFor(start.Add(after)), "for another PodGroup of the name it is kept")
	}
}
