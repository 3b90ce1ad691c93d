package gangstate

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// A journal is what happened to a State and what followed from it, in the order in which it took its lock: a line of
// JSON for each call that may change something, and for each version of an object when it is first named. The program
// that records one is built with this file, see record_test.go, and the tests play it again, see replay_test.go.

// line is one of a journal.
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

// journal writes what happens.
type journal struct {
	mu  sync.Mutex
	out io.Writer
	codec
	// last is the last version of each object, first the first one of each kind, and uids have a name for each UID.
	last, first map[string]objectVersion
	uids, names map[string]string
	now         line
}

// objectVersion is a version of an object.
type objectVersion struct {
	name, text string
	number     int
}

// JournalDirectory is where a program that records has its journal, by its process. The linker sets it.
var JournalDirectory string

var recording atomic.Bool

// recorded returns the journal of the first State of a program that records, nil for others.
func recorded() *journal {
	if JournalDirectory == "" || recording.Swap(true) {
		return nil
	}
	out, err := os.Create(filepath.Join(JournalDirectory, fmt.Sprint(os.Getpid(), ".jsonl")))
	if err != nil {
		panic(err)
	}
	return newJournal(out, time.Now())
}

func newJournal(out io.Writer, start time.Time) *journal {
	j := &journal{out: out, last: map[string]objectVersion{}, first: map[string]objectVersion{}, uids: map[string]string{},
		names: map[string]string{}}
	j.codec = codec{start: start.Truncate(time.Second), refer: j.refer}
	j.write(line{Start: &j.start})
	return j
}

// begin is for a call that comes, given pointers to its arguments. Times are made whole milliseconds.
func (j *journal) begin(method string, arguments ...any) {
	j.mu.Lock()
	j.now = line{Do: method}
	for _, argument := range arguments {
		switch pointed := argument.(type) {
		case *time.Time:
			*pointed = pointed.Truncate(time.Millisecond)
		case *Move:
			pointed.Until = pointed.Until.Truncate(time.Millisecond)
		case *Seen:
			*pointed = &witness{Seen: *pointed, journal: j}
			continue
		}
		if reflect.TypeOf(argument).Elem().Kind() == reflect.Func {
			continue // Whoever is asked reads, or notes what does not matter here.
		}
		j.now.With = append(j.now.With, j.encode(reflect.ValueOf(argument).Elem()))
	}
}

// end is for its results.
func (j *journal) end(results ...any) {
	defer j.mu.Unlock()
	for _, result := range results {
		j.now.Then = append(j.now.Then, j.outcome(result))
	}
	for last := len(j.now.Then) - 1; last >= 0 && string(j.now.Then[last]) == "{}"; last-- {
		j.now.Then = j.now.Then[:last]
	}
	j.write(j.now)
}

func (j *journal) write(what line) {
	text, err := json.Marshal(what)
	if err != nil {
		panic(err)
	}
	text = uid.ReplaceAllFunc(text, func(found []byte) []byte { return []byte(j.nameOf(string(found), "somebody")) })
	if _, err := j.out.Write(append(text, '\n')); err != nil {
		panic(err)
	}
}

var uid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// nameOf returns the name by which a journal calls a UID.
func (j *journal) nameOf(uid, proposed string) string {
	if name, known := j.uids[uid]; known {
		return name
	}
	name := proposed
	for i := 2; j.names[name] != ""; i++ {
		name = fmt.Sprintf("%s'%d", proposed, i)
	}
	j.uids[uid], j.names[name] = name, uid
	return name
}

// refer names the version of an object, and writes it first if it is new.
func (j *journal) refer(kind, name string, object any) string {
	text, err := json.Marshal(j.reduced(object))
	if err != nil {
		panic(err)
	}
	key := kind + " " + name
	last, known := j.last[key]
	if known && last.text == string(text) {
		return last.name
	}
	next := objectVersion{name: fmt.Sprintf("%s#%d", key, last.number+1), text: string(text), number: last.number + 1}
	like := last
	if !known {
		like = j.first[kind]
	}
	written := line{Is: next.name, Like: like.name, But: text}
	if like.text != "" {
		if written.But, err = jsonpatch.CreateMergePatch([]byte(like.text), text); err != nil {
			panic(err)
		}
	} else {
		j.first[kind] = next
	}
	j.last[key] = next
	j.write(written)
	return next.name
}

