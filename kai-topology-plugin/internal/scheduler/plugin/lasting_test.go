package plugin

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/scheduler/podgroupstatus"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Work that waits is dropped when it is done, and a process that does not lead never does it.
func TestAStandbyRemembersNoGangThatIsGone(t *testing.T) {
	bench := newBench(t, newNodes(1), nil, podGroup("stays", 1))
	looked := make(chan string, 1000)
	bench.plugin.effects.status = podgroupstatus.NewWriter(nil, func(key gang.Key) (podgroupstatus.Observed, error) {
		looked <- key.Name
		return podgroupstatus.Observed{}, apierrors.NewNotFound(scheduling.Resource("podgroups"), key.Name)
	}, nil, bench.plugin.gangs)
	for i := range 20 {
		gone := podGroup(fmt.Sprint("gone-", i), 1)
		bench.plugin.podGroupHandler().OnAdd(gone, false)
		bench.plugin.podGroupHandler().OnDelete(gone)
	}
	leading, known := make(chan struct{}), func() bool { return true }
	close(leading)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); bench.plugin.begin(ctx, known, leading) }()
	for name := ""; name != "stays"; {
		select {
		case name = <-looked:
			if strings.HasPrefix(name, "gone") {
				t.Fatalf("gang %s is looked at", name)
			}
		case <-time.After(time.Minute):
			t.Fatal("the gang that exists is not looked at")
		}
	}
	end()
	<-ended
}

// Kube-scheduler filters many nodes at a time, and each may turn the pod away.
func TestAPodIsTurnedAwayOnceInACycle(t *testing.T) {
	planned, plain := newPod("planned", "p"), newPod("", "plain")
	bench := newBench(t, newNodes(2), []*corev1.Pod{planned, plain}, podGroup("planned", 1))
	key, state := gang.Key{Namespace: "default", Name: "planned"}, framework.NewCycleState()
	all, err := bench.SnapshotSharedLister().NodeInfos().List()
	require.NoError(t, err)
	taken, err := bench.SnapshotSharedLister().NodeInfos().Get("n0")
	require.NoError(t, err)
	bench.planFor(t, key, planned, "n0")
	_, status := bench.plugin.PreFilter(t.Context(), state, plain, all)
	require.True(t, status.IsSuccess(), status.Message())
	for _, called := range []bool{true, false} {
		bench.activator.reset()
		require.False(t, bench.plugin.Filter(t.Context(), state, plain, taken).IsSuccess(), "the room is taken")
		bench.planFor(t, key, planned, "n0")
		bench.plugin.effects.do(bench.plugin.gangs.Break(key, "", "test"))
		assert.Equal(t, called, bench.activator.called("plain"), "turned away: %t", !called)
	}
}
