package kueue

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestKindsAreConvertedWhereKueueHasThemConverted(t *testing.T) {
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "kustomization.yaml"), []byte(`
resources:
- bases/kueue.x-k8s.io_workloads.yaml
- bases/kueue.x-k8s.io_topologies.yaml
patches:
- path: patches/webhook_in_workloads.yaml
#- path: patches/webhook_in_topologies.yaml
- path: patches/cainjection_in_topologies.yaml
`), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := convertedIn(directory)
	if want := []string{"workloads"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}
