package supportbundle

import (
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	dynamo "packtree.dev/shared/api/dynamo/v1alpha1"
	grove "packtree.dev/shared/api/grove/v1alpha1"
	grovescheduler "packtree.dev/shared/api/grovescheduler/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/golden"
)

// TestEveryTextThatLeavesTheClusterIsListed fills every text field, however deep, with its own path, and compares the
// texts in a bundle with a list that people read. A field that is kept by mistake adds a line.
func TestEveryTextThatLeavesTheClusterIsListed(t *testing.T) {
	for name, object := range map[string]any{
		"events":                 &corev1.Event{},
		"nodes":                  &corev1.Node{},
		"pods":                   &corev1.Pod{},
		"topologies":             &kai.Topology{},
		"noderesourcetopologies": &zonesOfNode{},
		"podgroups":              &scheduling.PodGroup{},
		"podgangs":               &grovescheduler.PodGang{},
		"podcliquesets":          &grove.PodCliqueSet{},
		"dynamographdeployments": &dynamo.DynamoGraphDeployment{},
	} {
		t.Run(name, func(t *testing.T) {
			plant(reflect.ValueOf(object).Elem(), "")
			if event, ok := object.(*corev1.Event); ok {
				event.InvolvedObject.Kind, event.Action = "PodGroup", "Scheduling" // Less is kept of other events, or nothing.
			}
			if zones, ok := object.(*zonesOfNode); ok {
				zones.Attributes[0].Name = "topologyManagerPolicy"
			}
			reduced := reduced(t, name, object)
			got := strings.Join(planted(reduced), "\n") + "\n"
			golden.Equal(t, filepath.Join("testdata", "kept", name+".txt"), got)
		})
	}
}

// reduced returns an object as the bundle prints it.
func reduced(t *testing.T, resource string, object any) string {
	t.Helper()
	at := slices.IndexFunc(kinds, func(kind kind) bool { return kind.resource.Resource == resource })
	require.GreaterOrEqual(t, at, 0, "no kind of a bundle is listed as %s", resource)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	require.NoError(t, err)
	kept, err := kinds[at].reduce(&unstructured.Unstructured{Object: fields})
	require.NoError(t, err)
	printed, err := yaml.Marshal(kept.Object)
	require.NoError(t, err)
	return string(printed)
}

// plant writes "planted:<path>" into every text field. Lists and maps get one entry.
func plant(value reflect.Value, path string) {
	text := "planted:" + path + ";"
	switch value.Interface().(type) {
	case resource.Quantity, metav1.Time, metav1.MicroTime, metav1.Duration:
		return // Amounts and dates.
	case intstr.IntOrString:
		value.Set(reflect.ValueOf(intstr.FromString(text)))
		return
	case metav1.FieldsV1, runtime.RawExtension:
		value.FieldByName("Raw").SetBytes(fmt.Appendf(nil, "{%q: {}}", text))
		return
	}
	switch value.Kind() {
	case reflect.String:
		value.SetString(text)
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int32, reflect.Int64:
		value.SetInt(1)
	case reflect.Float64:
		value.SetFloat(1)
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		plant(value.Elem(), path)
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		plant(value.Index(0), path+"[]")
	case reflect.Map:
		entry, key := reflect.New(value.Type().Elem()).Elem(), reflect.New(value.Type().Key()).Elem()
		plant(entry, path+"{}")
		key.SetString("planted:" + path + "{key};")
		value.Set(reflect.MakeMap(value.Type()))
		value.SetMapIndex(key, entry)
	case reflect.Struct:
		for i := range value.NumField() {
			field := value.Type().Field(i)
			if field.IsExported() {
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				plant(value.Field(i), strings.TrimPrefix(path+"."+name, "."))
			}
		}
	default:
		panic(fmt.Sprintf("%s is a %s, which nobody has thought of", path, value.Type()))
	}
}

var plantedText = regexp.MustCompile(`planted:([^;]*);`)

