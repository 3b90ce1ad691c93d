package pages_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/e2e/pages"
)

const page = "# One page\n" +
	"A [link](other.md#there) and ![a picture](images/a.svg).\n\n" +
	"## One page\n\n" +
	"```yaml\nkind: Pod\n```\n\n" +
	"<!-- not run: needs\n     a registry -->\n" +
	"```sh\nmake images\n```\n\n" +
	"1. in a list:\n\n   <!-- saved as: a.yaml -->\n   <!-- values of: packtree -->\n   ```yaml\n   a: b\n   ```\n\n" +
	"words\n\n    indented\n\n" +
	"<!-- made by a program -->\n\nwords\n\n```\ntext\n```\n"

func TestParse(t *testing.T) {
	got, err := pages.Parse("docs/page.md", []byte(page))
	require.NoError(t, err)
	want := pages.Page{
		File:    "docs/page.md",
		Anchors: []string{"one-page", "one-page-1"},
		Links:   []pages.Link{{Destination: "other.md#there", Line: 2}, {Destination: "images/a.svg", Line: 2}},
		Blocks: []pages.Block{
			{Page: "docs/page.md", Line: 7, Language: "yaml", Code: "kind: Pod\n"},
			{Page: "docs/page.md", Line: 13, Language: "sh", Code: "make images\n",
				Mark: pages.Mark{How: pages.NotRun, Detail: "needs a registry"}},
			{Page: "docs/page.md", Line: 21, Language: "yaml", Code: "a: b\n",
				Mark: pages.Mark{How: pages.ValuesOf, Detail: "packtree"}, SavedAs: "a.yaml"},
			{Page: "docs/page.md", Line: 26, Language: "indented", Code: "indented\n"},
			{Page: "docs/page.md", Line: 33, Code: "text\n"},
		},
	}
	assert.Empty(t, cmp.Diff(want, got), "page (-want +got)")
}

func TestASlipInAMarkIsAnError(t *testing.T) {
	for comment, says := range map[string]string{
		"not run":             "has to say more",
		"not run:":            "has to say more",
		"not tested: too big": "is no mark",
		"values: packtree":    "is no mark",
	} {
		_, err := pages.Parse("p.md", []byte("<!-- "+comment+" -->\n```sh\ntrue\n```\n"))
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "p.md:3") {
			t.Errorf("%q: want an error at p.md:3 that says %q, got: %v", comment, says, err)
		}
	}
}

func TestExchanges(t *testing.T) {
	got := pages.Exchanges("before\n$ kubectl get a |\n  sort\nNAME\na   1\n\n$ echo \\\n  b\n$ true\n")
	want := []pages.Exchange{
		{Command: "kubectl get a |\n  sort", Answer: []string{"NAME", "a   1"}},
		{Command: "echo \\\n  b"},
		{Command: "true"},
	}
	assert.Empty(t, cmp.Diff(want, got), "exchanges (-want +got)")
}

func TestShows(t *testing.T) {
	for name, example := range map[string]struct {
		answer []string
		output string
		lacks  string
	}{
		"blanks do not count":                         {[]string{"NAME  AGE"}, "NAME       AGE   \n", ""},
		"an ellipsis stands for anything":             {[]string{"a … d"}, "a b c d\n", ""},
		"an ellipsis alone stands for lines":          {[]string{"a", "…", "c"}, "a\nb\nc\n", ""},
		"a line that is not there is missing":         {[]string{"a", "b"}, "a\nc\n", "b"},
		"a part of a line is not the line":            {[]string{"a"}, "a b\n", "a"},
		"lines in another order are not the answer":   {[]string{"b", "a"}, "a\nb\n", "a"},
		"what a pattern would mean is meant as it is": {[]string{"a.c [1]"}, "abc [1]\n", "a.c [1]"},
	} {
		missing, ok := pages.Exchange{Answer: example.answer}.Shows(example.output)
		if missing != example.lacks || ok != (example.lacks == "") {
			t.Errorf("%s: missing %q, shown %t; want missing %q", name, missing, ok, example.lacks)
		}
	}
}
