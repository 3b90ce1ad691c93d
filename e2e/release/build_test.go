package release_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"packtree.dev/e2e/release"
)

func TestAModuleThatWorksByItselfIsBuiltAndTested(t *testing.T) {
	if printed, err := buildGrouper(t, repository(t, nil)); err != nil ||
		!strings.Contains(printed, "ok  \tpacktree.dev/podgrouper/words") {
		t.Errorf("along with its library: %v\n%s", err, printed)
	}
	if printed, err := buildGrouper(t, repository(t, allTags, nextGrouper(nil))); err != nil {
		t.Errorf("with the library of a tag: %v\n%s", err, printed)
	}
}

func TestWhatWorksByItsSurroundingsAloneIsNotReleased(t *testing.T) {
	for name, test := range map[string]struct {
		edit edit
		want string
	}{
		"a requirement that only go.work knows": {edit{
			"podgrouper/go.mod": "module packtree.dev/podgrouper\n\ngo 1.26.0\n"},
			"GOWORK=off go vet ./... in podgrouper"},
		"a test that fails": {edit{
			"podgrouper/words/words_test.go": strings.Replace(small["podgrouper/words/words_test.go"], `First == ""`,
				`First != ""`, 1)}, "GOWORK=off go test -timeout 30m ./... in podgrouper"},
		"a requirement of tests that only go.work knows": {edit{
			"podgrouper/go.mod": "module packtree.dev/podgrouper\n\ngo 1.26.0\n",
			"podgrouper/words/words.go": "// Package words has words.\npackage words\n\n// First is the first " +
				"word.\nconst First = \"hello\"\n",
			"podgrouper/words/words_test.go": "package words\n\nimport \"packtree.dev/shared/greet\"\n\nconst _ = " +
				"greet.Hello\n"}, "GOWORK=off go vet ./... in podgrouper"},
		"a call that vet refuses": {edit{
			"podgrouper/words/wrong.go": "package words\n\nimport \"fmt\"\n\nfunc wrong() string { return " +
				"fmt.Sprintf(\"%d\", \"a\") }\n"}, "GOWORK=off go vet ./... in podgrouper"},
	} {
		t.Run(name, func(t *testing.T) {
			printed, err := buildGrouper(t, repository(t, allTags, nextGrouper(test.edit)))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q\n%s", err, test.want, printed)
			}
		})
	}
}

func buildGrouper(t *testing.T, checkout release.Repository) (printed string, err error) {
	t.Helper()
	plan, err := checkout.Plan(t.Context(), "podgrouper", "", false)
	require.NoError(t, err)
	if len(plan.Releases) != 1 {
		t.Fatalf("releases %v, want that of podgrouper", tagsOf(plan.Releases))
	}
	var output bytes.Buffer
	err = checkout.BuildAndTest(t.Context(), plan.Releases[0], &output)
	return output.String(), err
}