func planted(printed string) []string {
	var paths []string
	for _, match := range plantedText.FindAllStringSubmatch(printed, -1) {
		paths = append(paths, match[1])
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func TestOfAnnotationsOnlyThoseThatTheSchedulerReadsAreKept(t *testing.T) {
	object := metav1.ObjectMeta{Annotations: map[string]string{
		"pod-group-name":                                   "gang",
		"packtree.dev/base-gang":                           "first",
		"kai.scheduler/secret":                             "nobody reads it",
		"kubectl.kubernetes.io/last-applied-configuration": "the manifest as a whole",
	}}
	want := map[string]string{"pod-group-name": "gang", "packtree.dev/base-gang": "first"}
	assert.Empty(t, cmp.Diff(want, labelled(&object).Annotations), "annotations (-want +got)")
}

func TestOfMessagesOnlyTheSchedulersAreKept(t *testing.T) {
	conditions := reduceConditions([]metav1.Condition{
		{Type: "Scheduled", Message: "no rack has room"}, {Type: "Ready", Message: "pod rejected: env TOKEN=abc"},
	})
	pods := reducePodConditions([]corev1.PodCondition{
		{Type: "PodScheduled", Message: "no rack has room"}, {Type: "Ready", Message: "TOKEN=abc is refused"},
	})
	got := []string{conditions[0].Message, conditions[1].Message, pods[0].Message, pods[1].Message}
	assert.Empty(t, cmp.Diff([]string{"no rack has room", "", "no rack has room", ""}, got), "messages (-want +got)")
}

func TestOfEventsWhatSaysWhereGangsGoIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		kind, kindOf, action string
		// note is the kept part of "a note"; "nothing" if the event is left out.
		note string
	}{
		"the scheduler about a gang":           {"PodGroup", "Warning", "Scheduling", "a note"},
		"the scheduler about a pod":            {"Pod", "Normal", "Binding", "a note"},
		"whoever stopped a pod for another":    {"Pod", "Normal", "Preempting", "a note"},
		"a controller about what it made":      {"PodGang", "Normal", "Creating", ""},
		"a controller about a gang":            {"PodGroup", "Warning", "Creating", ""},
		"a kubelet that cannot pull an image":  {"Pod", "Warning", "", ""},
		"a kubelet that starts a container":    {"Pod", "Normal", "", "nothing"},
		"what is about nobody in a bundle":     {"Deployment", "Warning", "Scaling", "nothing"},
		"a scheduler about nobody in a bundle": {"ResourceClaim", "Warning", "Scheduling", "nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			kept := reduceEvent(&corev1.Event{
				InvolvedObject: corev1.ObjectReference{Kind: c.kind, Name: "one"}, Type: c.kindOf, Action: c.action,
				Reason: "R", Message: "a note",
			})
			note := "nothing"
			if kept != nil {
				note = kept.Message
			}
			assert.Equal(t, c.note, note)
			assert.False(t, kept != nil && (kept.Reason != "R" || kept.InvolvedObject.Name != "one"), "kept is %+v", kept)
		})
	}
}

func TestOfZonesTheRuleOfTheKubeletAndTheAmountsAreKept(t *testing.T) {
	all := map[string]any{
		"metadata":   map[string]any{"name": "n", "annotations": map[string]any{"example.com/token": "hunter2"}},
		"attributes": []any{map[string]any{"name": "topologyManagerPolicy", "value": "restricted"}},
		"zones": []any{map[string]any{
			"name": "node-0", "type": "Node",
			"resources": []any{
				map[string]any{"name": "nvidia.com/gpu", "capacity": "4", "allocatable": "4", "available": "0"},
				map[string]any{"name": "cpu", "allocatable": "8"},
			},
		}},
	}
	want := runtime.DeepCopyJSON(all)
	want["metadata"] = map[string]any{"name": "n"}
	all["attributes"] = append(all["attributes"].([]any), map[string]any{"name": "host", "value": "hunter2"})
	kept, err := of(reduceZones)(&unstructured.Unstructured{Object: all})
	require.NoError(t, err)
	assert.Empty(t, cmp.Diff(want, kept.Object), "kept (-want +got)")
}

func TestAContainerKeepsItsHostPortsOnly(t *testing.T) {
	kept := reduceContainers([]corev1.Container{{Name: "c", Ports: []corev1.ContainerPort{
		{ContainerPort: 80}, {ContainerPort: 81, HostPort: 8081, HostIP: "10.0.0.1", Protocol: "UDP"},
	}}})
	want := []corev1.Container{{Name: "c", Ports: []corev1.ContainerPort{
		{ContainerPort: 81, HostPort: 8081, HostIP: "10.0.0.1", Protocol: "UDP"},
	}}}
	assert.Empty(t, cmp.Diff(want, kept), "containers (-want +got)")
}
