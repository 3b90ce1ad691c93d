package manifests

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

var extensions = []string{".yaml", ".yml", ".json"}

// Read returns the documents of the named files in order. "-" is standard input, and a directory means its *.yaml,
// *.yml and *.json, sorted by name. Lists are split into their items. Each input that cannot be read is a finding.
func Read(paths []string, stdin io.Reader) ([]Document, []Finding) {
	var documents []Document
	var findings []Finding
	for _, path := range paths {
		files, err := filesOf(path)
		if err != nil {
			findings = append(findings, Finding{Source: cmp.Or(path, `""`), Reason: err.Error()})
		}
		for _, file := range files {
			content, err := contentOf(file, stdin)
			if err != nil {
				findings = append(findings, Finding{Source: file, Reason: err.Error()})
				continue
			}
			read, wrong := Parse(file, content)
			documents, findings = append(documents, read...), append(findings, wrong...)
		}
	}
	return documents, findings
}

func filesOf(path string) ([]string, error) {
	switch path {
	case "-":
		return []string{path}, nil
	case "":
		return nil, errors.New("must name a file or directory, or be - for standard input")
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, reasonOf(err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, reasonOf(err)
	}
	var files []string
	for _, entry := range entries {
		if !entry.IsDir() && slices.Contains(extensions, filepath.Ext(entry.Name())) {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	if len(files) == 0 {
		return nil, errors.New("the directory has no *.yaml, *.yml or *.json file")
	}
	return files, nil
}

func contentOf(file string, stdin io.Reader) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(stdin)
	}
	content, err := os.ReadFile(file)
	return content, reasonOf(err)
}

// reasonOf drops the path from an error of the file system: the finding has it already.
func reasonOf(err error) error {
	var located *os.PathError
	if errors.As(err, &located) {
		return located.Err
	}
	return err
}

// Parse returns the documents of one file's content.
func Parse(file string, content []byte) ([]Document, []Finding) {
	var documents []Document
	var findings []Finding
	number := 0
	take := func(object map[string]any, err error) {
		number++
		source := fmt.Sprintf("%s[%d]", file, number)
		if err != nil {
			findings = append(findings, Finding{Source: source, Reason: err.Error()})
			return
		}
		read, wrong := objectsOf(source, object)
		documents, findings = append(documents, read...), append(findings, wrong...)
	}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(withPlainSeparators(inUTF8(content)))))
	for {
		chunk, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return documents, findings
		}
		if err != nil {
			take(nil, err)
			return documents, findings
		}
		parseChunk(chunk, take)
	}
}

// parseChunk parses the text between two separators: one YAML document, or any number of JSON documents.
func parseChunk(chunk []byte, take func(map[string]any, error)) {
	if !bytes.HasPrefix(bytes.TrimSpace(chunk), []byte("{")) {
		for _, part := range splitConcatenated(chunk) {
			object, err := parseYAML(part)
			if object != nil || err != nil {
				take(object, err)
			}
		}
		return
	}
	decoder := json.NewDecoder(bytes.NewReader(chunk))
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			// A flow mapping of YAML starts like JSON does.
			take(parseYAML(chunk))
			return
		}
		take(parseJSON(raw))
	}
}

// splitConcatenated splits what `cat a.yaml b.yaml` joins if b does not start with a separator: an apiVersion or kind
// at the beginning of a line, in a document that has one already, starts the next document. In one document it could
// only be a mistake.
func splitConcatenated(chunk []byte) [][]byte {
	var parts [][]byte
	seen := map[string]bool{}
	start, offset := 0, 0
	for line := range bytes.Lines(chunk) {
		key, _, isKey := bytes.Cut(line, []byte(":"))
		if name := string(key); isKey && (name == "apiVersion" || name == "kind") {
			if seen[name] {
				parts = append(parts, chunk[start:offset])
				start, seen = offset, map[string]bool{}
			}
			seen[name] = true
		}
		offset += len(line)
	}
	return append(parts, chunk[start:])
}

