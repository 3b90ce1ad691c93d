package plugin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"packtree.dev/shared/packing"
)

func TestArgumentsOf(t *testing.T) {
	for name, c := range map[string]struct {
		written string
		want    packing.Placement
		shapes  []string
		repair  string
		wrong   string
	}{
		"none":         {want: packing.Pack},
		"nothing said": {written: `{}`, want: packing.Pack},
		"the emptiest": {written: `{"placement":"Spread"}`, want: packing.Spread},
		"the tightest": {written: `{"placement":"Pack"}`, want: packing.Pack},
		"another word": {written: `{"placement":"spread"}`, wrong: `placement "spread" is unknown; use "Pack" or "Spread"`},
		"a repair": {written: `{"repair":{"move":"gang","after":"5m"}}`, want: packing.Pack,
			repair: "gang after 5m0s"},
		"a repair by default": {written: `{"repair":{"move":"subgroup"}}`, want: packing.Pack,
			repair: "subgroup after 2m0s"},
		"a repair of a kind": {written: `{"repair":{"move":"rack"}}`,
			wrong: `args.repair.move: "rack" must be none, subgroup or gang`},
		"a repair with no unit": {written: `{"repair":{"move":"gang","after":"5"}}`,
			wrong: `args.repair.after: "5" must be a duration of at least 0, such as 2m`},
		"a misspelt field": {written: `{"placment":"Spread"}`,
			wrong: `args.placment: unknown field, did you mean "placement"?`},
		"a value of a kind": {written: `{"placement":7}`, wrong: "args.placement: must be a string, in quotes, not 7"},
		"shapes": {
			written: `{"shapes":[{"name":"small","pods":1,"resources":{"cpu":"500m"}},{"name":"wide","pods":16,"resources":{"nvidia.com/gpu":8,"memory":"64Gi"},` +
				`"requiredLevel":"rack","nodeSelector":{"gpu":"x"}}]}`,
			want: packing.Pack, shapes: []string{"small 1 500 0 ", "wide 16 0 8 rack"},
		},
		"a shape without a name": {written: `{"shapes":[{"pods":1}]}`,
			wrong: "args.shapes[0].name: a lowercase RFC 1123 label"},
		"two shapes of a name": {written: `{"shapes":[{"name":"a","pods":1,"resources":{"cpu":1}},{"name":"a"}]}`,
			wrong: "args.shapes[1].name: a is named already"},
		"a shape without pods": {written: `{"shapes":[{"name":"a"}]}`,
			wrong: "args.shapes[0].pods: must be at least 1, not 0"},
		"a shape that asks for nothing": {written: `{"shapes":[{"name":"a","pods":1}]}`,
			wrong: "args.shapes[0].resources: must have at least one, such as cpu"},
		"a request for none": {
			written: `{"shapes":[{"name":"a","pods":1,"resources":{"cpu":1,"memory":"0"}}]}`,
			wrong:   "args.shapes[0].resources.memory: must be above 0, not 0",
		},
		"a misspelt field of a shape": {written: `{"shapes":[{"name":"a","pod":1}]}`,
			wrong: `args.shapes[0].pod: unknown field, did you mean "pods"?`},
		"too many shapes": {written: `{"shapes":[` + strings.Repeat(`{},`, 16) + `{}]}`,
			wrong: "args.shapes: at most 16 may be named, not 17"},
	} {
		t.Run(name, func(t *testing.T) {
			var configured runtime.Object
			if c.written != "" {
				configured = &runtime.Unknown{Raw: []byte(c.written)}
			}
			got, err := argumentsOf(configured)
			if c.wrong != "" {
				assert.ErrorContains(t, err, c.wrong)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, got.Placement)
			said := fmt.Sprint(got.repair.Move, " after ", got.repair.After)
			assert.Equal(t, cmp.Or(c.repair, " after 2m0s"), said, "the repair is %s, want %s", said, c.repair)
			var read []string
			for _, shape := range got.Shapes {
				gpus := shape.Resources["nvidia.com/gpu"]
				read = append(read, fmt.Sprint(shape.Name, " ", shape.Pods, " ", shape.Resources.Cpu().MilliValue(), " ",
					gpus.Value(), " ", shape.RequiredLevel))
			}
			assert.True(t, slices.Equal(read, c.shapes), "the shapes are %q, want %q", read, c.shapes)
		})
	}
}
