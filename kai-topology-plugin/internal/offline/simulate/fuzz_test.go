package simulate_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"packtree.dev/kai-topology-plugin/internal/offline/simulate"
	"packtree.dev/shared/mutants"
)

// FuzzStream: each stream is refused with the line and the field, or can be simulated.
func FuzzStream(f *testing.F) {
	streams := []string{
		job(0, "a", 10, 2, "l/rack", 0) + job(1, "b", 5, 3, "l/zone", 5) + down(2, "r0-n0", true) + down(4, "r0-n0", false),
		whole(0, "a", 10, 2, 3, "") + job(3, "b", 2, 1, "", 1) + whole(3, "c", 10, 1, 1, `, "nodeSelector": {"l/rack": "r1"}`),
	}
	var lines []any
	for i, stream := range streams {
		var list []any
		require.NoError(f, json.Unmarshal([]byte("["+strings.ReplaceAll(strings.TrimSpace(stream), "\n", ",")+"]"), &list))
		lines = append(lines, list)
		f.Add(uint8(i), []byte(nil), false)
	}
	f.Fuzz(func(t *testing.T, seed uint8, program []byte, raw bool) {
		stream := program
		if !raw {
			stream = mutants.JSON(mutants.Of(lines[int(seed)%len(lines)], nil, program))
		}
		on := cluster(t, 2, 2)
		events, err := simulate.Read("jobs", bytes.NewReader(stream), on)
		if err != nil || bytes.Contains(stream, []byte("2147483647")) {
			return // So many pods take more memory than there is.
		}
		until := 1000.0
		result, err := simulate.Run(t.Context(), on, events, simulate.Options{Until: &until})
		require.NoError(t, err, "%v\n%s", err, stream)
		var printed bytes.Buffer
		if result.JSON(&printed) != nil || result.CSV(&printed) != nil || result.Summary(&printed) != nil {
			t.Fatalf("cannot be printed: %s", stream)
		}
	})
}
