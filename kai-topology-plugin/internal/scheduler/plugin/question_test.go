package plugin

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	kruntime "k8s.io/apimachinery/pkg/runtime"

	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/testsupport/related"
)

// In random states of related gangs, the scheduler's request for each gang is the one made of manifests. The test of
// the simulator's requests compares with these, too.
func TestTheSchedulerAsksAsManifestsDo(t *testing.T) {
	led, others, mended, lacking, stopped := 0, 0, 0, 0, 0
	for seed := range uint64(60) {
		cluster := related.Cluster(seed)
		objects := []kruntime.Object{cluster.Topologies["t"]}
		for _, podGroup := range cluster.PodGroups {
			objects = append(objects, podGroup)
		}
		bench := newBench(t, cluster.Nodes, cluster.Pods, objects...)
		table, err := turns.Set(t.Context(), cluster)
		require.NoError(t, err)
		infos, err := bench.SnapshotSharedLister().NodeInfos().List()
		require.NoError(t, err)
		for _, turn := range turns.In(cluster) {
			asked, held, err := bench.plugin.read(turn.Rank.Gang, nil, infos)
			require.NoError(t, err)
			assert.Equal(t, held != nil, table.Held(turn),
				"seed %d, gang %s: the scheduler holds it for %v", seed, turn.Rank.Gang, held)
			if held != nil {
				if turn.Gang.Mends() {
					stopped++
				}
				continue
			}
			offline, err := table.Request(turn)
			require.NoError(t, err)
			live, _, err := bench.plugin.ask(asked.Gang, asked.lacks, infos)
			require.NoError(t, err)
			assert.Empty(t, cmp.Diff(related.Asked(&offline), related.Asked(&live)),
				"seed %d, gang %s (-manifests +scheduler)", seed, turn.Rank.Gang)
			led, others = led+len(live.Followers), others+len(live.Gang.Shared.Others)
			if live.Mends {
				mended++
			}
			if live.Lacks != nil {
				lacking++
			}
		}
	}
	if led == 0 || others == 0 || mended == 0 || lacking == 0 || stopped == 0 {
		t.Errorf("%d gangs were led, %d related, %d mended, %d of these lacked pods, and %d were stopped",
			led, others, mended, lacking, stopped)
	}
}
