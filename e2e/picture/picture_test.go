package picture_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"packtree.dev/e2e/picture"
)

func TestSVG(t *testing.T) {
	hosts := []picture.Host{
		{Zone: "z2", Block: "b1", Rack: "r1", Name: "h3"},
		{Zone: "z1", Name: "cpu<1>", Group: "front & end"},
		{Zone: "z1", Block: "b1", Rack: "r1", Name: "h1", Group: "workers"},
		{Zone: "z1", Block: "b1", Rack: "r1", Name: "h2"},
	}
	drawn := picture.SVG(hosts)
	var words []string
	for _, match := range regexp.MustCompile(`<text[^>]*>([^<]*)<`).FindAllStringSubmatch(drawn, -1) {
		words = append(words, match[1])
	}
	want := []string{"z1", "b1", "r1", "no block", "no rack", "z2", "b1", "r1", "front &amp; end", "workers"}
	if !slices.Equal(words, want) {
		t.Errorf("it says %q, want %q: broad before narrow, by name, what has no name last", words, want)
	}
	for _, host := range []string{"<title>h1: workers</title>", "<title>h2</title>",
		"<title>cpu&lt;1&gt;: front &amp; end</title>"} {
		if !strings.Contains(drawn, host) {
			t.Errorf("it lacks %s", host)
		}
	}
	slices.Reverse(hosts)
	if picture.SVG(hosts) != drawn {
		t.Error("another order of the hosts must not draw another picture")
	}
}
