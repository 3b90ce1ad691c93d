package gangstate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// What followed from the events of recorded live runs follows from them today, and after each of them no room is given
// twice and nothing is kept without a reason. In the end, when all pods and PodGroups are gone, nothing is remembered.
func TestRecordedRuns(t *testing.T) {
	if recorded() != nil {
		t.Fatal("a program records that was not told where to")
	}
	var recording *recorder
	if *recordAnew {
		recording = newRecorder(t)
	}
	for run, tests := range recordedRuns {
		t.Run(run, func(t *testing.T) {
			file := filepath.Join("testdata", "runs", run+".jsonl")
			if recording != nil {
				recording.record(t, tests, file)
			}
			golden, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			replayed := replay(t, golden)
			if diff := cmp.Diff(strings.Split(string(golden), "\n"), strings.Split(string(replayed), "\n")); diff != "" {
				t.Errorf("what followed, and what follows now (-then +now):\n%s", diff)
			}
		})
	}
}

// player plays a journal.
type player struct {
	*testing.T
	state   *State
	again   *journal
	written bytes.Buffer
	// objects are the versions of objects, and decoded what was made of them.
	objects map[string][]byte
	decoded map[string]any
	now     time.Time
	held    int
	saw     map[string]json.RawMessage
}

// replay plays a journal again, and returns the journal of that.
func replay(t *testing.T, text []byte) []byte {
	t.Helper()
	p := &player{T: t, state: New(anyone), objects: map[string][]byte{}, decoded: map[string]any{}}
	for number, one := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		next := line{}
		if err := json.Unmarshal(one, &next); err != nil {
			t.Fatalf("line %d: %v", number+1, err)
		}
		switch {
		case next.Start != nil:
			p.again = newJournal(&p.written, *next.Start)
		case next.Is != "":
			p.learn(next)
		default:
			p.call(next)
			if t.Failed() {
				t.Fatalf("after line %d: %s", number+1, one)
			}
		}
	}
	for key, r := range p.state.gangs {
		// The last word about its status comes later.
		if r.podGroup != nil || r.members.Len()+len(r.gated)+len(r.kept) > 0 || p.state.waiting[key] != nil {
			t.Errorf("gang %s is remembered in the end", key)
		}
	}
	return p.written.Bytes()
}

func (p *player) learn(version line) {
	text := []byte(version.But)
	if version.Like != "" {
		var err error
		if text, err = jsonpatch.MergePatch(p.objects[version.Like], text); err != nil {
			p.Fatalf("%s: %v", version.Is, err)
		}
	}
	p.objects[version.Is] = text
}

// call calls a method as it was called, and checks what is to hold after each.
func (p *player) call(next line) {
	method := reflect.ValueOf(p.state).MethodByName(next.Do)
	p.saw = next.Saw
	var pointers []any
	written := next.With
	for i := range method.Type().NumIn() {
		argument := reflect.New(method.Type().In(i))
		switch kind := method.Type().In(i).Kind(); kind {
		case reflect.Interface:
			argument.Elem().Set(reflect.ValueOf(sight{p}))
		case reflect.Func:
			argument.Elem().Set(reflect.MakeFunc(method.Type().In(i), func([]reflect.Value) []reflect.Value { return nil }))
		default:
			p.decode(written[0], argument.Elem())
			written = written[1:]
		}
		if now, ok := argument.Interface().(*time.Time); ok && next.Do != "ExtendMove" {
			p.now = *now
		}
		pointers = append(pointers, argument.Interface())
	}
	if next.Do == "ExtendMove" { // It has the time at which its hold ends.
		of := p.state.known(*pointers[0].(*gang.Key)).podGroup
		if now := pointers[1].(*time.Time).Add(-MoveHold(of)); now.After(p.now) {
			p.now = now
		}
	}
	p.again.begin(next.Do, pointers...)
	var arguments []reflect.Value
	for _, pointer := range pointers {
		arguments = append(arguments, reflect.ValueOf(pointer).Elem())
	}
	var results []any
	for _, result := range method.Call(arguments) {
		results = append(results, result.Interface())
		if effects, ok := result.Interface().(Effects); ok {
			p.held += heldBy(effects)
		}
	}
	p.again.end(results...)
	if next.Do != "Planned" { // Confirm has the last word: it gives up seats that the plan takes.
		checkReservations(p, p.state, p.now, p.held, p.taken)
	}
}

// taken returns who is on a node: what is shown there, or has been put there; nil if nobody is.
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

// sight is what was seen of the cluster when the journal was written.
type sight struct{ *player }

func (s sight) Version(gang.Key) (version Version, exists bool) {
	text := s.saw["Version"]
	if string(text) == "false" {
		return Version{}, false
	}
	s.decode(text, reflect.ValueOf(&version).Elem())
	return version, true
}

