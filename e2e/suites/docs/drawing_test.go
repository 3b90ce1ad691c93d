package docs_test

import (
	"cmp"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// host is a node, and the name of the group on it; empty for none.
type host struct {
	Zone, Block, Rack, Name string
	Group                   string
}

const (
	cell    = 18
	perLine = 6
	title   = 20
	margin  = 10
)

// colours of groups, in the order of their names.
var colours = []string{"#2b6cb0", "#dd6b20", "#2f855a", "#805ad5", "#b83280", "#b7791f"}

// draw draws zones side by side, in each zone its blocks one below the other, in each block its racks side by side, and
// in each rack the hosts. The order of hosts does not matter.
func draw(hosts []host) string {
	c := canvas{colour: map[string]string{}}
	groups := distinct(hosts, func(h host) string { return h.Group })
	groups = slices.DeleteFunc(groups, func(group string) bool { return group == "" })
	for i, group := range groups {
		c.colour[group] = colours[i%len(colours)]
	}
	x, bottom := margin, 0
	for _, zone := range distinct(hosts, func(h host) string { return h.Zone }) {
		right, below := c.zone(x, margin, zone, of(hosts, func(h host) bool { return h.Zone == zone }))
		x, bottom = right+margin, max(bottom, below)
	}
	c.legend(groups, bottom+margin)
	return fmt.Sprintf(
		`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" `+
			`font-family="sans-serif" font-size="12">
<rect width="100%%" height="100%%" fill="#ffffff"/>
%[3]s</svg>
`, x, bottom+3*margin+cell, c.drawn.String())
}

type canvas struct {
	drawn  strings.Builder
	colour map[string]string
}

func (c *canvas) zone(x, y int, name string, hosts []host) (right, below int) {
	inner, widest := c.separate(), x
	top := y + title
	for _, block := range distinct(hosts, func(h host) string { return h.Block }) {
		blockRight, blockBelow := inner.block(x+margin, top, block,
			of(hosts, func(h host) bool { return h.Block == block }))
		widest, top = max(widest, blockRight), blockBelow+margin
	}
	right, below = widest+margin, top
	c.box(x, y, right, below, "#f7fafc", name)
	c.drawn.WriteString(inner.drawn.String())
	return right, below
}

func (c *canvas) block(x, y int, name string, hosts []host) (right, below int) {
	inner, top, next := c.separate(), y+title, x+margin
	lowest := top
	for _, rack := range distinct(hosts, func(h host) string { return h.Rack }) {
		rackRight, rackBelow := inner.rack(next, top, rack, of(hosts, func(h host) bool { return h.Rack == rack }))
		next, lowest = rackRight+margin, max(lowest, rackBelow)
	}
	c.box(x, y, next, lowest+margin, "#edf2f7", cmp.Or(name, "no block"))
	c.drawn.WriteString(inner.drawn.String())
	return next, lowest + margin
}

func (c *canvas) rack(x, y int, name string, hosts []host) (right, below int) {
	lines := (len(hosts) + perLine - 1) / perLine
	right, below = x+perLine*cell+margin, y+title+lines*cell+margin/2
	c.box(x, y, right, below, "#ffffff", cmp.Or(name, "no rack"))
	slices.SortFunc(hosts, func(a, b host) int { return strings.Compare(a.Name, b.Name) })
	for i, host := range hosts {
		said, fill := host.Name, "#cbd5e0"
		if host.Group != "" {
			said, fill = host.Name+": "+host.Group, c.colour[host.Group]
		}
		fmt.Fprintf(&c.drawn,
			"<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"2\" fill=\"%s\"><title>%s</title></rect>\n",
			x+margin/2+i%perLine*cell, y+title+i/perLine*cell, cell-4, cell-4, fill, html.EscapeString(said))
	}
	return right, below
}

func (c *canvas) legend(groups []string, y int) {
	x := margin
	for _, group := range groups {
		fmt.Fprintf(&c.drawn, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"2\" fill=\"%s\"/>\n", x, y,
			cell-4, cell-4, c.colour[group])
		fmt.Fprintf(&c.drawn, "<text x=\"%d\" y=\"%d\">%s</text>\n", x+cell, y+cell-7, html.EscapeString(group))
		x += 2*cell + 8*len(group)
	}
}

func (c *canvas) box(left, top, right, bottom int, fill, name string) {
	fmt.Fprintf(
		&c.drawn, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\" fill=\"%s\" stroke=\"#a0aec0\"/>\n",
		left, top, right-left, bottom-top, fill)
	fmt.Fprintf(&c.drawn, "<text x=\"%d\" y=\"%d\">%s</text>\n", left+margin/2, top+title-6, html.EscapeString(name))
}

// separate is a canvas that is drawn over this one later, when the size of its surroundings is known.
func (c *canvas) separate() *canvas { return &canvas{colour: c.colour} }

func of(hosts []host, keep func(host) bool) []host {
	return slices.DeleteFunc(slices.Clone(hosts), func(h host) bool { return !keep(h) })
}

// distinct are the values of the hosts, sorted, with the unnamed ones last.
func distinct(hosts []host, value func(host) string) []string {
	var all []string
	for _, host := range hosts {
		all = append(all, value(host))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) > 0 && all[0] == "" {
		all = append(all[1:], "")
	}
	return all
}

func TestSVG(t *testing.T) {
	hosts := []host{
		{Zone: "z2", Block: "b1", Rack: "r1", Name: "h3"},
		{Zone: "z1", Name: "cpu<1>", Group: "front & end"},
		{Zone: "z1", Block: "b1", Rack: "r1", Name: "h1", Group: "workers"},
		{Zone: "z1", Block: "b1", Rack: "r1", Name: "h2"},
	}
	drawn := draw(hosts)
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
	if draw(hosts) != drawn {
		t.Error("another order of the hosts must not draw another picture")
	}
}
