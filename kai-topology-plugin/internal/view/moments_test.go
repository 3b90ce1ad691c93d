package view

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// unpack reads moments as the page does.
func unpack(t interface{ Fatal(...any) }, packed string) (texts []string) {
	zipped, err := base64.StdEncoding.DecodeString(packed)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		t.Fatal(err)
	}
	var told [][]json.RawMessage
	if err := json.NewDecoder(reader).Decode(&told); err != nil {
		t.Fatal(err)
	}
	var before []string
	for _, parts := range told {
		var lines []string
		for _, part := range parts {
			var text string
			var run [2]int
			if json.Unmarshal(part, &text) == nil {
				lines = append(lines, text)
			} else if err := json.Unmarshal(part, &run); err == nil {
				lines = append(lines, before[run[0]:run[0]+run[1]]...)
			} else {
				t.Fatal(err)
			}
		}
		before = lines
		texts = append(texts, strings.Join(lines, ""))
	}
	return texts
}

func TestJSONIsDividedBeforeEachObjectInAList(t *testing.T) {
	for text, want := range map[string][]string{
		`{}`:                       {`{}`},
		`{"a":[{"b":1},{"b":2}]}`:  {`{"a":[`, `{"b":1},`, `{"b":2}]}`},
		`{"a":{"b":[1,{"c":[]}]}}`: {`{"a":{"b":[1,`, `{"c":[]}]}}`},
		`{"a":[{"n":"[{\"},{"}]}`:  {`{"a":[`, `{"n":"[{\"},{"}]}`},
		`{"a":[{"b":[{}]},{}]}`:    {`{"a":[`, `{"b":[`, `{}]},`, `{}]}`},
		`{"a":["\\",{"b":null}]}`:  {`{"a":["\\",`, `{"b":null}]}`},
	} {
		if diff := cmp.Diff(want, linesOf([]byte(text))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestMomentsAreUnpackedAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pods := rapid.SliceOfN(rapid.StringN(0, 4, -1), 0, 8)
		var moments Moments
		var want []string
		for range rapid.IntRange(0, 6).Draw(t, "moments") {
			var list []map[string]string
			for _, name := range pods.Draw(t, "pods") {
				list = append(list, map[string]string{"name": name, "node": rapid.SampledFrom([]string{"n1", "n2"}).Draw(t, "node")})
			}
			text, err := json.Marshal(map[string]any{"pods": list, "notes": []string{"{[", "\"\\"}})
			if err != nil {
				t.Fatal(err)
			}
			moments.Add(text)
			want = append(want, string(text))
		}
		packed, err := moments.packed()
		if err != nil {
			t.Fatal(err)
		}
		if got := unpack(t, packed); !slices.Equal(want, got) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

func TestWhatHasNotChangedTakesNoRoom(t *testing.T) {
	var moments Moments
	var pods []string
	for i := range 1000 {
		pods = append(pods, fmt.Sprintf(`{"name":"pod-%d","node":"node-%d"}`, i, i*7919%1000))
	}
	add := func() { moments.Add([]byte(`{"pods":[` + strings.Join(pods, ",") + `]}`)) }
	add()
	add()
	pods[500] = `{"name":"pod-500"}`
	add()
	want := []any{[2]int{0, 501}, `{"name":"pod-500"},`, [2]int{502, 499}}
	if diff := cmp.Diff(want, moments.sent[2]); diff != "" || len(moments.sent[1]) != 1 {
		t.Errorf("%d parts for no change, and for one (-want +got):\n%s", len(moments.sent[1]), diff)
	}
}

func TestAnExportOfARecordingHasItsMoments(t *testing.T) {
	var page bytes.Buffer
	var moments Moments
	moments.Add([]byte(hostile))
	moments.Add([]byte(`{"nodes":[]}`))
	if err := Export(&page, []byte(hostile), "now", &moments); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(page.String(), `<script type="application/octet-stream" id="moments">`)
	packed, _, found := strings.Cut(rest, "</script>")
	if got := unpack(t, packed); !found || !slices.Equal(got, []string{hostile, `{"nodes":[]}`}) {
		t.Errorf("%q", got)
	}
}
