package valuetables_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/e2e/valuetables"
)

const values = `# What the file is.

# How many
# there are.
replicas: 1
image:
  # Where it | comes from.
  repository: a/b
  policy: Always
# How it
# starts.
startup:
  labels: {a: b}
  list: [1, {x: y}]
empty: {}
`

const schema = `{"properties": {
  "replicas": {"type": "integer", "description": "not shown"},
  "image": {"description": "not shown", "properties": {
    "repository": {"type": "string"},
    "policy": {"type": "string", "enum": ["Always", "Never"], "description": "When."}}},
  "startup": {"properties": {
    "labels": {"type": "object", "description": "Labels <of it>."},
    "list": {"type": ["array", "null"], "description": "A list."}}},
  "empty": {"description": "Nothing.", "properties": {"x": {}}}}}`

func TestRows(t *testing.T) {
	got, err := valuetables.Rows([]byte(values), []byte(schema))
	require.NoError(t, err)
	want := []valuetables.Row{
		{Name: "replicas", Type: "integer", Default: "1", Meaning: "How many there are."},
		{Name: "image.repository", Type: "string", Default: `"a/b"`, Meaning: "Where it | comes from."},
		{Name: "image.policy", Type: "`Always`, `Never`", Default: `"Always"`, Meaning: "When."},
		{Name: "startup", Meaning: "How it starts."},
		{Name: "startup.labels", Type: "object", Default: `{"a":"b"}`, Meaning: "Labels <of it>."},
		{Name: "startup.list", Type: "array or null", Default: `[1,{"x":"y"}]`, Meaning: "A list."},
		{Name: "empty", Type: "any", Default: "{}", Meaning: "Nothing."},
	}
	assert.Empty(t, cmp.Diff(want, got), "rows (-want +got)")
}

func TestWhatNobodyExplainsIsAnError(t *testing.T) {
	_, err := valuetables.Rows([]byte("a: 1\nb:\n  c: 2\n  d: 3\n"),
		[]byte(`{"properties": {"a": {"type": "integer"}, "b": {"properties": {"c": {"description": "C."}}}}}`))
	for _, says := range []string{"values.yaml:1: a has no description",
		"values.yaml:4: b.d is not in values.schema.json"} {
		assert.ErrorContains(t, err, says)
	}
}

func TestTable(t *testing.T) {
	got := valuetables.Table([]valuetables.Row{
		{Name: "a", Meaning: "Of <a>."}, {Name: "a.b", Type: "`x`, `y`", Default: `"x|y"`, Meaning: "One | two."},
	})
	want :=
		"| value | type | default | meaning |\n|---|---|---|---|\n| `a` |  |  | Of &lt;a&gt;. |\n| `a.b` | `x`, " +
			"`y` | `\"x\\|y\"` | One \\| two. |\n"
	assert.Empty(t, cmp.Diff(want, got), "table (-want +got)")
}

func TestATableReplacesTheOneBefore(t *testing.T) {
	const begin = "<!-- values: made by make generate out of values.yaml and values.schema.json -->"
	const end = "<!-- end of values -->"
	first, err := valuetables.Replaced("# A\n\n"+begin+"\n"+end+"\n\n## B\n", "one\n")
	require.NoError(t, err)
	second, err := valuetables.Replaced(first, "two\n")
	require.NoError(t, err)
	assert.Empty(t, cmp.Diff("# A\n\n"+begin+"\n\ntwo\n\n"+end+"\n\n## B\n", second), "README (-want +got)")
	if _, err := valuetables.Replaced("# A\n", "one\n"); err == nil || !strings.Contains(err.Error(), end) {
		t.Errorf("a README without a place for the table: %v", err)
	}
}
