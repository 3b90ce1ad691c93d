package docs_test

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"packtree.dev/e2e/pages"
)

// TestLinks follows every link inside the repository, down to the heading.
func TestLinks(t *testing.T) {
	root, all := read(t)
	byFile := map[string]pages.Page{}
	for _, page := range all {
		byFile[page.File] = page
	}
	followed := 0
	for _, page := range all {
		for _, link := range page.Links {
			target, err := url.Parse(link.Destination)
			if err != nil {
				t.Errorf("%s:%d: %v", page.File, link.Line, err)
				continue
			}
			if target.IsAbs() {
				continue
			}
			followed++
			file := page.File
			if target.Path != "" {
				file = path.Join(path.Dir(page.File), target.Path)
			}
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Errorf("%s:%d: the link %s leads to a file that does not exist", page.File, link.Line,
					link.Destination)
			}
			if to, known := byFile[file]; known && target.Fragment != "" &&
				!slices.Contains(to.Anchors, target.Fragment) {
				t.Errorf("%s:%d: the link %s leads to a heading that does not exist; there are %s",
					page.File, link.Line, link.Destination,
					strings.Join(to.Anchors, ", "))
			}
		}
	}
	if followed < 100 {
		t.Errorf("only %d links were followed: are the pages found?", followed)
	}
}

// TestEveryPageIsReached follows links from README.md: a page without links to it is not read. A link to a folder leads
// to its README, or else to all pages in it.
func TestEveryPageIsReached(t *testing.T) {
	_, all := read(t)
	byFile := map[string]pages.Page{}
	for _, page := range all {
		byFile[page.File] = page
	}
	reached, next := map[string]bool{}, []string{"README.md"}
	for len(next) > 0 {
		file := next[0]
		next = next[1:]
		page, known := byFile[file]
		if !known || reached[file] {
			continue
		}
		reached[file] = true
		for _, link := range page.Links {
			target, _, _ := strings.Cut(link.Destination, "#")
			if target == "" {
				continue
			}
			to := path.Join(path.Dir(file), target)
			next = append(next, to)
			if _, has := byFile[path.Join(to, "README.md")]; has {
				next = append(next, path.Join(to, "README.md"))
				continue
			}
			for below := range byFile {
				if path.Dir(below) == to {
					next = append(next, below)
				}
			}
		}
	}
	for file := range byFile {
		if !reached[file] {
			t.Errorf("no links lead from README.md to %s", file)
		}
	}
}
