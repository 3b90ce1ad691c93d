package manifests_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"packtree.dev/shared/manifests"
)

// wide writes each letter as two bytes.
func wide(text string) string { return strings.Join(strings.Split(text, ""), "\x00") + "\x00" }

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		want    []string
		wrong   []string
	}{
		"many documents, empty ones not counted": {
			content: "# only a comment\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\n---\napiVersion: v1\nkind: " +
				"Node\nmetadata: {name: b}\n",
			want: []string{"f[1] Pod a", "f[2] Node b"},
		},
		"a list is taken apart": {
			content: `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}},{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}}]}`,
			want:    []string{"f[1] Pod a", "f[1] Pod b"},
		},
		"JSON documents one after the other": {
			content: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}} {"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}}`,
			want:    []string{"f[1] Pod a", "f[2] Pod b"},
		},
		"text of JSON in which YAML would see a line break, a control character, or a key that is too long": {
			content: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a` + "\u0085\u007f" + `b"},"` +
				strings.Repeat("k", 2000) + `":1}`,
			want: []string{"f[1] Pod a\u0085\u007fb"},
		},
		"a field of JSON written twice": {
			content: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","name":"b"}} {"apiVersion":"v1","kind":"Pod","metadata":{"name":"c"}}`,
			want:    []string{"f[2] Pod c"},
			wrong:   []string{`f[1]: duplicate field "metadata.name"`},
		},
		"a flow mapping is YAML, not JSON": {
			content: "{apiVersion: v1, kind: Pod, metadata: {name: a}}",
			want:    []string{"f[1] Pod a"},
		},
		"a malformed document does not hide the next": {
			content: "apiVersion: v1\nkind: [\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n",
			want:    []string{"f[2] Pod a"},
			wrong:   []string{"f[1]: yaml: line 2: did not find expected node content"},
		},
		"a key written twice": {
			content: "apiVersion: v1\nkind: Pod\nspec: {}\nspec: {}\n",
			wrong:   []string{`f[1]: yaml: unmarshal errors:;   line 4: key "spec" already set in map`},
		},
		"a merged mapping with a key of its own is no key written twice": {
			content: "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - &main {name: x, image: " +
				"i}\n  - <<: *main\n    name: y\n",
			want: []string{"f[1] Pod a"},
		},
		"but beside it a key can be written twice": {
			content: "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - &main {name: x, image: " +
				"i}\n  - <<: *main\n    args: []\n    args: []\n",
			wrong: []string{`f[1]: yaml: unmarshal errors:;   line 9: key "args" already set in map`},
		},
		"files run together without a separator": {
			content: "# a\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n# b\nkind: Pod\napiVersion: " +
				"v1\nmetadata:\n  name: b\n" +
				"  annotations:\n    note: |\n      kind: x\n      kind: y\n",
			want: []string{"f[1] Pod a", "f[2] Pod b"},
		},
		"a second kind is not a second document": {
			content: "apiVersion: v1\nkind: Pod\nkind: Node\nmetadata: {name: a}\n",
			wrong: []string{
				"f[1]: Pod: metadata.name: Required value",
				"f[2]: Node a: apiVersion: Required value: every manifest has one, such as v1",
			},
		},
		"no kind": {
			content: "apiVersion: v1\nmetadata: {name: a}\n",
			wrong:   []string{"f[1]: kind: Required value: every manifest has one, such as Pod"},
		},
		"a version that does not exist, or of a group that is missing": {
			content: "apiVersion: v2\nkind: Pod\nmetadata: {name: a}\n---\n" +
				"apiVersion: kai.scheduler/v1/x\nkind: Topology\nmetadata: {name: a}\n",
			wrong: []string{
				`f[1]: Pod a: apiVersion: is v1, or a group and a version such as batch/v1, not "v2"`,
				`f[2]: Topology a: apiVersion: is v1, or a group and a version such as batch/v1, not "kai.scheduler/v1/x"`,
			},
		},
		"names that are no text until they are quoted": {
			content: "apiVersion: v1\nkind: Pod\nmetadata: {name: 12}\n---\n" +
				"apiVersion: v1\nkind: Pod\nmetadata: {name: n}\n---\n" +
				"apiVersion: 1\nkind: Pod\nmetadata: {name: a}\n",
			wrong: []string{
				"f[1]: Pod: metadata.name: must be a string, in quotes, not 12",
				"f[2]: Pod: metadata.name: must be a string, in quotes, not false",
				"f[3]: Pod a: apiVersion: must be a string, in quotes, not 1",
			},
		},
		"the text of PowerShell": {
			content: "\xff\xfe" + wide("apiVersion: v1\r\nkind: Pod\r\nmetadata: {name: a}\r\n---\r\n"+
				"apiVersion: v1\r\nkind: Pod\r\n"+
				"metadata: {name: b}\r\n"),
			want: []string{"f[1] Pod a", "f[2] Pod b"},
		},
		"the same from the other end": {
			content: "\xfe\xff\x00{\x00k\x00i\x00n\x00d\x00:\x00 \x00P\x00}",
			wrong:   []string{"f[1]: P: apiVersion: Required value: every manifest has one, such as v1"},
		},
		"a mark before the text": {
			content: "\ufeffapiVersion: v1\nkind: Pod\nmetadata: {name: a}\n",
			want:    []string{"f[1] Pod a"},
		},
		"no name": {
			content: "apiVersion: v1\nkind: Pod\n",
			wrong:   []string{"f[1]: Pod: metadata.name: Required value"},
		},
		"a scalar": {
			content: "just text\n",
			wrong:   []string{"f[1]: a manifest is a mapping with apiVersion and kind, not a single value"},
		},
		"a list": {
			content: "- a\n",
			wrong:   []string{"f[1]: a manifest is a mapping with apiVersion and kind, not a list"},
		},
		"what YAML allows around a separator": {
			content: "%YAML 1.1\n--- # one\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n...\n%YAML 1.1\n--- {apiVersion: " +
				"v1, kind: Pod, metadata: {name: b}}\n---\t{apiVersion: v1, kind: Pod,\n" +
				"metadata: {name: c}}\n",
			want: []string{"f[1] Pod a", "f[2] Pod b", "f[3] Pod c"},
		},
		"what looks like a directive and is text": {
			content: "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\ndata: the\n%YAML 1.1\n",
			want:    []string{"f[1] Pod a"},
		},
		"lists of nothing": {
			content: "{apiVersion: v1, kind: List}\n---\n{apiVersion: v1, kind: List, items: null}\n---\n{apiVersion: v1, " +
				"kind: PodList, items: null}\n",
		},
		"a kind that is called like a list and is none": {
			content: "{apiVersion: x/v1, kind: AllowList, metadata: {name: a}}\n",
			want:    []string{"f[1] AllowList a"},
		},
		"items of a list of one kind": {
			content: `{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"a"}},{"apiVersion":"v1","kind":"Node","metadata":{"name":"b"}}]}`,
			want:    []string{"f[1] Pod a", "f[1] Node b"},
		},
		"an item that is no object": {
			content: "apiVersion: v1\nkind: List\nitems: [3]\n",
			wrong:   []string{"f[1]: List: items[0]: must be an object"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			documents, findings := manifests.Parse("f", []byte(c.content))
			var got, wrong []string
			for _, document := range documents {
				got = append(got,
					strings.Join([]string{document.Source, document.Object.GetKind(), document.Object.GetName()}, " "))
			}
			for _, finding := range findings {
				wrong = append(wrong, finding.String())
			}
			assert.Empty(t, cmp.Diff(c.want, got), "documents (-want +got)")
			assert.Empty(t, cmp.Diff(c.wrong, wrong), "findings (-want +got)")
		})
	}
}

