package v1alpha1_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/api/dynamo/v1alpha1"
)

func TestServicesAreReadAsListOrMap(t *testing.T) {
	for name, c := range map[string]struct{ written, want string }{
		"a list keeps its order":    {`[{"name":"B"},{"name":"A"}]`, `[{"name":"B"},{"name":"A"}]`},
		"a map is sorted by name":   {`{"B":{"replicas":2},"A":null}`, `[{"name":"A"},{"name":"B","replicas":2}]`},
		"a name may be said twice":  {`{"A":{"name":"A"}}`, `[{"name":"A"}]`},
		"an empty map is no list":   {`{}`, `[]`},
		"a pod spec has what it is": {`[{"name":"A","extraPodSpec":{"mainContainer":{"image":"i"}}}]`, ``},
		"without a main container":  {`[{"name":"A","extraPodSpec":{"hostNetwork":true}}]`, ``},
		"an image-less extra spec":  {`[{"name":"A","extraPodSpec":{}}]`, ``},
		"all of it in sidecars":     {`[{"name":"A","extraPodSpec":{"containers":[{"name":"s","resources":{}}]}}]`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			var services v1alpha1.Services
			require.NoError(t, json.Unmarshal([]byte(c.written), &services))
			want := c.want
			if want == "" {
				want = c.written
			}
			assert.Empty(t, cmp.Diff(decoded(t, []byte(want)), decoded(t, encoded(t, services))),
				"read back differently (-want +got)")
		})
	}
}

func TestAServiceNamedTwiceIsAnError(t *testing.T) {
	var services v1alpha1.Services
	assert.Error(t, json.Unmarshal([]byte(`{"A":{"name":"B"}}`), &services), "want an error, got %v", services)
}

func TestWhatIsNeitherListNorMapIsAnError(t *testing.T) {
	for _, written := range []string{"3", `"A"`, "true"} {
		var services v1alpha1.Services
		err := json.Unmarshal([]byte(written), &services)
		assert.EqualError(t, err, "services must be a list of services, or a map of them by name",
			"%s: got %v", written, services)
	}
}

func encoded(t *testing.T, value any) []byte {
	t.Helper()
	written, err := json.Marshal(value)
	require.NoError(t, err)
	return written
}

func decoded(t *testing.T, written []byte) any {
	t.Helper()
	var value any
	require.NoError(t, json.Unmarshal(written, &value))
	return value
}
