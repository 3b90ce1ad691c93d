package gangstate

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

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
			*x = p.start.Add(since)
		}
	case *Moment:
		counts := [3]int64{}
		p.read(text, &counts)
		*x = Moment{edits: counts[0], vacancies: counts[1], openings: counts[2]}
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
		asked := struct {
			PodGroup *scheduling.PodGroup
			Pods     []*corev1.Pod
		}{}
		p.decode(text, reflect.ValueOf(&asked).Elem())
		*x, _ = gang.AssembleFor(anyone, asked.PodGroup, asked.Pods, p.state.levels)
	case **solve.Answer:
		given := answerRead{}
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
	require.NotNil(p, p.objects[name], "%s is not in the journal", name)
	p.read(p.objects[name], object)
	p.decoded[name] = found.Interface()
}

func (p *player) read(text json.RawMessage, into any) {
	if len(text) == 0 {
		return
	}
	require.NoError(p, json.Unmarshal(text, into), "reading %s", text)
}

// answerRead is what a State reads of an answer.
type answerRead struct {
	Verdict, Message string
	Nodes            map[string]string
	Kept             map[gang.Key]clusterview.Reserved
	Groups           []solve.Group
	Optimal          bool
}

// outcome is what is written of a result. Effects may be done twice and in any order.
func (p *player) outcome(result reflect.Value) json.RawMessage {
	plain := p.plain(result)
	if _, many := result.Interface().(Effects); many {
		for name, effect := range plain.(map[string]any) {
			if list, ok := effect.([]any); ok {
				plain.(map[string]any)[name] = sortedOnce(list)
			}
		}
	}
	text, err := json.Marshal(plain)
	require.NoError(p, err)
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

// plain is what is written of a value: of pods their UID, and of structs the fields that are not zero.
func (p *player) plain(v reflect.Value) any {
	switch x := v.Interface().(type) {
	case *corev1.Pod:
		if x != nil {
			return x.UID
		}
	case gang.Key:
		return x.String()
	case time.Duration:
		return x.String()
	case time.Time:
		if x.IsZero() {
			return ""
		}
		return "+" + x.Sub(p.start).Truncate(time.Millisecond).String()
	case Place:
		place := map[string]*string{}
		for _, one := range x {
			if place[one.key] = nil; one.present {
				place[one.key] = &one.value
			}
		}
		return place
	case error:
		return x.Error()
	case *solve.Answer:
		if x != nil {
			return p.plain(reflect.ValueOf(answerRead{x.Verdict, x.Message, x.Nodes, x.Kept, x.Groups, x.Optimal}))
		}
	}
	return p.plainKind(v)
}

func (p *player) plainKind(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return p.plain(v.Elem())
	case reflect.Struct:
		fields := map[string]any{}
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() && !v.Field(i).IsZero() {
				fields[field.Name] = p.plain(v.Field(i))
			}
		}
		return fields
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = p.plain(v.Index(i))
		}
		return list
	case reflect.Map:
		entries := map[string]any{}
		for _, key := range v.MapKeys() {
			entries[fmt.Sprint(key.Interface())] = p.plain(v.MapIndex(key))
		}
		return entries
	case reflect.String:
		return v.String()
	default:
		return v.Interface()
	}
}
