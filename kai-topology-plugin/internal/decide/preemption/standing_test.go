package preemption_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decide/preemption"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// gangsAround are the gangs that pods belong to; reads counts how often their pods are read.
func gangsAround(pods []*corev1.Pod, reads *atomic.Int32, groups ...*scheduling.PodGroup) *preemption.Standing {
	return &preemption.Standing{PodGroups: reader(groups...),
		Members: func(key gang.Key) (members []*corev1.Pod, err error) {
			reads.Add(1)
			if key.Name == "unreadable" {
				return nil, errors.New("the cache has no index")
			}
			for _, pod := range pods {
				if of, member := gang.KeyOf(pod); member && of == key {
					members = append(members, pod)
				}
			}
			return members, nil
		}}
}

func TestVictimsForAPodWithoutAGang(t *testing.T) {
	pods := []*corev1.Pod{
		podOn("low-0", "low", 1), podOn("low-1", "low", 1), podOn("mixed-0", "mixed", 1), podOn("mixed-1", "mixed", 7),
		podOn("sacred-0", "sacred", 1), podOn("orphan-0", "orphan", 1), podOn("lost-0", "unreadable", 1),
		podOn("single", "", 1),
	}
	gangs := gangsAround(pods, &atomic.Int32{}, groupOf("low", ""), groupOf("mixed", ""),
		groupOf("sacred", scheduling.NonPreemptible))
	for pod, may := range map[string]bool{
		"single":   true,
		"low-0":    true,
		"mixed-0":  false, // a sibling is not below
		"sacred-0": false,
		"orphan-0": true, // its PodGroup does not exist any more
		"lost-0":   false,
	} {
		victim := pods[slices.IndexFunc(pods, func(p *corev1.Pod) bool { return p.Name == pod })]
		assert.Equal(t, may, gangs.MayLeave(victim, 5), "pod %s may leave for priority 5", pod)
	}
	assert.False(t, gangs.MayLeave(pods[0], 1), "a gang may leave for a pod of its own priority")
}

func TestCompanionsOfVictims(t *testing.T) {
	elastic := groupOf("elastic", "")
	elastic.Spec.MinMember = ptr.To[int32](2)
	two := groupOf("two", "")
	two.Spec.MinMember = ptr.To[int32](2)
	unbound := podOn("two-unbound", "two", 1)
	unbound.Spec.NodeName = ""
	leaving := podOn("elastic-leaving", "elastic", 1)
	leaving.DeletionTimestamp = &metav1.Time{}
	pods := []*corev1.Pod{
		podOn("elastic-0", "elastic", 1), podOn("elastic-1", "elastic", 1), podOn("elastic-2", "elastic", 1), leaving,
		podOn("two-0", "two", 1), podOn("two-1", "two", 1), unbound, podOn("orphan-0", "orphan", 1),
		podOn("orphan-1", "orphan", 1),
		podOn("single", "", 1),
	}
	for name, c := range map[string]struct{ victims, companions string }{
		"a pod of no gang goes alone":                       {"single", ""},
		"one above the minimum goes alone":                  {"elastic-2", ""},
		"with one of the minimum the whole gang goes":       {"elastic-0 elastic-2", "elastic-1"},
		"those without a node have nothing to leave":        {"two-0", "two-1"},
		"without a PodGroup a gang is needed whole":         {"orphan-0", "orphan-1"},
		"several gangs at once, and those that go all ways": {"two-1 orphan-0 single", "orphan-1 two-0"},
	} {
		t.Run(name, func(t *testing.T) {
			gangs := gangsAround(pods, &atomic.Int32{}, elastic, two)
			victims := slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool {
				return !slices.Contains(strings.Fields(c.victims), pod.Name)
			})
			found, err := gangs.Companions(victims)
			require.NoError(t, err)
			names := []string{}
			for _, pod := range found {
				names = append(names, pod.Name)
			}
			slices.Sort(names)
			assert.Empty(t, cmp.Diff(strings.Fields(c.companions), names), "who leaves too")
		})
	}
	_, err := gangsAround(pods, &atomic.Int32{}).Companions(
		[]*corev1.Pod{podOn("lost-0", "unreadable", 1)})
	assert.Error(t, err, "the companions of a gang that cannot be read are known")
}

// kube-scheduler looks at nodes in parallel: each gang is read once, and the answers do not depend on the order of
// calls.
func TestGangsAreReadOnceHoweverManyNodesAreLookedAt(t *testing.T) {
	group := groupOf("gang", "")
	group.Spec.MinMember = ptr.To[int32](2)
	pods := []*corev1.Pod{podOn("gang-0", "gang", 1), podOn("gang-1", "gang", 1)}
	var reads atomic.Int32
	gangs := gangsAround(pods, &reads, group)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			found, err := gangs.Companions(pods[i%2 : i%2+1])
			if err != nil || len(found) != 1 || found[0] != pods[1-i%2] || !gangs.MayLeave(pods[0], 5) {
				t.Errorf("with %s leave %v (%v)", pods[i%2].Name, found, err)
			}
		})
	}
	all.Wait()
	assert.EqualValues(t, 1, reads.Load(), "the gang was read %d times", reads.Load())
}
