package packing_test

import (
	"flag"
	"os"
	"testing"
)

// Properties are checked on thousands of instances unless a flag says otherwise.
func TestMain(m *testing.M) {
	// What fails is turned into a named test; rapid's own record would be read for ever.
	for name, value := range map[string]string{"rapid.checks": "3000", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	flag.Parse()
	os.Exit(m.Run())
}
