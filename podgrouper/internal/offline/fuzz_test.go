package offline_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/manifests"
	"packtree.dev/shared/mutants"

	"packtree.dev/podgrouper/internal/offline"
	"packtree.dev/podgrouper/internal/podgroups"
)

// FuzzRender: whatever is written, it is refused, or becomes PodGroups that are accepted and stay as they are. Owners of
// other kinds can have names and labels here that no API server takes.
func FuzzRender(f *testing.F) {
	keys := append(scheduling.CarriedAnnotations(), kai.AnnotationSegmentSize, kai.AnnotationSegmentRequired,
		kai.AnnotationTopology, kai.AnnotationTopologyRequired, kai.AnnotationTopologyPreferred)
	inputs := mutants.Files(f, keys, "testdata/*/input.yaml")
	f.Fuzz(func(t *testing.T, file uint8, program []byte) {
		documents, findings := manifests.Parse("in", inputs(file, program))
		objects, more := offline.Render(documents, podgroups.Defaults{})
		if refused(append(findings, more...)) {
			return
		}
		once := printed(t, objects)
		documents, findings = manifests.Parse("out", []byte(once))
		objects, more = offline.Render(documents, podgroups.Defaults{})
		all := append(findings, more...)
		if slices.ContainsFunc(all, func(f manifests.Finding) bool { return f.Path == "metadata.name" || f.Path == "metadata.labels" }) {
			return
		}
		require.False(t, refused(all), "what was made is refused: %v\n%s", all, once)
		require.Equal(t, once, printed(t, objects), "made")
	})
}

func refused(findings []manifests.Finding) bool {
	return slices.ContainsFunc(findings, func(f manifests.Finding) bool { return !f.Warning })
}
