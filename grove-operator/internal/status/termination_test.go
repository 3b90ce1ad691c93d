package status_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/termination"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// object is a PodClique of two pods that a template of one made.
func object(name string, uid types.UID) termination.Object {
	return termination.Object{Kind: termination.KindPodClique, Name: name, UID: uid, Replicas: 2, TemplateReplicas: "1"}
}

func going(object termination.Object) termination.Object {
	object.Going = true
	return object
}

// unit has objects. The first is in breach since some time ago; 0 is none.
func unit(index int32, ago time.Duration, objects ...termination.Object) termination.Unit {
	made := termination.Unit{Index: index, Objects: objects}
	if ago > 0 {
		made.Breaches = []termination.Breach{{What: objects[0].Name, Since: now.Add(-ago)}}
	}
	return made
}

func record(index int32, objects ...grovev1alpha1.TerminatedObject) *grovev1alpha1.GangTermination {
	return &grovev1alpha1.GangTermination{Index: index, Objects: objects}
}

func recorded(name string, uid types.UID) grovev1alpha1.TerminatedObject {
	return grovev1alpha1.TerminatedObject{Kind: termination.KindPodClique, Name: name, UID: uid, Replicas: 2,
		TemplateReplicas: "1"}
}

func TestDecide(t *testing.T) {
	half := record(1, recorded("b", "1"), recorded("c", "2"))
	for name, c := range map[string]struct {
		situation termination.Situation
		recovered []int32
		// want is the index that is recorded; -1 for none.
		want    int32
		begun   bool
		delete  []string
		recheck time.Duration
	}{
		"nothing happens without a breach": {
			situation: termination.Situation{Delay: time.Hour, Units: []termination.Unit{unit(0, 0, object("a", "0"))}},
			want:      -1,
		},
		"a breach is waited for until its time has come": {
			situation: termination.Situation{Delay: time.Hour,
				Units: []termination.Unit{unit(0, 40*time.Minute, object("a", "0"))}},
			want: -1, recheck: 20 * time.Minute,
		},
		"the moment of the next look is that of the first that is due": {
			situation: termination.Situation{Delay: time.Hour, Units: []termination.Unit{
				unit(0, 10*time.Minute, object("a", "0")), unit(1, 50*time.Minute, object("b", "1")),
				unit(2, 0, object("c", "2")),
			}},
			want: -1, recheck: 10 * time.Minute,
		},
		"a unit is recorded when its time has come, and nothing is deleted yet": {
			situation: termination.Situation{Delay: time.Hour,
				Units: []termination.Unit{unit(0, time.Hour, object("a", "0"), object("b", "1"))}},
			want: 0, begun: true,
		},
		"the unit that was breached first goes first, and alone": {
			situation: termination.Situation{Delay: time.Hour, Units: []termination.Unit{
				unit(0, 2*time.Hour, object("a", "0")), unit(1, 3*time.Hour, object("b", "1")),
			}},
			want: 1, begun: true,
		},
		"a delay of zero is for ever": {
			situation: termination.Situation{Units: []termination.Unit{unit(0, 100*time.Hour, object("a", "0"))}},
			want:      -1,
		},
		"nothing is begun during an update": {
			situation: termination.Situation{Delay: time.Hour, Updating: true,
				Units: []termination.Unit{unit(0, 2*time.Hour, object("a", "0"))}},
			want: -1,
		},
		"what has recovered since anybody wrote it down is left alone": {
			situation: termination.Situation{Delay: time.Hour, Units: []termination.Unit{
				unit(0, 2*time.Hour, object("a", "0")), unit(1, 30*time.Minute, object("b", "1")),
			}},
			recovered: []int32{0}, want: -1, recheck: 30 * time.Minute,
		},
		"the next unit goes when the first has recovered": {
			situation: termination.Situation{Delay: time.Hour, Units: []termination.Unit{
				unit(0, 3*time.Hour, object("a", "0")), unit(1, 2*time.Hour, object("b", "1")),
			}},
			recovered: []int32{0}, want: 1, begun: true,
		},
		"what is recorded is deleted": {
			situation: termination.Situation{Record: half, Delay: time.Hour,
				Units: []termination.Unit{unit(1, time.Hour, object("b", "1"), object("c", "2"))}},
			want: 1, delete: []string{"b", "c"},
		},
		"what has recovered since it was recorded, and before any of it was deleted, is left alone": {
			situation: termination.Situation{Record: half, Delay: time.Hour, Untouched: true,
				Units: []termination.Unit{unit(1, time.Hour, object("b", "1"), object("c", "2"))}},
			recovered: []int32{1}, want: -1,
		},
		"it goes if the API server knows of a deletion that the cache does not show": {
			situation: termination.Situation{Record: half, Delay: time.Hour,
				Units: []termination.Unit{unit(1, time.Hour, object("b", "1"), object("c", "2"))}},
			recovered: []int32{1}, want: 1, delete: []string{"b", "c"},
		},
		"the same unit is finished half-way, whoever else is due by now": {
			situation: termination.Situation{Record: half, Delay: time.Hour, Units: []termination.Unit{
				unit(0, 9*time.Hour, object("a", "0")), unit(1, 0, going(object("b", "1")), object("c", "2")),
			}},
			want: 1, delete: []string{"c"},
		},
		"the same unit is finished though it has recovered, an update began, and the delay is off": {
			situation: termination.Situation{Record: half, Updating: true,
				Units: []termination.Unit{unit(1, 0, object("b", "new"), object("c", "2"))}},
			want: 1, delete: []string{"c"},
		},
		"what is gone is waited for until it has been replaced": {
			situation: termination.Situation{Record: half, Delay: time.Hour,
				Units: []termination.Unit{unit(1, 0, object("b", "new"))}}, want: 1,
		},
		"what replaces the recorded objects is not touched": {
			situation: termination.Situation{Record: half, Delay: time.Hour,
				Units: []termination.Unit{unit(1, 2*time.Hour, object("b", "new"), object("c", "new"))}},
			want: -1,
		},
		"a unit that was scaled in is struck out": {
			situation: termination.Situation{Record: half, Delay: time.Hour,
				Units: []termination.Unit{unit(0, 0, object("a", "0"))}}, want: -1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			situation := c.situation
			situation.Now = now
			situation.Confirmed = map[int32][]termination.Breach{}
			for _, unit := range situation.Due() {
				if !slices.Contains(c.recovered, unit.Index) {
					situation.Confirmed[unit.Index] = unit.Breaches
				}
			}
			plan := termination.Decide(situation)
			got := int32(-1)
			if plan.Record != nil {
				got = plan.Record.Index
			}
			var deleted []string
			for _, object := range plan.Delete {
				deleted = append(deleted, object.Name)
			}
			var recheck time.Duration
			if !plan.Recheck.IsZero() {
				recheck = plan.Recheck.Sub(now)
			}
			assert.Empty(t, cmp.Diff([]any{c.want, c.begun, c.delete, c.recheck},
				[]any{got, plan.Begun, deleted, recheck}), "recorded, begun, deleted, recheck (-want +got)")
		})
	}
}

