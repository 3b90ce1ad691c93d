package release

import (
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// sections are the allowed headings of a file of a CHANGELOG, in this order.
var sections = []string{"Upgrading", "Added", "Changed", "Deprecated", "Removed", "Fixed", "Security", "Known limits"}

// CheckChangelog checks the description of a release: a heading with name and version, a paragraph about the release,
// and at least one section, none of them empty.
func CheckChangelog(release Release, content []byte) []Refusal {
	var refusals []Refusal
	say := func(format string, values ...any) {
		refusals = append(refusals, refuse(release.File(), format, values...))
	}
	document := goldmark.New().Parser().Parse(text.NewReader(content))
	title := release.Name + " " + release.Version
	first := document.FirstChild()
	if heading, ok := first.(*ast.Heading); !ok || heading.Level != 1 || words(heading, content) != title {
		say("it does not begin with its name: write \"# %s\" into the first line", title)
		return refusals
	}
	if second := first.NextSibling(); second == nil || second.Kind() != ast.KindParagraph {
		say("nothing says what the release is about: write a paragraph below the title")
	}
	var met []string
	for node := first.NextSibling(); node != nil; node = node.NextSibling() {
		heading, ok := node.(*ast.Heading)
		if !ok || !endsSection(node) {
			continue
		}
		name := words(heading, content)
		if heading.Level == 1 || !slices.Contains(sections, name) {
			say("there is no section %q: a CHANGELOG has %s", name, strings.Join(sections, ", "))
			continue
		}
		if endsSection(heading.NextSibling()) {
			say("section %s is empty: say something or leave it out", name)
		}
		met = append(met, name)
	}
	refusals = append(refusals, checkSections(release, met)...)
	for _, unfinished := range []string{"TODO", "TBD", "FIXME"} {
		if strings.Contains(string(content), unfinished) {
			say("it says %s: finish the text", unfinished)
		}
	}
	return refusals
}

// endsSection is true for nodes behind a section: the next one, or nothing.
func endsSection(node ast.Node) bool {
	heading, ok := node.(*ast.Heading)
	return node == nil || ok && heading.Level <= 2
}

func checkSections(release Release, met []string) []Refusal {
	var refusals []Refusal
	if len(met) == 0 {
		refusals = append(refusals,
			refuse(release.File(), "it has no section: say what changes under one of %s", strings.Join(sections, ", ")))
	}
	rank := func(name string) int { return slices.Index(sections, name) }
	for i := 1; i < len(met); i++ {
		if rank(met[i]) <= rank(met[i-1]) {
			refusals = append(refusals, refuse(release.File(),
				"section %s comes behind %s: each stands once, in the order %s",
				met[i], met[i-1], strings.Join(sections, ", ")))
		}
	}
	if slices.Contains(met, "Removed") && !slices.Contains(met, "Upgrading") {
		refusals = append(refusals,
			refuse(release.File(), "something is removed, and nothing says what users do about it: add a "+
				"section Upgrading"))
	}
	return refusals
}

// words is the plain text of a heading.
func words(heading ast.Node, content []byte) string {
	return string(heading.Lines().Value(content))
}
