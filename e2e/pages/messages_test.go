package pages

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"packtree.dev/shared/golden"
)

// TestMessages compares the texts of a program for its users with a golden file, so that they can be read together.
// Each line is a string of at least three words: of a condition, an event, a refusal, an error, a flag or a log.
func TestMessages(t *testing.T) {
	for _, folder := range []string{
		"dynamo-operator", "grove-operator", "kai-topology-plugin", "podgrouper", "shared/packing",
	} {
		t.Run(folder, func(t *testing.T) {
			found := map[string]bool{}
			root := filepath.Join("..", "..", filepath.FromSlash(folder))
			err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
				switch {
				case err != nil:
					return err
				case entry.IsDir() && slices.Contains([]string{"testdata", "testsupport"}, entry.Name()):
					return fs.SkipDir
				case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
					return nil
				}
				folder, err := filepath.Rel(root, filepath.Dir(path))
				if err != nil {
					return err
				}
				texts, err := texts(path)
				for _, text := range texts {
					found[filepath.ToSlash(folder)+": "+text] = true
				}
				return err
			})
			if err != nil || len(found) < 50 {
				t.Fatalf("%d messages found, error %v", len(found), err)
			}
			for message := range found {
				if word := forbidden.FindString(message); word != "" {
					t.Errorf("name the thing instead of %q: %s", word, message)
				}
			}
			got := strings.Join(slices.Sorted(maps.Keys(found)), "\n") + "\n"
			golden.Equal(t, filepath.Join("testdata", "messages", strings.ReplaceAll(folder, "/", "-")+".txt"), got)
		})
	}
}

// texts are the strings in a Go file that have at least three words. The parts of a sum are one string, with "…" for
// what is not a constant.
func texts(path string) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var all []string
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			// Tags of fields are for encoders.
			return node.Tag == nil
		case ast.Expr:
			text, isText := textOf(node)
			if isText && len(word.FindAllString(text, -1)) >= 3 && strings.Contains(text, " ") {
				all = append(all, strconv.Quote(text))
			}
			return !isText
		}
		return true
	})
	return all, nil
}

// textOf is the text of a string, or of a sum with a string in it.
func textOf(expression ast.Expr) (string, bool) {
	switch expression := expression.(type) {
	case *ast.BasicLit:
		if expression.Kind != token.STRING {
			return "…", false
		}
		text, err := strconv.Unquote(expression.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, isLeft := textOf(expression.X)
		right, isRight := textOf(expression.Y)
		return left + right, expression.Op == token.ADD && (isLeft || isRight)
	}
	return "…", false
}
