package gangevents_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"packtree.dev/kai-topology-plugin/internal/scheduler/gangevents"
)

func TestNote(t *testing.T) {
	if short := "the gang waits"; gangevents.Note(short) != short {
		t.Errorf("%q was changed", short)
	}
	for shift := range 4 {
		note := gangevents.Note(strings.Repeat("a", shift) + strings.Repeat("→", 1000))
		if len(note) > 1024 || len(note) < 1015 || !utf8.ValidString(note) || !strings.HasSuffix(note, " …") {
			t.Errorf("a long note becomes %d bytes, ending in %q", len(note), note[len(note)-10:])
		}
	}
}
