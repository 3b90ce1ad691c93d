package packing_test

import (
	"flag"
	"os"
	"testing"
)

// Properties are checked on thousands of instances unless a flag says otherwise.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "3000"); err != nil {
		panic(err)
	}
	flag.Parse()
	os.Exit(m.Run())
}