func TestReadTakesADirectoryInOrder(t *testing.T) {
	dir := t.TempDir()
	for name, object := range map[string]string{"b.yaml": "b", "a.json": "a", "c.yml": "c", "notes.txt": "x"} {
		content := `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "` + object + `"}}`
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	documents, findings := manifests.Read([]string{dir, "-"},
		strings.NewReader("apiVersion: v1\nkind: Pod\nmetadata: {name: d}\n"))
	var names string
	for _, document := range documents {
		names += document.Object.GetName()
	}
	assert.Equal(t, "abcd", names)
	assert.Empty(t, findings)
}

func TestReadNamesTheFileThatIsMissing(t *testing.T) {
	for path, want := range map[string]string{
		"/nowhere/x.yaml": "/nowhere/x.yaml: no such file or directory",
		"":                `"": must name a file or directory, or be - for standard input`,
	} {
		_, findings := manifests.Read([]string{path}, nil)
		require.Len(t, findings, 1, "reading %q: findings", path)
		assert.Equal(t, want, findings[0].String(), "reading %q: findings", path)
	}
}

func TestDecodeIntoIsStrict(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"an unknown field comes with a suggestion": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: ns}\nspec: {containers: [{name: c, imag: x}]}",
			`f[1]: Pod ns/a: spec.containers[0].imag: unknown field, did you mean "image"?`,
		},
		"a wrong type names the field": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {priority: high}",
			`f[1]: Pod default/a: spec.priority: must be a whole number, not "high"`,
		},
		"a field in another case is another field": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {nodename: n1}",
			`f[1]: Pod default/a: spec.nodename: unknown field, did you mean "nodeName"?`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			documents, _ := manifests.Parse("f", []byte(c.content))
			findings := documents[0].DecodeInto(&corev1.Pod{})
			require.Len(t, findings, 1)
			assert.Equal(t, c.want, findings[0].String())
		})
	}
}