func TestTheRecordHasEverythingToFinishFrom(t *testing.T) {
	broken := unit(3, time.Hour, object("a", "0"), object("b", "1"))
	plan := termination.Decide(termination.Situation{
		Delay: time.Hour, Units: []termination.Unit{broken}, Now: now,
		Confirmed: map[int32][]termination.Breach{3: broken.Breaches},
	})
	want := &grovev1alpha1.GangTermination{
		Index: 3, StartedAt: metav1.NewTime(now), Message: "below the minimum for 1h0m0s: a",
		Objects: []grovev1alpha1.TerminatedObject{recorded("a", "0"), recorded("b", "1")},
	}
	assert.Empty(t, cmp.Diff(want, plan.Record), "record (-want +got)")
}

func TestReplicas(t *testing.T) {
	scaled := record(0, recorded("a", "0"))
	for name, c := range map[string]struct {
		record   *grovev1alpha1.GangTermination
		name     string
		template int32
		asked    string
		want     int32
	}{
		"a scale survives": {scaled, "a", 1, "1", 2},
		"a template that was edited meanwhile prevails": {scaled, "a", 5, "5", 5},
		"others get what the template asks for":         {scaled, "z", 1, "1", 1},
		"and so does everything without a record":       {nil, "a", 1, "1", 1},
	} {
		desired := &grovev1alpha1.PodClique{}
		desired.Name, desired.Annotations = c.name, map[string]string{grovev1alpha1.AnnotationTemplateReplicas: c.asked}
		assert.Equal(t, c.want, termination.Replicas(c.record, termination.KindPodClique, desired, c.template), name)
	}
}

func TestWhatIsLeftOfABreachMustBeDueItself(t *testing.T) {
	old := termination.Breach{What: "a", Since: now.Add(-2 * time.Hour)}
	young := termination.Breach{What: "b", Since: now.Add(-time.Minute)}
	plan := termination.Decide(termination.Situation{
		Delay: time.Hour, Now: now,
		Units:     []termination.Unit{{Breaches: []termination.Breach{old, young}}},
		Confirmed: map[int32][]termination.Breach{0: {young}},
	})
	assert.Nil(t, plan.Record, "the clique that was due has recovered")
}
