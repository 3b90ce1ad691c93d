package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sources makes a page of one file, as if npm had installed its packages.
func sources(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	for name, content := range map[string]string{
		"index.html":                        "<!doctype html>",
		"package-lock.json":                 "{}",
		"src/main.tsx":                      `import { h } from "preact"; console.log(<b>{h}</b>);`,
		"src/style.css":                     "b { color: #ff0000; }",
		"node_modules/preact/package.json":  `{"name": "preact", "main": "main.js", "exports": {".": "./main.js", "./jsx-runtime": "./main.js"}}`,
		"node_modules/preact/main.js":       "export const h = 1, jsx = 2, jsxs = 3;",
		"node_modules/preact/LICENSE":       "Permission of preact\n",
		"node_modules/d3-hierarchy/LICENSE": "Permission of d3\n",
	} {
		file := filepath.Join(directory, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

func digest(t *testing.T, directory, bundler string) string {
	t.Helper()
	found, err := digestOf(directory, bundler)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestABundleHasItsSourcesAndTheirLicences(t *testing.T) {
	directory := sources(t)
	made, err := makeBundle(directory, "0123")
	if err != nil {
		t.Fatal(err)
	}
	again, err := makeBundle(directory, "0123")
	if err != nil {
		t.Fatal(err)
	}
	script := string(made["page.js"])
	if !strings.HasPrefix(script, firstLine("0123")+"\n") || !strings.Contains(script, "Permission of preact") ||
		!strings.Contains(script, "Permission of d3") {
		t.Errorf("the script begins with neither digest nor licences: %s", script)
	}
	if !strings.Contains(script, "console.log") || !strings.Contains(string(made["page.css"]), "b{color:red}") ||
		string(made["index.html"]) != "<!doctype html>" {
		t.Errorf("the bundle lacks something: %s %s %s", script, made["page.css"], made["index.html"])
	}
	for name, content := range made {
		if !bytes.Equal(content, again[name]) {
			t.Errorf("%s is not the same when it is made again", name)
		}
	}
}

func TestWhatCannotBeBundledIsNamed(t *testing.T) {
	directory := sources(t)
	if err := os.WriteFile(filepath.Join(directory, "src/main.tsx"), []byte(`import "./lost";`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := makeBundle(directory, "0123"); err == nil ||
		!strings.Contains(err.Error(), `Could not resolve "./lost"`) {
		t.Errorf("error %v", err)
	}
}

func TestTheDigestIsOfAllThatABundleIsMadeOf(t *testing.T) {
	directory := sources(t)
	before := digest(t, directory, "v1")
	if again := digest(t, directory, "v1"); again != before {
		t.Error("the digest of the same sources is another one")
	}
	if digest(t, directory, "v2") == before {
		t.Error("the bundler's version is not in the digest")
	}
	for _, name := range []string{"index.html", "package-lock.json", "src/main.tsx", "src/style.css", "src/new.ts"} {
		before := digest(t, directory, "v1")
		if err := os.WriteFile(filepath.Join(directory, name), []byte("changed"), 0o644); err != nil {
			t.Fatal(err)
		}
		if digest(t, directory, "v1") == before {
			t.Errorf("%s is not in the digest", name)
		}
	}
}

func TestWithoutNpmABundleOfTheseSourcesIsLeftAsItIs(t *testing.T) {
	directory, bundle := sources(t), t.TempDir()
	t.Setenv("PATH", t.TempDir())
	if err := run(directory, bundle, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "npm") {
		t.Errorf("there is no bundle, and the error is %v", err)
	}
	script := []byte(firstLine(digest(t, directory, bundlerVersion())) + "\nmade elsewhere")
	if err := os.WriteFile(filepath.Join(bundle, "page.js"), script, 0o644); err != nil {
		t.Fatal(err)
	}
	said := &bytes.Buffer{}
	if err := run(directory, bundle, said); err != nil || !strings.Contains(said.String(), "was not made again") {
		t.Errorf("error %v, said %q", err, said)
	}
	if err := os.WriteFile(filepath.Join(directory, "src/main.tsx"), []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(directory, bundle, said); err == nil || !strings.Contains(err.Error(), "have changed") {
		t.Errorf("the bundle is of other sources, and the error is %v", err)
	}
}
