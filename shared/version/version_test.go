package version

import (
	"runtime"
	"testing"
)

func TestStringHasAllThatIsSetAtLinking(t *testing.T) {
	version, commit, date = "v1.2.3", "abc", "2026-01-02"
	if want := "v1.2.3 (commit abc, 2026-01-02, " + runtime.Version() + ")"; String() != want {
		t.Errorf("String() = %q, want %q", String(), want)
	}
}
