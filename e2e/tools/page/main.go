// Command page bundles the page of `kubectl packtree view`: TypeScript and the npm packages that package-lock.json pins
// become one script and one style sheet, which are embedded in the program. The bundler is esbuild, a Go module.
//
//	page SOURCES BUNDLE
//
// The first line of the script is a digest of the sources and of the bundler's version. Without npm, a bundle with the
// digest of the sources is left as it is, and any other is an error.
package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: page SOURCES BUNDLE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "page: %v\n", err)
		os.Exit(1)
	}
}

func run(sources, bundle string, progress io.Writer) error {
	digest, err := digestOf(sources, bundlerVersion())
	if err != nil {
		return err
	}
	if _, err := exec.LookPath("npm"); err != nil {
		if bundledFrom(bundle, digest) {
			fmt.Fprintln(progress, "page: npm is missing, so the bundle was not made again; it says that it is of "+
				"these sources")
			return nil
		}
		return errors.New(
			"the sources of the page have changed since it was bundled, and npm, which fetches what it is made " +
				"of, is missing")
	}
	if err := fetch(sources, progress); err != nil {
		return err
	}
	if err := check(sources, progress); err != nil {
		return err
	}
	files, err := makeBundle(sources, digest)
	if err != nil {
		return err
	}
	return write(bundle, files)
}

// bundlerVersion is the version of esbuild in this program.
func bundlerVersion() string {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == "github.com/evanw/esbuild" {
			return dependency.Version
		}
	}
	return ""
}

// digestOf is the digest of a bundle's inputs: the lock file, the page's frame, the sources and the bundler.
func digestOf(sources, bundler string) (string, error) {
	files := []string{filepath.Join(sources, "package-lock.json"), filepath.Join(sources, "index.html")}
	err := filepath.WalkDir(filepath.Join(sources, "src"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	slices.Sort(files)
	hash := sha256.New()
	fmt.Fprintln(hash, bundler)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		name, err := filepath.Rel(sources, file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n", filepath.ToSlash(name), len(content))
		hash.Write(content)
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), nil
}

func firstLine(digest string) string { return "// Made from page, sources " + digest }

func bundledFrom(bundle, digest string) bool {
	script, err := os.ReadFile(filepath.Join(bundle, "page.js"))
	return err == nil && strings.HasPrefix(string(script), firstLine(digest)+"\n")
}

// fetch installs the pinned packages, unless exactly these are installed.
func fetch(sources string, progress io.Writer) error {
	lock, err := os.ReadFile(filepath.Join(sources, "package-lock.json"))
	if err != nil {
		return err
	}
	stamp := filepath.Join(sources, "node_modules", ".fetched")
	if there, err := os.ReadFile(stamp); err == nil && string(there) == string(lock) {
		return nil
	}
	if err := command(sources, progress, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"); err != nil {
		return fmt.Errorf("fetching the packages of the page: %w", err)
	}
	return os.WriteFile(stamp, lock, 0o644)
}

// check runs the compiler of TypeScript, which checks types; esbuild does not.
func check(sources string, progress io.Writer) error {
	if err := command(sources, progress, "node", filepath.Join("node_modules", "typescript", "bin",
		"tsc")); err != nil {
		return fmt.Errorf("checking the types of the page: %w", err)
	}
	return nil
}

func command(directory string, progress io.Writer, name string, arguments ...string) error {
	c := exec.Command(name, arguments...)
	c.Dir, c.Stdout, c.Stderr = directory, progress, progress
	return c.Run()
}

// makeBundle returns the files of the bundle by their names.
func makeBundle(sources, digest string) (map[string][]byte, error) {
	licences, err := licencesOf(sources)
	if err != nil {
		return nil, err
	}
	root, err := filepath.Abs(sources)
	if err != nil {
		return nil, err
	}
	made := api.Build(api.BuildOptions{
		AbsWorkingDir: root,
		EntryPointsAdvanced: []api.EntryPoint{
			{InputPath: "src/main.tsx", OutputPath: "page"},
			{InputPath: "src/style.css", OutputPath: "page"},
		},
		Outdir: "bundle", Bundle: true, Format: api.FormatIIFE, Target: api.ES2022, Charset: api.CharsetUTF8,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true,
		JSX: api.JSXAutomatic, JSXImportSource: "preact",
		Banner: map[string]string{"js": firstLine(digest) + "\n/*\n" + licences + "*/"},
	})
	if len(made.Errors) > 0 {
		return nil, errors.New(strings.Join(api.FormatMessages(made.Errors, api.FormatMessagesOptions{}), "\n"))
	}
	frame, err := os.ReadFile(filepath.Join(sources, "index.html"))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"index.html": frame}
	for _, file := range made.OutputFiles {
		files[filepath.Base(file.Path)] = file.Contents
	}
	return files, nil
}

// bundled are the packages in the bundle that need their licences beside them.
var bundled = []string{"d3-hierarchy", "preact"}

func licencesOf(sources string) (string, error) {
	var text strings.Builder
	for _, name := range bundled {
		licence, err := os.ReadFile(filepath.Join(sources, "node_modules", name, "LICENSE"))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "%s:\n\n%s\n\n", name, strings.TrimSpace(string(licence)))
	}
	return text.String(), nil
}

func write(bundle string, files map[string][]byte) error {
	if err := os.MkdirAll(bundle, 0o755); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(bundle, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
