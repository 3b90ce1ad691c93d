package gangstate

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

var update = flag.Bool("update", false, "write what follows now into the recorded runs")

// The recorded runs are what a live scheduler told its State, and what followed from that, in the order in which it took
// the lock. Each is named after what happened in it. A run is a line of JSON for each call that may have changed
// something, and for each version of an object when it is first named.

// line is one of a run.
type line struct {
	// Start is when the State was made; times are given from then on.
	Start *time.Time `json:"start,omitempty"`
	// Is names a version of an object. It is Like another one, but for But, a JSON merge patch.
	Is   string          `json:"is,omitempty"`
	Like string          `json:"like,omitempty"`
	But  json.RawMessage `json:"but,omitempty"`
	// Do is a method of State, With its arguments and Then its results.
	Do   string            `json:"do,omitempty"`
	With []json.RawMessage `json:"with,omitempty"`
	Then []json.RawMessage `json:"then,omitempty"`
	// Saw is what Confirm and Respect saw of the cluster, where it is another thing than they expected.
	Saw map[string]json.RawMessage `json:"saw,omitempty"`
}

// What followed from the events of recorded live runs follows from them today, and after each of them no room is given
// twice and nothing is kept without a reason. In the end, when all pods and PodGroups are gone, nothing is remembered.
func TestRecordedRuns(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "runs", "*.jsonl"))
	require.NoError(t, err, "no runs")
	require.NotEmpty(t, files, "no runs")
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) {
			golden, err := os.ReadFile(file)
			require.NoError(t, err)
			replayed := replay(t, golden)
			if *update {
				err = os.WriteFile(file, replayed, 0o644)
			} else if diff := cmp.Diff(strings.Split(string(golden), "\n"), strings.Split(string(replayed), "\n")); diff != "" {
				t.Errorf("what followed, and what follows now (-then +now):\n%s", diff)
			}
			require.NoError(t, err)
		})
	}
}

// player plays a run.
type player struct {
	*testing.T
	state *State
	start time.Time
	// objects are the versions of objects, and decoded what was made of them.
	objects map[string][]byte
	decoded map[string]any
	now     time.Time
	held    int
	saw     map[string]json.RawMessage
}

// replay plays a run again, and returns it with what follows now.
func replay(t *testing.T, text []byte) []byte {
	t.Helper()
	p := &player{T: t, state: New(anyone, nil), objects: map[string][]byte{}, decoded: map[string]any{}}
	var written bytes.Buffer
	for number, one := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		next := line{}
		require.NoError(t, json.Unmarshal(one, &next), "line %d", number+1)
		switch {
		case next.Start != nil:
			p.start = *next.Start
		case next.Is != "":
			p.learn(next)
		default:
			next.Then = p.call(next)
			require.False(t, t.Failed(), "after line %d: %s", number+1, one)
		}
		again, err := json.Marshal(next)
		require.NoError(t, err)
		written.Write(append(again, '\n'))
	}
	for key, r := range p.state.gangs {
		// The last word about its status comes later.
		if r.podGroup != nil || r.members.Len()+len(r.gated)+len(r.kept) > 0 || p.state.waiting[key] != nil {
			t.Errorf("gang %s is remembered in the end", key)
		}
	}
	return written.Bytes()
}

// extendMove holds the seats of a move for longer.
func (p *player) extendMove(key gang.Key, until time.Time) Effects {
	move := p.state.MoveOf(p.state.known(key).podGroup)
	move.Until = until
	return p.state.Proceed(key, move)
}

func (p *player) learn(version line) {
	text := []byte(version.But)
	if version.Like != "" {
		var err error
		text, err = jsonpatch.MergePatch(p.objects[version.Like], text)
		require.NoError(p, err, version.Is)
	}
	p.objects[version.Is] = text
}

// call calls a method as it was called, and checks what is to hold after each. It returns the results.
func (p *player) call(next line) (then []json.RawMessage) {
	method := reflect.ValueOf(p.state).MethodByName(next.Do)
	switch next.Do {
	case "Rank": // It was recorded with the members of the group.
		method = reflect.ValueOf(p.state.rank)
	case "ExtendMove":
		method = reflect.ValueOf(p.extendMove)
	}
	p.saw = next.Saw
	var arguments []reflect.Value
	written := next.With
	for i := range method.Type().NumIn() {
		argument := reflect.New(method.Type().In(i))
		switch kind := method.Type().In(i).Kind(); kind {
		case reflect.Interface:
			argument.Elem().Set(reflect.ValueOf(sight{p}))
		case reflect.Func:
			argument.Elem().Set(reflect.ValueOf(stay))
		default:
			p.decode(written[0], argument.Elem())
			written = written[1:]
		}
		if now, ok := argument.Interface().(*time.Time); ok && next.Do != "ExtendMove" {
			p.now = *now
		}
		arguments = append(arguments, argument.Elem())
	}
	if next.Do == "ExtendMove" { // It has the time at which its hold ends.
		of := p.state.known(arguments[0].Interface().(gang.Key)).podGroup
		if now := arguments[1].Interface().(time.Time).Add(-MoveHold(of)); now.After(p.now) {
			p.now = now
		}
	}
	for _, result := range method.Call(arguments) {
		then = append(then, p.outcome(result))
		if effects, ok := result.Interface().(Effects); ok {
			p.held += heldBy(effects)
		}
	}
	for last := len(then) - 1; last >= 0 && string(then[last]) == "{}"; last-- {
		then = then[:last]
	}
	if next.Do != "Planned" { // Confirm has the last word: it gives up seats that the plan takes.
		checkReservations(p, p.state, p.now, p.held, p.taken)
	}
	return then
}

// taken returns the pods that are shown or assumed on a node; nil if there are none.
func (p *player) taken(node string) (taken []*corev1.Pod) {
	for _, r := range p.state.gangs {
		for _, pod := range r.members.Standing() {
			if pod.Spec.NodeName == node {
				taken = append(taken, pod)
			}
		}
		for _, known := range r.assumed {
			if known.pod.Spec.NodeName == node {
				taken = append(taken, known.pod)
			}
		}
	}
	return taken
}
