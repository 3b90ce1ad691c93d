package mutants

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"packtree.dev/shared/manifests"
)

// mostValues bounds objects: a step may double them.
const mostValues = 2000

// Files is Seeds of the files that match patterns.
func Files(f *testing.F, keys []string, patterns ...string) func(seed uint8, program []byte) []byte {
	f.Helper()
	var contents []string
	for _, pattern := range patterns {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			f.Fatalf("no file is called %s: %v", pattern, err)
		}
		for _, name := range names {
			content, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			contents = append(contents, string(content))
		}
	}
	return Seeds(f, keys, contents...)
}

// Seeds adds manifests to the seeds of a target, each by its number and without a change. What is returned changes the
// manifests of a seed as program says, and writes them as JSON.
func Seeds(f *testing.F, keys []string, contents ...string) func(seed uint8, program []byte) []byte {
	f.Helper()
	seeds := make([][]any, len(contents))
	for i, content := range contents {
		documents, findings := manifests.Parse("seed", []byte(content))
		if len(findings) > 0 {
			f.Fatalf("%v in\n%s", findings, content)
		}
		for _, document := range documents {
			seeds[i] = append(seeds[i], document.Object.Object)
		}
		f.Add(uint8(i), []byte(nil))
	}
	return func(seed uint8, program []byte) []byte {
		return JSON(Of(seeds[int(seed)%len(seeds)], keys, program))
	}
}

// JSON writes a list of objects one after the other, and anything else as it is.
func JSON(value any) []byte {
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	var written bytes.Buffer
	encoder := json.NewEncoder(&written)
	for _, one := range list {
		if err := encoder.Encode(one); err != nil {
			panic(err) // It consists of what JSON can have.
		}
	}
	return written.Bytes()
}
