package compatibility_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"packtree.dev/e2e/compatibility"
	"packtree.dev/shared/api/crds"
)

// judged are breaks that were examined and affect no user, by the release and the message, with the reason.
var judged = map[string]string{
	"v0.1.0 topologies.kai.scheduler v1alpha1.spec.levels: there is another rule: " +
		hostsAreNarrowest: "it takes whatever the rule of before took, and levels with alias numa besides",
	"v0.1.0 dynamographdeployments.nvidia.com v1beta1.spec.components[].multinode.nodeCount: " +
		"its default was unset and is 2": "the number was required, so nothing that is stored lacks it",
}

const hostsAreNarrowest = "!self.exists(l, l.nodeLabel == 'kubernetes.io/hostname') || " +
	"self[size(self) - 1].nodeLabel == 'kubernetes.io/hostname' || " +
	"(size(self) > 1 && self[size(self) - 2].nodeLabel == 'kubernetes.io/hostname' && " +
	"((has(self[size(self) - 1].alias) && self[size(self) - 1].alias == 'numa') || " +
	"self[size(self) - 1].nodeLabel.lowerAscii().contains('numa')))"

// Today's definitions accept what the definitions of each release accepted, field by field.
func TestNoDefinitionTakesLessThanThoseOfAnyRelease(t *testing.T) {
	releases, err := compatibility.Releases("testdata")
	if err != nil || len(releases) == 0 {
		t.Fatalf("the releases are %v: %v", releases, err)
	}
	now, err := installed()
	require.NoError(t, err)
	found := map[string]bool{}
	for _, release := range releases {
		if len(release.Definitions) == 0 {
			t.Errorf("%s has no definitions", release.Version)
		}
		for _, before := range release.Definitions {
			at := slices.IndexFunc(now, func(d *definition) bool { return d.Name == before.Name })
			if at < 0 {
				t.Errorf("%s had %s, which is gone", release.Version, before.Name)
				continue
			}
			for _, broken := range breaksOf(before, now[at]) {
				message := release.Version + " " + broken.String()
				found[message] = true
				if judged[message] == "" {
					t.Errorf("%s: give the change a new version of the kind, or, if it hurts nobody, say so in judged",
						message)
				}
			}
		}
	}
	for message := range judged {
		if !found[message] {
			t.Errorf("judged has %q, which is no break any more: remove it", message)
		}
	}
}

// A release without objects of a kind would prove nothing about the kind.
func TestEveryReleaseHasObjectsOfEveryKindThatItDefines(t *testing.T) {
	releases, err := compatibility.Releases("testdata")
	require.NoError(t, err)
	for _, release := range releases {
		with := map[string]bool{}
		for _, object := range release.Objects {
			if status, _, _ := unstructured.NestedMap(object.Object, "status"); len(status) > 0 {
				with[object.GetKind()] = true
			}
		}
		for _, defined := range release.Definitions {
			kind := defined.Spec.Names.Kind
			// No program writes the status of KAI's Topology.
			if !with[kind] && kind != "Topology" {
				t.Errorf("%s has no %s with a status", release.Version, kind)
			}
		}
		if !with["Pod"] {
			t.Errorf("%s has no pods", release.Version)
		}
	}
}

func TestReleasesAreReadAsTheyWereWritten(t *testing.T) {
	folder := t.TempDir()
	all, err := installed()
	require.NoError(t, err)
	object := func(kind, name, uid string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "grove.io/v1alpha1", "kind": kind,
			"metadata": map[string]any{"name": name, "namespace": "n", "uid": uid, "resourceVersion": "7",
				"generation": int64(2)},
			"spec": map[string]any{"text": "a\n---\nb\n"},
		}}
	}
	for _, version := range []string{"v0.10.0", "v0.9.0"} {
		written := compatibility.Release{
			Version: version, Folder: filepath.Join(folder, version),
			Objects: []*unstructured.Unstructured{object("B", "b", "1"), object("A", "b", "2"), object("A", "a", "3")},
		}
		require.NoError(t, written.Write(crds.Files, []byte("nodes")))
	}
	releases, err := compatibility.Releases(folder)
	if err != nil || len(releases) != 2 || releases[0].Version != "v0.9.0" || releases[1].Version != "v0.10.0" {
		t.Fatalf("releases %v: %v", releases, err)
	}
	read := releases[0]
	assert.Empty(t, cmp.Diff(all, read.Definitions), "definitions (-written +read)")
	var uids []string
	for _, object := range read.Objects {
		uids = append(uids, string(object.GetUID()))
		if object.GetResourceVersion() != "" || object.GetGeneration() != 2 {
			t.Errorf("%s has resource version %q and generation %d", object.GetName(), object.GetResourceVersion(),
				object.GetGeneration())
		}
		if text, _, _ := unstructured.NestedString(object.Object, "spec", "text"); text != "a\n---\nb\n" {
			t.Errorf("the text became %q", text)
		}
	}
	assert.Empty(t, cmp.Diff([]string{"3", "2", "1"}, uids), "objects by UID (-want +got)")
}
