package plugin

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"packtree.dev/shared/packing"
)

func TestArgumentsOf(t *testing.T) {
	for name, c := range map[string]struct {
		written string
		want    packing.Placement
		wrong   string
	}{
		"none":              {want: packing.Pack},
		"nothing said":      {written: `{}`, want: packing.Pack},
		"the emptiest":      {written: `{"placement":"Spread"}`, want: packing.Spread},
		"the tightest":      {written: `{"placement":"Pack"}`, want: packing.Pack},
		"another word":      {written: `{"placement":"spread"}`, wrong: `placement "spread" is unknown; use "Pack" or "Spread"`},
		"a misspelt field":  {written: `{"placment":"Spread"}`, wrong: `args.placment: unknown field, did you mean "placement"?`},
		"a value of a kind": {written: `{"placement":7}`, wrong: "args.placement: must be a string, in quotes, not 7"},
	} {
		t.Run(name, func(t *testing.T) {
			var configured runtime.Object
			if c.written != "" {
				configured = &runtime.Unknown{Raw: []byte(c.written)}
			}
			got, err := argumentsOf(configured)
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) {
					t.Errorf("error %v, want %q in it", err, c.wrong)
				}
				return
			}
			if err != nil || got.Placement != c.want {
				t.Errorf("placement %q, %v; want %q", got.Placement, err, c.want)
			}
		})
	}
}
