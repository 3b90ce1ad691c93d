package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"path"
	"regexp"
	"runtime"
	"strings"
)

// tool is a program that a `tool` line of go.mod names.
type tool struct {
	name string // of the binary
	pkg  string // import path
}

// pins has what go.mod fixes: the tools, and the version of every module.
type pins struct {
	tools    []tool
	versions map[string]string
}

// readPins reads the `tool` and `require` lines of a go.mod that `go mod tidy` wrote.
func readPins(file string) (pins, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return pins{}, err
	}
	return parsePins(string(text)), nil
}

func parsePins(text string) pins {
	p := pins{versions: map[string]string{}}
	block := ""
	for line := range strings.Lines(text) {
		code, _, _ := strings.Cut(line, "//")
		words := strings.Fields(code)
		switch {
		case len(words) == 0:
			continue
		case len(words) == 2 && words[1] == "(":
			block = words[0]
			continue
		case words[0] == ")":
			block = ""
			continue
		case block != "":
			words = append([]string{block}, words...)
		}
		switch {
		case words[0] == "tool" && len(words) == 2:
			p.tools = append(p.tools, tool{name: binaryName(words[1]), pkg: words[1]})
		case words[0] == "require" && len(words) == 3:
			p.versions[words[1]] = words[2]
		}
	}
	return p
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// binaryName is the program's own name: etcd's main package is its server module.
func binaryName(pkg string) string {
	if strings.HasPrefix(pkg, "go.etcd.io/etcd/server") {
		return "etcd"
	}
	return tool{pkg: pkg}.built()
}

// built is the name of the binary by `go build`: the last element of the import path that is no major version.
func (t tool) built() string {
	name := path.Base(t.pkg)
	if majorVersion.MatchString(name) {
		return path.Base(path.Dir(t.pkg))
	}
	return name
}

// version is the version of the module that holds the package.
func (p pins) version(pkg string) string {
	for module := pkg; module != "."; module = path.Dir(module) {
		if version, ok := p.versions[module]; ok {
			return version
		}
	}
	return ""
}

// ldflags strip the binaries and stamp them as their own release builds do. Built from the module cache without them,
// Kubernetes calls itself v0.0.0-master, with which clients compare, and helm renders for a cluster of v1.20. Variables
// that a program lacks do no harm.
func ldflags(pins pins) string {
	flags := []string{"-s", "-w"}
	stamp := func(variable, value string) {
		flags = append(flags, fmt.Sprintf("-X %s=%s", variable, value))
	}
	kubernetes := pins.version("k8s.io/kubernetes")
	release := strings.SplitN(strings.TrimPrefix(kubernetes, "v"), ".", 3)
	if len(release) == 3 {
		for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
			stamp(pkg+".gitVersion", kubernetes)
			stamp(pkg+".gitMajor", release[0])
			stamp(pkg+".gitMinor", release[1])
			stamp(pkg+".gitCommit", "unknown")
			stamp(pkg+".gitTreeState", "clean")
		}
		for _, pkg := range []string{"helm.sh/helm/v3/pkg/chartutil", "helm.sh/helm/v3/pkg/lint/rules"} {
			stamp(pkg+".k8sVersionMajor", release[0])
			stamp(pkg+".k8sVersionMinor", release[1])
		}
	}
	stamp("helm.sh/helm/v3/internal/version.version", pins.version("helm.sh/helm/v3"))
	return strings.Join(flags, " ")
}

// current reports whether the binary exists and was made by this Go, with these flags, from the pinned versions alone.
// Go writes all of that into every binary, so no stamp file is needed that could disagree with it.
func current(binary string, pins pins, ldflags string) bool {
	info, err := buildinfo.ReadFile(binary)
	if err != nil || info.GoVersion != runtime.Version() {
		return false
	}
	if pins.versions[info.Main.Path] != info.Main.Version {
		return false
	}
	for _, dependency := range info.Deps {
		if pins.versions[dependency.Path] != dependency.Version {
			return false
		}
	}
	for _, setting := range info.Settings {
		if setting.Key == "-ldflags" {
			return setting.Value == ldflags
		}
	}
	return false
}