// parseYAML returns nil and no error for a document without content. Duplicate keys are an error.
func parseYAML(chunk []byte) (map[string]any, error) {
	asJSON, err := yaml.YAMLToJSONStrict(chunk)
	if err != nil && onlyMergedTwice(chunk) {
		asJSON, err = yaml.YAMLToJSON(chunk)
	}
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "))
	}
	return parseJSON(asJSON)
}

// parseJSON reads a document as an API server does, but repeated fields are an error.
func parseJSON(raw []byte) (map[string]any, error) {
	var value any
	repeated, err := kjson.UnmarshalStrict(raw, &value)
	if err := errors.Join(append(repeated, err)...); err != nil {
		return nil, err
	}
	switch value := value.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return value, nil
	case []any:
		return nil, errors.New("a manifest is a mapping with apiVersion and kind, not a list")
	default:
		return nil, errors.New("a manifest is a mapping with apiVersion and kind, not a single value")
	}
}

func objectsOf(source string, content map[string]any) ([]Document, []Finding) {
	object := &unstructured.Unstructured{Object: content}
	if finding, ok := incomplete(source, object); ok {
		return nil, []Finding{finding}
	}
	if !isList(object) {
		return []Document{{Source: source, Object: object}}, nil
	}
	var documents []Document
	var findings []Finding
	items, _, _ := unstructured.NestedSlice(content, "items")
	for i, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			path := fmt.Sprintf("items[%d]", i)
			findings = append(findings, Finding{Source: source, Kind: object.GetKind(), Path: path,
				Reason: "must be an object"})
			continue
		}
		lendKind(fields, object)
		read, wrong := objectsOf(source, fields)
		documents, findings = append(documents, read...), append(findings, wrong...)
	}
	return documents, findings
}

// isList also recognizes empty lists, with items that Go writes as null.
func isList(object *unstructured.Unstructured) bool {
	items, written := object.Object["items"]
	generic := object.GetAPIVersion() == "v1" && object.GetKind() == "List"
	return object.IsList() || items == nil && (generic || written && strings.HasSuffix(object.GetKind(), "List"))
}

// lendKind gives an item of a list of one kind, such as a PodList, the kind that API servers leave out.
func lendKind(item map[string]any, list *unstructured.Unstructured) {
	kind := strings.TrimSuffix(list.GetKind(), "List")
	if item["apiVersion"] == nil && item["kind"] == nil && kind != "" {
		item["apiVersion"], item["kind"] = list.GetAPIVersion(), kind
	}
}

func incomplete(source string, object *unstructured.Unstructured) (Finding, bool) {
	finding := Finding{Source: source, Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName()}
	for _, path := range [][]string{{"apiVersion"}, {"kind"}, {"metadata", "name"}} {
		// Unquoted, 12 is a number and n is false, although the user meant a name.
		value, written, _ := unstructured.NestedFieldNoCopy(object.Object, path...)
		if _, text := value.(string); written && value != nil && !text {
			finding.Path = strings.Join(path, ".")
			finding.Reason = fmt.Sprintf("must be %s, not %s", wanted(value, reflect.TypeFor[string]()), found(value))
			return finding, true
		}
	}
	switch {
	case object.GetAPIVersion() == "":
		finding.Path, finding.Reason = "apiVersion", "Required value: every manifest has one, such as v1"
	case object.GetKind() == "":
		finding.Path, finding.Reason = "kind", "Required value: every manifest has one, such as Pod"
	case !isList(object) && object.GetName() == "" && object.GetGenerateName() == "":
		finding.Path, finding.Reason = "metadata.name", "Required value"
	case !named(object.GetAPIVersion()):
		finding.Path = "apiVersion"
		finding.Reason = fmt.Sprintf("is v1, or a group and a version such as batch/v1, not %q", object.GetAPIVersion())
	default:
		return Finding{}, false
	}
	return finding, true
}

// named reports whether an apiVersion has a group, or is the only one without a name.
func named(apiVersion string) bool {
	version, err := schema.ParseGroupVersion(apiVersion)
	return err == nil && (version.Group != "" || version.Version == "v1")
}
