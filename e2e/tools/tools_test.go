package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const goMod = `module packtree.dev/e2e/tools

go 1.26.0

require k8s.io/component-base v0.36.3 // indirect

require (
	go.etcd.io/etcd/server/v3 v3.6.8 // indirect
	helm.sh/helm/v3 v3.21.4 // indirect
	k8s.io/kubernetes v1.36.3 // indirect
)

tool (
	go.etcd.io/etcd/server/v3
	helm.sh/helm/v3/cmd/helm
	k8s.io/kubernetes/cmd/kube-apiserver
)

tool k8s.io/kubernetes/cmd/kubectl
`

func TestPinsComeFromGoMod(t *testing.T) {
	p := parsePins(goMod)
	var names []string
	for _, tool := range p.tools {
		names = append(names, tool.name)
	}
	if want := []string{"etcd", "helm", "kube-apiserver", "kubectl"}; !slices.Equal(names, want) {
		t.Errorf("tools %v, want %v", names, want)
	}
	for pkg, want := range map[string]string{
		"k8s.io/component-base":                "v0.36.3",
		"k8s.io/kubernetes/cmd/kube-apiserver": "v1.36.3",
		"helm.sh/helm/v3/cmd/helm":             "v3.21.4",
		"example.com/unknown":                  "",
	} {
		if got := p.version(pkg); got != want {
			t.Errorf("version of %s is %q, want %q", pkg, got, want)
		}
	}
}

func TestBinariesAreStampedWithTheVersionOfGoMod(t *testing.T) {
	p := parsePins(goMod)
	for _, want := range []string{
		"-s -w", "-X k8s.io/component-base/version.gitVersion=v1.36.3",
		"-X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=36",
		"-X helm.sh/helm/v3/internal/version.version=v3.21.4",
	} {
		if got := ldflags(p); !strings.Contains(got, want) {
			t.Errorf("tools are linked with %q, which lacks %q", got, want)
		}
	}
}

func TestAnUnknownNameIsAnsweredWithTheKnownOnes(t *testing.T) {
	_, err := choose(parsePins(goMod), []string{"kube-scheduler"})
	if err == nil || !strings.Contains(err.Error(), "etcd, helm, kube-apiserver, kubectl") {
		t.Errorf("got %v", err)
	}
}

// compiler puts a `go` in front of the real one: a script with the directory after -o as $out, and as $name go's name
// for the one tool.
func compiler(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	text := "#!/bin/sh\nwhile [ $# -gt 1 ]; do [ \"$1\" = -o ] && out=$2; shift; done\nname=${1%/v3}; name=${name##*/}\n" +
		script
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestABuildThatFailsLeavesNothingAndSaysWhy(t *testing.T) {
	compiler(t, `echo half >"$out$name"; echo some/package; echo "x.go:1: undefined: y" >&2; exit 1`)
	into := t.TempDir()
	p := parsePins(goMod)
	err := ensure(t.Context(), p.tools[:1], p, into, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "undefined: y") || strings.Contains(err.Error(), "some/package") {
		t.Errorf("got %v", err)
	}
	if got := files(t, into); !slices.Equal(got, []string{".lock"}) {
		t.Errorf("left %v", got)
	}
}

func TestABuildThatIsInterruptedLeavesNothing(t *testing.T) {
	compiler(t, `echo half >"$out$name"; exec sleep 60`)
	into := t.TempDir()
	p := parsePins(goMod)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := ensure(ctx, p.tools[:1], p, into, io.Discard); err == nil {
		t.Error("an interrupted build counts as done")
	}
	if got := files(t, into); !slices.Equal(got, []string{".lock"}) {
		t.Errorf("left %v", got)
	}
}

func TestABuildReplacesABinaryOfOtherVersionsAndLeftovers(t *testing.T) {
	compiler(t, `echo whole >"$out$name"`)
	into := t.TempDir()
	for _, name := range []string{"etcd", temporary + "helm"} {
		if err := os.WriteFile(filepath.Join(into, name), []byte("old"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p := parsePins(goMod)
	if err := ensure(t.Context(), p.tools[:1], p, into, io.Discard); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(into, "etcd")); string(got) != "whole\n" {
		t.Errorf("etcd holds %q", got)
	}
	if got := files(t, into); !slices.Equal(got, []string{".lock", "etcd"}) {
		t.Errorf("left %v", got)
	}
}

func TestOneBuildAtATime(t *testing.T) {
	file := filepath.Join(t.TempDir(), ".lock")
	unlock, err := lock(t.Context(), file, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := lock(ctx, file, io.Discard); err == nil {
		t.Error("two hold the lock")
	}
	unlock()
	again, err := lock(t.Context(), file, io.Discard)
	if err != nil {
		t.Fatalf("the lock was not given back: %v", err)
	}
	again()
}
