package gangstate_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func TestOnlyWhatIsForetoldAnewIsWritten(t *testing.T) {
	state := gangstate.New(func(string) bool { return true })
	keys := map[string]gang.Key{}
	for _, name := range []string{"a", "b", "c"} {
		podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "1"}}
		keys[name] = gang.KeyOfPodGroup(podGroup)
		state.PodGroupChanged(nil, podGroup, time.Unix(0, 0))
	}
	if last, begun := state.Repairability(keys["a"]); last != nil || begun {
		t.Errorf("before the first round: %v, %v", last, begun)
	}
	onNode, onRack := gangstate.Repairability{LostWith: "node n", Node: true},
		gangstate.Repairability{LostWith: "r (rack)"}
	round := func(of map[string]gangstate.Repairability) (written []string) {
		all := map[gang.Key]gangstate.Repairability{{Namespace: "ns", Name: "deleted since"}: onNode}
		for name, found := range of {
			all[keys[name]] = found
		}
		for _, key := range state.Foretold(all).WriteStatus {
			written = append(written, key.Name)
		}
		slices.Sort(written)
		return written
	}
	for _, step := range []struct {
		what  string
		round map[string]gangstate.Repairability
		want  []string
	}{
		{"the first round, in which b lacks pods", map[string]gangstate.Repairability{"a": {}, "c": onNode},
			[]string{"a", "b", "c"}},
		{"nothing new", map[string]gangstate.Repairability{"a": {}, "c": onNode}, nil},
		{"another failure, and one that is whole", map[string]gangstate.Repairability{"a": {}, "b": onRack, "c": onRack},
			[]string{"b", "c"}},
		{"one that lacks pods", map[string]gangstate.Repairability{"b": onRack, "c": onRack}, []string{"a"}},
		{"a way out", map[string]gangstate.Repairability{"b": {}, "c": onRack}, []string{"b"}},
	} {
		if got := round(step.round); !slices.Equal(got, step.want) {
			t.Errorf("%s: the statuses of %q are written, want %q", step.what, got, step.want)
		}
	}
	if last, begun := state.Repairability(keys["c"]); last == nil || *last != onRack || !begun {
		t.Errorf("of c is known %v, %v", last, begun)
	}
	if last, begun := state.Repairability(gang.Key{Namespace: "ns", Name: "deleted since"}); last != nil || !begun {
		t.Errorf("of a gang that is gone is known %v, %v", last, begun)
	}
	again := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", UID: "2"}}
	state.PodGroupChanged(nil, again, time.Unix(0, 0))
	if last, begun := state.Repairability(keys["c"]); last != nil || !begun {
		t.Errorf("of a new gang of the name is known %v, %v", last, begun)
	}
}