func (s sight) Pod(pod *corev1.Pod) (now *corev1.Pod) {
	text, other := s.saw["Pod "+string(pod.UID)]
	if !other {
		return pod
	}
	s.decode(text, reflect.ValueOf(&now).Elem())
	return now
}

func (s sight) Shows(node string, pod types.UID) (bool, error) {
	text, other := s.saw[fmt.Sprintf("Shows %s %s", node, pod)]
	return !other, s.errorOf(text)
}

func (s sight) Displaces(node string, _ []*corev1.Pod, seat *corev1.Pod) (bool, error) {
	text, other := s.saw[fmt.Sprintf("Displaces %s %s", node, seat.UID)]
	return other && s.errorOf(text) == nil, s.errorOf(text)
}

func (s sight) errorOf(text json.RawMessage) error {
	message := ""
	if s.read(text, &message); text == nil || message == "<nil>" {
		return nil
	}
	return fmt.Errorf("%s", message)
}

// decode is the argument of some type that was written.
func (p *player) decode(text json.RawMessage, into reflect.Value) {
	name := ""
	switch x := into.Addr().Interface().(type) {
	case **corev1.Pod, **corev1.Node, **scheduling.PodGroup, *Version:
		if p.read(text, &name); name != "" {
			p.find(name, x)
		}
	case *gang.Key:
		p.read(text, &name)
		x.Namespace, x.Name, _ = strings.Cut(name, "/")
	case *time.Time:
		if p.read(text, &name); name != "" {
			since, _ := time.ParseDuration(name)
			*x = p.again.start.Add(since)
		}
	case *Moment:
		counts := [4]int64{}
		p.read(text, &counts)
		*x = Moment{Room: counts[0], edits: counts[1], vacancies: counts[2], openings: counts[3]}
	case *Place:
		labels := map[string]*string{}
		p.read(text, &labels)
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			if value := labels[key]; value != nil {
				*x = append(*x, label{key, *value, true})
			} else {
				*x = append(*x, label{key: key})
			}
		}
	case **gang.Gang:
		asked := gangAsked{}
		p.decode(text, reflect.ValueOf(&asked).Elem())
		*x, _ = gang.AssembleFor(anyone, asked.PodGroup, asked.Pods, p.state.levels)
	case **solve.Answer:
		given := answerGiven{}
		p.decode(text, reflect.ValueOf(&given).Elem())
		*x = &solve.Answer{Verdict: given.Verdict, Message: given.Message, Nodes: given.Nodes, Kept: given.Kept,
			Groups: given.Groups, Optimal: given.Optimal}
	default:
		p.decodeKind(text, into)
	}
}

func (p *player) decodeKind(text json.RawMessage, into reflect.Value) {
	if string(text) == "null" {
		return
	}
	switch into.Kind() {
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		p.decode(text, into.Elem())
	case reflect.Struct:
		fields := map[string]json.RawMessage{}
		p.read(text, &fields)
		for name, field := range fields {
			p.decode(field, into.FieldByName(name))
		}
	case reflect.Slice:
		list := []json.RawMessage{}
		p.read(text, &list)
		into.Set(reflect.MakeSlice(into.Type(), len(list), len(list)))
		for i := range list {
			p.decode(list[i], into.Index(i))
		}
	case reflect.Map:
		entries := map[string]json.RawMessage{}
		p.read(text, &entries)
		into.Set(reflect.MakeMap(into.Type()))
		for name, entry := range entries {
			key, value := reflect.New(into.Type().Key()).Elem(), reflect.New(into.Type().Elem()).Elem()
			quoted, _ := json.Marshal(name)
			p.decode(quoted, key)
			p.decode(entry, value)
			into.SetMapIndex(key, value)
		}
	default:
		p.read(text, into.Addr().Interface())
	}
}

// find returns the version of an object, the same one for the same name.
func (p *player) find(name string, into any) {
	found := reflect.ValueOf(into).Elem()
	if known, ok := p.decoded[name]; ok {
		found.Set(reflect.ValueOf(known))
		return
	}
	object := into
	if found.Kind() == reflect.Pointer {
		found.Set(reflect.New(found.Type().Elem()))
		object = found.Interface()
	}
	if p.objects[name] == nil {
		p.Fatalf("%s is not in the journal", name)
	}
	p.read(p.objects[name], object)
	p.decoded[name] = found.Interface()
}

func (p *player) read(text json.RawMessage, into any) {
	if len(text) == 0 {
		return
	}
	if err := json.Unmarshal(text, into); err != nil {
		p.Fatalf("reading %s: %v", text, err)
	}
}
