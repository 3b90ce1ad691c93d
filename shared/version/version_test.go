package version

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestStringHasAllThatIsSetAtLinking(t *testing.T) {
	version, commit, date = "v1.2.3", "abc", "2026-01-02"
	want := "v1.2.3 (commit abc, 2026-01-02, " + runtime.Version() + ")"
	assert.Equal(t, want, String())
}
