// Package pages reads the documentation: the blocks of code on its pages, with their marks for tests, and the links.
package pages

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// Page is one Markdown file.
type Page struct {
	// File is its path below the root of the repository, with slashes.
	File string
	// Blocks are its blocks of code, from top to bottom.
	Blocks []Block
	// Links are the targets of its links and images, as they are written.
	Links []Link
	// Anchors are the fragments of its headings.
	Anchors []string
}

// Link is one link or image.
type Link struct {
	Destination string
	Line        int
}

// Block is one block of code.
type Block struct {
	// Page is the page's File.
	Page string
	// Line is that of the block's first line of code, from 1.
	Line int
	// Language is the first word behind the fence. It is empty without one, and "indented" for a block without a fence.
	Language string
	// Code between the fences.
	Code string
	// Mark in a comment just above the block.
	Mark Mark
	// SavedAs is the file as which later commands of the page read the block, if another comment says so.
	SavedAs string
}

// At says where the block is.
func (b Block) At() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

// Read reads the pages below the given files and directories, which are paths below root, sorted by path.
func Read(root string, below ...string) ([]Page, error) {
	var files []string
	for _, start := range below {
		err := filepath.WalkDir(filepath.Join(root, start), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && filepath.Ext(path) == ".md" {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("looking for pages: %w", err)
		}
	}
	slices.Sort(files)
	var pages []Page
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading page: %w", err)
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return nil, fmt.Errorf("reading page: %w", err)
		}
		page, err := Parse(filepath.ToSlash(name), content)
		if err != nil {
			return nil, err
		}
		pages = append(pages, page)
	}
	return pages, nil
}

// Parse reads one page. A comment that begins like a mark and is none is an error: a typo must not switch a test off.
func Parse(file string, source []byte) (Page, error) {
	page := Page{File: file}
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM))
	err := ast.Walk(markdown.Parser().Parse(text.NewReader(source)),
		func(node ast.Node, entering bool) (ast.WalkStatus, error) {
			if !entering {
				return ast.WalkContinue, nil
			}
			switch node := node.(type) {
			case *ast.Heading:
				page.Anchors = append(page.Anchors, anchor(plain(node, source), page.Anchors))
			case *ast.Link:
				page.Links = append(page.Links, Link{Destination: string(node.Destination), Line: lineOf(node, source)})
			case *ast.Image:
				page.Links = append(page.Links, Link{Destination: string(node.Destination), Line: lineOf(node, source)})
			case *ast.FencedCodeBlock:
				return ast.WalkSkipChildren, page.take(node, string(node.Language(source)), source)
			case *ast.CodeBlock:
				return ast.WalkSkipChildren, page.take(node, "indented", source)
			}
			return ast.WalkContinue, nil
		})
	if err != nil {
		return Page{}, err
	}
	return page, nil
}

func (p *Page) take(node ast.Node, language string, source []byte) error {
	block := Block{Page: p.File, Line: lineOf(node, source), Language: language,
		Code: string(node.Lines().Value(source))}
	for above := node.PreviousSibling(); ; above = above.PreviousSibling() {
		comment, is := above.(*ast.HTMLBlock)
		if !is || comment.HTMLBlockType != ast.HTMLBlockType2 {
			break
		}
		mark, err := parseMark(commentText(comment, source))
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", block.At(), err)
		case mark.How == savedAs:
			block.SavedAs = mark.Detail
		case block.Mark != Mark{}:
			return fmt.Errorf("%s: two comments say how the block is tried: leave one", block.At())
		default:
			block.Mark = mark
		}
	}
	p.Blocks = append(p.Blocks, block)
	return nil
}

func commentText(comment *ast.HTMLBlock, source []byte) string {
	whole := string(comment.Lines().Value(source))
	if comment.HasClosure() {
		closure := comment.ClosureLine
		whole += string(closure.Value(source))
	}
	whole = strings.TrimPrefix(strings.TrimSpace(whole), "<!--")
	return strings.Join(strings.Fields(strings.TrimSuffix(whole, "-->")), " ")
}

// lineOf is the first line of the node, or of its parent.
func lineOf(node ast.Node, source []byte) int {
	for at := node; at != nil; at = at.Parent() {
		if at.Type() == ast.TypeBlock && at.Lines() != nil && at.Lines().Len() > 0 {
			return 1 + bytes.Count(source[:at.Lines().At(0).Start], []byte("\n"))
		}
	}
	return 1
}

// plain is the text of a heading, without its markup.
func plain(node ast.Node, source []byte) string {
	var words strings.Builder
	_ = ast.Walk(node, func(child ast.Node, entering bool) (ast.WalkStatus, error) {
		if said, is := child.(*ast.Text); is && entering {
			words.Write(said.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return words.String()
}

// anchor is GitHub's fragment of a heading: letters, digits, dashes and underscores of its words in lower case, and a
// number if another heading of the page has the same.
func anchor(heading string, taken []string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', r >= '0' && r <= '9', r >= 'a' && r <= 'z', r > 127 && r != '…' &&
			r != '—' && r != '’':
			return r
		}
		return -1
	}, strings.ToLower(heading))
	free := name
	for number := 1; slices.Contains(taken, free); number++ {
		free = fmt.Sprintf("%s-%d", name, number)
	}
	return free
}
