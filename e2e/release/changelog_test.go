package release_test

import (
	"strings"
	"testing"

	"packtree.dev/e2e/release"
)

func TestAChangelogIsReadableAndWhole(t *testing.T) {
	const good = "# shared v0.2.0\n\nFaster, in two lines of\none paragraph.\n\n## Upgrading\n\nSet `a`.\n\n## " +
		"Added\n\n### Of *one* kind\n\n- A.\n\n## Removed\n\n- B.\n"
	for name, test := range map[string]struct{ text, want string }{
		"a whole one":  {good, ""},
		"an empty one": {"\n", `write "# shared v0.2.0"`},
		"that of another version": {strings.Replace(good, "v0.2.0", "v0.3.0", 1),
			`write "# shared v0.2.0"`},
		"that of another module": {strings.Replace(good, "shared", "podgrouper", 1),
			`write "# shared v0.2.0"`},
		"no word on what it is": {"# shared v0.2.0\n\n## Added\n\n- A.\n",
			"write a paragraph below the title"},
		"no section": {"# shared v0.2.0\n\nFaster.\n", "it has no section"},
		"a section of another name": {good + "\n## News\n\n- C.\n",
			`there is no section "News": a CHANGELOG has Upgrading, Added,`},
		"a second title":   {good + "\n# Added\n\n- C.\n", `there is no section "Added"`},
		"an empty section": {good + "\n## Fixed\n", "section Fixed is empty"},
		"an empty section before another": {strings.Replace(good, "Set `a`.\n\n", "", 1),
			"section Upgrading is empty"},
		"a section twice": {good + "\n## Removed\n\n- C.\n",
			"section Removed comes behind Removed"},
		"sections in any order": {good + "\n## Added\n\n- C.\n",
			"section Added comes behind Removed"},
		"something removed without a word on what to do": {strings.Replace(good, "## Upgrading\n\nSet `a`.\n\n", "", 1),
			"add a section Upgrading"},
		"something to be written": {good + "- TODO\n", "it says TODO"},
	} {
		t.Run(name, func(t *testing.T) {
			refusals := release.CheckChangelog(
				release.Release{Train: release.Train{Name: "shared", Directory: "shared"}, Version: "v0.2.0"},
				[]byte(test.text))
			switch {
			case test.want == "" && len(refusals) > 0:
				t.Errorf("refused: %v", refusals)
			case test.want != "" && (len(refusals) != 1 || !strings.Contains(refusals[0].Error(), test.want)):
				t.Errorf("refusals %v, want one with %q", refusals, test.want)
			}
		})
	}
}
