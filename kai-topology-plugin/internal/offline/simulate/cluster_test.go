package simulate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/kai-topology-plugin/internal/decide/planner"
	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/testsupport/related"
)

// In random states of related gangs, the simulator's request for each gang is the one made of manifests, which is the
// scheduler's.
func TestTheSimulatorAsksAsManifestsDo(t *testing.T) {
	mended, held := 0, 0
	for seed := range uint64(60) {
		cluster := related.Cluster(seed)
		s, err := newSimulator(t.Context(), cluster, Options{})
		require.NoError(t, err)
		s.now = 10
		for _, podGroup := range cluster.PodGroups {
			r := &run{podGroup: podGroup}
			for _, pod := range cluster.Members()[gang.KeyOfPodGroup(podGroup)] {
				if gang.Standing(pod) {
					r.standing = append(r.standing, pod)
				} else {
					r.pending = append(r.pending, pod)
				}
			}
			s.by[gang.KeyOfPodGroup(podGroup)] = r
			s.index.Add(podGroup)
		}
		table, err := turns.Set(t.Context(), cluster)
		require.NoError(t, err)
		for _, turn := range turns.In(cluster) {
			r := s.by[turn.Rank.Gang]
			assembled := s.assemble(r)
			hold := planner.Hold(present{simulator: s}, assembled, r.held)
			assert.Equal(t, hold != nil, table.Held(turn),
				"seed %d, gang %s: the simulator holds it for %v", seed, turn.Rank.Gang, hold)
			if hold != nil {
				held++
				continue
			}
			offline, err := table.Request(turn)
			require.NoError(t, err)
			simulated, err := s.request(r)
			require.NoError(t, err)
			assert.Empty(t, cmp.Diff(related.Asked(&offline), related.Asked(&simulated)),
				"seed %d, gang %s (-manifests +simulator)", seed, turn.Rank.Gang)
			if simulated.Mends {
				mended++
			}
		}
	}
	assert.NotZero(t, mended)
	assert.NotZero(t, held)
}
