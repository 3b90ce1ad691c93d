package controller_test

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	"packtree.dev/shared/brief"

	"packtree.dev/grove-operator/internal/events"
)

type said struct {
	kind, reason, action, note string
	related                    bool
}

type sink struct{ all []said }

func (s *sink) Eventf(_, related runtime.Object, eventType, reason, action, _ string, args ...any) {
	s.all = append(s.all, said{eventType, reason, action, args[0].(string), related != nil})
}

func TestWarningsStandInTheLogAtTheirLevel(t *testing.T) {
	var out bytes.Buffer
	log.SetLogger(zap.New(zap.WriteTo(&out), zap.JSONEncoder()))
	recorder, set := events.New(&sink{}), &grovev1alpha1.PodCliqueSet{}
	set.Namespace, set.Name = "ns", "s"
	recorder.Warning(set, events.TopologyUnavailable, "no level rack")
	recorder.Normal(set, events.TopologyAvailable, "it is back")
	recorder.Warning(set, events.ReconcileFailed, "refused")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 1, "lines")
	for _, part := range []string{`"level":"warn"`, `"msg":"no level rack"`, `"event":"TopologyUnavailable"`,
		`"namespace":"ns"`, `"name":"s"`} {
		assert.Contains(t, lines[0], part)
	}
}

func TestRecorderSaysWhatHappenedOnce(t *testing.T) {
	heard, podClique := &sink{}, &grovev1alpha1.PodClique{}
	recorder := events.New(heard)
	recorder.Normal(podClique, events.PodsCreated, "created %d pods", 3)
	recorder.NormalWith(podClique, &schedulerv1alpha1.PodGang{}, events.GatesOpened, "all gates")
	recorder.Warning(podClique, events.ReconcileFailed, "refused")
	want := []said{
		{kind: "Normal", reason: "PodsCreated", action: "CreatePods", note: "created 3 pods"},
		{kind: "Normal", reason: "GatesOpened", action: "OpenGates", note: "all gates", related: true},
		{kind: "Warning", reason: "ReconcileFailed", action: "Reconcile", note: "refused"},
	}
	assert.Empty(t, cmp.Diff(want, heard.all, cmp.AllowUnexported(said{})), "events (-want +got)")
}

func TestAFailureThatLastsIsReportedOnce(t *testing.T) {
	heard := &sink{}
	failures := func(descriptions ...string) []grovev1alpha1.LastError {
		var all []grovev1alpha1.LastError
		for _, description := range descriptions {
			all = append(all, grovev1alpha1.LastError{Code: "Forbidden", Description: description})
		}
		return all
	}
	events.New(heard).Failures(&grovev1alpha1.PodClique{}, failures("quota"), failures("quota", "name taken"))
	want := []said{{kind: "Warning", reason: "ReconcileFailed", action: "Reconcile", note: "name taken"}}
	assert.Empty(t, cmp.Diff(want, heard.all, cmp.AllowUnexported(said{})), "events (-want +got)")
}

// TestEveryReasonIsDocumented compares the constants with the table of events for users.
func TestEveryReasonIsDocumented(t *testing.T) {
	source, err := os.ReadFile("../events/events.go")
	require.NoError(t, err)
	docs, err := os.ReadFile("../../../docs/grove-operator.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(docs), "\n## Events\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var said, documented []string
	for _, match := range regexp.MustCompile(`Reason = "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		said = append(said, match[1])
	}
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			for _, match := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cells[2], -1) {
				documented = append(documented, match[1])
			}
		}
	}
	slices.Sort(said)
	slices.Sort(documented)
	assert.Empty(t, cmp.Diff(said, documented), "reasons in the code and in the documentation (-code +documentation)")
	assert.NotEmpty(t, said, "reasons in the code and in the documentation (-code +documentation)")
}

func TestTheZeroRecorderSaysNothing(*testing.T) {
	events.Recorder{}.Normal(&grovev1alpha1.PodClique{}, events.PodsCreated, "created")
}

func TestALongNoteIsShortened(t *testing.T) {
	heard := &sink{}
	long := strings.Repeat("pod ä lost its node; ", 100)
	events.New(heard).Warning(&grovev1alpha1.PodClique{}, events.ReconcileFailed, "%s", long)
	note := heard.all[0].note
	assert.Equal(t, brief.Message(long), note)
	assert.LessOrEqual(t, len(note), 1024)
}