func TestDecodeStrictFindsEverythingAtOnce(t *testing.T) {
	written :=
		`{"spec": {"nodeNme": "n", "hostNetwork": "yes", "terminationGracePeriodSeconds": 99999999999999999999, "priority": 4000000000,
"containers": [
  {"name": "a", "env": [{"name": "PORT", "value": 8000}, {"name": "DEBUG", "value": true}], "resources": {"limits": {"cpu": "lots", "memory": "1Gi"}}},
  {"name": 7, "args": "--x", "imag": "x", "ports": [{"containerPort": "http"}], "livenessProbe": {"httpGet": {"port": true}}},
  "c"],
"nodeSelector": {"a/b": 1}, "tolerations": {"key": "x"}}, "metadata": {"creationTimestamp": "today"}}`
	var got []string
	for _, problem := range manifests.DecodeStrict([]byte(written), &corev1.Pod{}) {
		got = append(got, problem.Path+": "+problem.Reason)
	}
	want := []string{
		`metadata.creationTimestamp: must be a time such as 2006-01-02T15:04:05Z, not "today"`,
		`spec.containers[0].env[0].value: must be a string, in quotes, not 8000`,
		`spec.containers[0].env[1].value: must be a string, in quotes, not true`,
		`spec.containers[0].resources.limits[cpu]: must be an amount such as 4, 500m or 16Gi, not "lots"`,
		`spec.containers[1].args: must be a list, not "--x"`,
		`spec.containers[1].livenessProbe.httpGet.port: must be a whole number or a string, not true`,
		`spec.containers[1].name: must be a string, in quotes, not 7`,
		`spec.containers[1].ports[0].containerPort: must be a whole number, not "http"`,
		`spec.containers[2]: must be an object, not "c"`,
		`spec.hostNetwork: must be true or false, not "yes"`,
		`spec.nodeSelector[a/b]: must be a string, in quotes, not 1`,
		`spec.priority: must be a whole number from -2147483648 to 2147483647, not 4000000000`,
		`spec.terminationGracePeriodSeconds: must be a whole number from -9223372036854775808 to 9223372036854775807, not 100000000000000000000`,
		`spec.tolerations: must be a list, not an object`,
		`spec.containers[1].imag: unknown field, did you mean "image"?`,
		`spec.nodeNme: unknown field, did you mean "nodeName"?`,
	}
	assert.Empty(t, cmp.Diff(want, got), "problems (-want +got)")
}

func TestDecodeStrictReportsWhatIsNoObject(t *testing.T) {
	for written, want := range map[string]string{
		`[]`:           "must be an object, not a list",
		`{"spec": {]}`: "invalid character ']' looking for beginning of object key string",
	} {
		problems := manifests.DecodeStrict([]byte(written), &corev1.Pod{})
		assert.Empty(t, cmp.Diff([]manifests.Problem{{Reason: want}}, problems), "%s: problems (-want +got)", written)
	}
}

func TestWriteIsReadBack(t *testing.T) {
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	for _, format := range []manifests.Format{manifests.YAML, manifests.JSON} {
		t.Run(string(format), func(t *testing.T) {
			var printed bytes.Buffer
			require.NoError(t, manifests.Write(&printed, format, []runtime.Object{pod, pod}))
			assert.NotContains(t, printed.String(), "creationTimestamp", "unset fields are printed")
			assert.NotContains(t, printed.String(), "status", "unset fields are printed")
			documents, findings := manifests.Parse("f", printed.Bytes())
			if len(documents) != 2 || len(findings) != 0 || documents[1].Object.GetName() != "a" {
				t.Errorf("read back %v, findings %v", documents, findings)
			}
		})
	}
}

func TestWriteRefusesAnObjectWithoutKind(t *testing.T) {
	assert.Error(t, manifests.Write(&bytes.Buffer{}, manifests.YAML, []runtime.Object{&corev1.Pod{}}),
		"an object without kind was printed")
}