// reduced is what a State reads of an object. Its UID is called by its name from then on.
func (j *journal) reduced(object any) any {
	about := func(full *metav1.ObjectMeta) metav1.ObjectMeta {
		j.nameOf(string(full.UID), full.Name)
		return metav1.ObjectMeta{
			Namespace: full.Namespace, Name: full.Name, UID: full.UID, Generation: full.Generation, Labels: full.Labels,
			Annotations: full.Annotations, OwnerReferences: full.OwnerReferences,
			CreationTimestamp: full.CreationTimestamp, DeletionTimestamp: full.DeletionTimestamp,
		}
	}
	switch x := object.(type) {
	case *corev1.Pod:
		reduced := corev1.Pod{ObjectMeta: about(&x.ObjectMeta), Spec: *x.Spec.DeepCopy()}
		withoutToken(&reduced.Spec)
		reduced.Status.Phase, reduced.Status.ResourceClaimStatuses = x.Status.Phase, x.Status.ResourceClaimStatuses
		for _, condition := range x.Status.Conditions {
			if condition.Type == corev1.DisruptionTarget {
				reduced.Status.Conditions = append(reduced.Status.Conditions, condition)
			}
		}
		return reduced
	case *corev1.Node:
		reduced := corev1.Node{Spec: corev1.NodeSpec{Unschedulable: x.Spec.Unschedulable, Taints: x.Spec.Taints}}
		reduced.Name, reduced.Labels = x.Name, x.Labels
		return reduced
	case *scheduling.PodGroup:
		reduced := scheduling.PodGroup{ObjectMeta: about(&x.ObjectMeta), Spec: x.Spec}
		reduced.Status.Seats, reduced.Status.SchedulingConditions = x.Status.Seats, x.Status.SchedulingConditions
		for _, condition := range x.Status.Conditions {
			condition.Message = ""
			reduced.Status.Conditions = append(reduced.Status.Conditions, condition)
		}
		return reduced
	}
	return object
}

// withoutToken takes the volume of its service account from a pod. Its name is another one for each.
func withoutToken(spec *corev1.PodSpec) {
	token := func(volume corev1.Volume) bool { return volume.Projected != nil }
	if !slices.ContainsFunc(spec.Volumes, token) {
		return
	}
	spec.Volumes = slices.DeleteFunc(spec.Volumes, token)
	for i := range spec.Containers {
		spec.Containers[i].VolumeMounts = nil
	}
}

// witness notes what is seen of the cluster where it is not what was expected.
type witness struct {
	Seen
	journal *journal
}

func (w *witness) note(what string, saw any) {
	if w.journal.now.Saw == nil {
		w.journal.now.Saw = map[string]json.RawMessage{}
	}
	w.journal.now.Saw[what] = w.journal.encode(reflect.ValueOf(saw))
}

func (w *witness) Version(key gang.Key) (Version, bool) {
	version, exists := w.Seen.Version(key)
	if !exists {
		w.note("Version", false)
	} else {
		w.note("Version", version)
	}
	return version, exists
}

func (w *witness) Pod(pod *corev1.Pod) *corev1.Pod {
	now := w.Seen.Pod(pod)
	if now != pod {
		w.note("Pod "+string(pod.UID), now)
	}
	return now
}

func (w *witness) Shows(node string, pod types.UID) (bool, error) {
	shown, err := w.Seen.Shows(node, pod)
	if !shown {
		w.note(fmt.Sprintf("Shows %s %s", node, pod), fmt.Sprint(err))
	}
	return shown, err
}

func (w *witness) Displaces(node string, coming []*corev1.Pod, seat *corev1.Pod) (bool, error) {
	displaced, err := w.Seen.Displaces(node, coming, seat)
	if displaced || err != nil {
		w.note(fmt.Sprintf("Displaces %s %s", node, seat.UID), fmt.Sprint(err))
	}
	return displaced, err
}

