package brief_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"packtree.dev/shared/brief"
)

func TestMessage(t *testing.T) {
	list := func(entries int, separator, entry string) string {
		return strings.Repeat(entry+separator, entries-1) + entry
	}
	name := strings.Repeat("a", 150) + strings.Repeat("z", 103)
	short := strings.Repeat("a", 46) + "…" + strings.Repeat("z", 46)
	fifty, ten := strings.Repeat("e", 48), list(10, ", ", "abcd")
	for about, c := range map[string]struct{ message, want string }{
		"a message that fits stays as it is": {name + " waits", name + " waits"},
		"the longest message stays as it is": {strings.Repeat("x ", 512), strings.Repeat("x ", 512)},
		"a byte that is no character":        {"a\xffb", "a?b"},
		"long names lose their middle":       {list(5, " or ", name), list(5, " or ", short)},
		"a list loses its last entries":      {list(50, "; ", fifty), list(20, "; ", fifty) + "; and 30 more"},
		"so does one with commas":            {list(1000, ", ", "node"), list(168, ", ", "node") + ", and 832 more"},
		"so does one without":                {list(1000, " and ", "node"), list(112, " and ", "node") + " and 888 more"},
		"a list of lists":                    {list(50, "; ", ten), list(16, "; ", ten) + "; and 34 more"},
		"a list with an entry that is too long": {
			"no; " + list(1000, ", ", "node"), "no; " + list(167, ", ", "node") + ", and 833 more"},
		"text without a list is cut between words": {list(1000, " ", "word"), list(204, " ", "word") + " …"},
	} {
		t.Run(about, func(t *testing.T) {
			assert.Equal(t, c.want, brief.Message(c.message))
		})
	}
}

func TestMessageIsShortWhateverItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(rapid.SampledFrom([]string{" ", "; ", ", ", ": ", "→", "node", "\xe2"}), rapid.String())
		message := strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "pieces"), "")
		message = strings.Repeat(message, rapid.IntRange(1, 100).Draw(t, "times"))
		got := brief.Message(message)
		require.LessOrEqual(t, len(got), brief.Longest, got)
		require.True(t, utf8.ValidString(got), got)
		again := brief.Message(got)
		require.Equal(t, got, again, "shortened twice, %q becomes %q", got, again)
		require.False(t, got == "" && message != "", "nothing is left of %q", message)
	})
}
