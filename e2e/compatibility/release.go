package compatibility

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"
)

// Release is what a release leaves in a cluster.
type Release struct {
	// Version of the kinds: the tag shared/<version>.
	Version string
	// Folder with the files: crds, nodes.yaml and objects.yaml.
	Folder string
	// Definitions of its kinds.
	Definitions []*apiextensionsv1.CustomResourceDefinition
	// Objects are the inputs and results of its programs, as they were stored.
	Objects []*unstructured.Unstructured
}

const (
	// definitionsFolder has a file for each definition, named as in shared/api/crds.
	definitionsFolder = "crds"
	objectsFile       = "objects.yaml"
	nodesFile         = "nodes.yaml"
)

// DefinitionsFolder is the folder of the release's definitions.
func (r Release) DefinitionsFolder() string { return filepath.Join(r.Folder, definitionsFolder) }

// NodesFile has the nodes of the objects' pods.
func (r Release) NodesFile() string { return filepath.Join(r.Folder, nodesFile) }

// Releases reads the releases below a folder, oldest first.
func Releases(folder string) ([]Release, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("looking for releases: %w", err)
	}
	var versions []*version.Version
	for _, entry := range entries {
		if parsed, err := version.ParseSemantic(entry.Name()); err == nil {
			versions = append(versions, parsed)
		}
	}
	slices.SortFunc(versions, func(a, b *version.Version) int {
		if a.LessThan(b) {
			return -1
		}
		return 1
	})
	var all []Release
	for _, parsed := range versions {
		name := "v" + parsed.String()
		release, err := readRelease(name, filepath.Join(folder, name))
		if err != nil {
			return nil, fmt.Errorf("reading release %s: %w", name, err)
		}
		all = append(all, release)
	}
	return all, nil
}

func readRelease(name, folder string) (Release, error) {
	release := Release{Version: name, Folder: folder}
	files, err := filepath.Glob(filepath.Join(release.DefinitionsFolder(), "*.yaml"))
	if err != nil {
		return Release{}, err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return Release{}, err
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(content, definition); err != nil {
			return Release{}, fmt.Errorf("%s: %w", file, err)
		}
		release.Definitions = append(release.Definitions, definition)
	}
	content, err := os.ReadFile(filepath.Join(folder, objectsFile))
	if err != nil {
		return Release{}, err
	}
	release.Objects, err = parseObjects(content)
	return release, err
}

const separator = "---\n"

func parseObjects(content []byte) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for document := range bytes.SplitSeq(content, []byte("\n"+separator)) {
		// The last line break is part of a text at the end.
		written, err := yaml.YAMLToJSON(append(bytes.Clone(document), '\n'))
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(written); err != nil {
			return nil, err
		}
		all = append(all, object)
	}
	return all, nil
}

// Write stores a release's objects in its folder, with the definition files as they are, and the nodes.
func (r Release) Write(definitions fs.FS, nodes []byte) error {
	if err := os.CopyFS(r.DefinitionsFolder(), definitions); err != nil {
		return err
	}
	var objects [][]byte
	for _, object := range sorted(r.Objects) {
		content, err := yaml.Marshal(asStored(object).Object)
		if err != nil {
			return err
		}
		objects = append(objects, content)
	}
	if err := os.WriteFile(filepath.Join(r.Folder, objectsFile), bytes.Join(objects, []byte(separator)),
		0o600); err != nil {
		return err
	}
	return os.WriteFile(r.NodesFile(), nodes, 0o600)
}

// asStored is an object without fields that the API server adds on reading.
func asStored(object *unstructured.Unstructured) *unstructured.Unstructured {
	stored := object.DeepCopy()
	stored.SetResourceVersion("")
	return stored
}

// sorted orders objects by kind and name, so that a diff of two releases shows only differences.
func sorted(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.SortedFunc(slices.Values(objects), func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetNamespace(), b.GetNamespace()),
			cmp.Compare(a.GetName(), b.GetName()))
	})
}