// codec turns arguments and results into JSON.
type codec struct {
	start time.Time
	// refer names the version of an object.
	refer func(kind, name string, object any) string
	// results is set for results: pods are called by their UID.
	results bool
}

func (c *codec) encode(v reflect.Value) json.RawMessage {
	text, err := json.Marshal(c.plain(v))
	if err != nil {
		panic(err)
	}
	return text
}

// outcome is a result. What is to be done may be done twice and in any order.
func (c *codec) outcome(result any) json.RawMessage {
	if result == nil {
		return json.RawMessage("null")
	}
	asResult := *c
	asResult.results = true
	plain := asResult.plain(reflect.ValueOf(result))
	if _, many := result.(Effects); many {
		for name, effect := range plain.(map[string]any) {
			if list, ok := effect.([]any); ok {
				plain.(map[string]any)[name] = sortedOnce(list)
			}
		}
	}
	text, err := json.Marshal(plain)
	if err != nil {
		panic(err)
	}
	return text
}

func sortedOnce(list []any) []any {
	texts := map[string]any{}
	for _, one := range list {
		text, _ := json.Marshal(one)
		texts[string(text)] = one
	}
	sorted := make([]any, 0, len(texts))
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		sorted = append(sorted, texts[text])
	}
	return sorted
}

// gangAsked is a gang that was decided.
type gangAsked struct {
	PodGroup *scheduling.PodGroup
	Pods     []*corev1.Pod
}

// answerGiven is what a State reads of an answer.
type answerGiven struct {
	Verdict, Message string
	Nodes            map[string]string
	Kept             map[gang.Key]clusterview.Reserved
	Groups           []solve.Group
	Optimal          bool
}

// plain is what is written of a value: of structs the fields that are not zero.
func (c *codec) plain(v reflect.Value) any {
	switch x := v.Interface().(type) {
	case *corev1.Pod:
		if x != nil && c.results {
			return x.UID
		}
		if x != nil {
			return c.refer("pod", x.Namespace+"/"+x.Name, x)
		}
	case *corev1.Node:
		if x != nil {
			return c.refer("node", x.Name, x)
		}
	case *scheduling.PodGroup:
		if x != nil {
			return c.refer("PodGroup", x.Namespace+"/"+x.Name, x)
		}
	case Version:
		return c.refer("version", string(x.UID), x)
	case gang.Key:
		return x.String()
	case time.Duration:
		return x.String()
	case time.Time:
		if !x.IsZero() {
			return "+" + x.Sub(c.start).Truncate(time.Millisecond).String()
		}
		return ""
	case Moment:
		return []int64{x.Room, x.edits, x.vacancies, x.openings}
	case Place:
		place := map[string]*string{}
		for _, one := range x {
			if place[one.key] = nil; one.present {
				place[one.key] = &one.value
			}
		}
		return place
	case *gang.Gang:
		return c.plain(reflect.ValueOf(gangAsked{x.PodGroup, slices.Concat(x.Pending, x.Standing)}))
	case *solve.Answer:
		if x != nil {
			return c.plain(reflect.ValueOf(answerGiven{x.Verdict, x.Message, x.Nodes, x.Kept, x.Groups, x.Optimal}))
		}
	case error:
		return x.Error()
	}
	return c.plainKind(v)
}

func (c *codec) plainKind(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return c.plain(v.Elem())
	case reflect.Struct:
		fields := map[string]any{}
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() && !v.Field(i).IsZero() {
				fields[field.Name] = c.plain(v.Field(i))
			}
		}
		return fields
	case reflect.Slice:
		if v.IsNil() {
			return nil
		}
		list := make([]any, v.Len())
		for i := range list {
			list[i] = c.plain(v.Index(i))
		}
		return list
	case reflect.Map:
		entries := map[string]any{}
		for _, key := range v.MapKeys() {
			entries[fmt.Sprint(key.Interface())] = c.plain(v.MapIndex(key))
		}
		return entries
	case reflect.String:
		return v.String()
	default:
		return v.Interface()
	}
}
