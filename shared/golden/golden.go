// Package golden compares what tests make with files, which are read before they are committed.
package golden

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew; read the difference before you commit it")

// Equal compares a text with a golden file, which -update writes before. A file that does not exist is an empty text.
func Equal(t testing.TB, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, write(file, got))
	}
	want, err := os.ReadFile(file)
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
	}
	assert.Empty(t, cmp.Diff(string(want), got), "%s (-want +got); -update writes it", file)
}

func write(file, content string) error {
	if content != "" {
		return os.WriteFile(file, []byte(content), 0o644)
	}
	if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
