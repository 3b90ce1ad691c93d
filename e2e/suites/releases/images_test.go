// Package releases tests the files of a release.
package releases

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"packtree.dev/e2e/release"
)

const repository = "../../.."

// dockerfiles are the recipes of the images, by program.
var dockerfiles = map[string]string{
	"dynamo-operator":     "dynamo-operator/Dockerfile",
	"grove-operator":      "grove-operator/Dockerfile",
	"grove-startup":       "grove-operator/grove-startup.Dockerfile",
	"podgrouper":          "podgrouper/Dockerfile",
	"kai-topology-plugin": "kai-topology-plugin/Dockerfile",
}

var instruction = regexp.MustCompile(`(?m)^[A-Z]+ .*$`)

func TestAnImageIsOneProgramThatRunsAsNobody(t *testing.T) {
	for program, dockerfile := range dockerfiles {
		want := []string{
			"ARG BASE=scratch",
			"FROM ${BASE}",
			"ARG TARGETOS TARGETARCH",
			"COPY ${TARGETOS}-${TARGETARCH}/" + program + " /" + program,
			"USER 65532:65532",
			`ENTRYPOINT ["/` + program + `"]`,
		}
		assert.Empty(t, cmp.Diff(want, instruction.FindAllString(read(t, dockerfile), -1)), "%s (-want +got)",
			dockerfile)
	}
}

func TestEveryImageOfTheChartsCanBeBuilt(t *testing.T) {
	charts, err := filepath.Glob(filepath.Join(repository, "charts", "*", "values.yaml"))
	if err != nil || len(charts) == 0 {
		t.Fatalf("no charts: %v", err)
	}
	named := map[string]bool{}
	for _, chart := range charts {
		var values struct {
			Image, Startup struct {
				Repository string
				Image      struct{ Repository string }
			}
		}
		content, err := os.ReadFile(chart)
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(content, &values))
		for _, image := range []string{values.Image.Repository, values.Startup.Image.Repository} {
			if image != "" {
				named[strings.TrimPrefix(image, "packtree/")] = true
			}
		}
	}
	for image := range named {
		if dockerfiles[image] == "" {
			t.Errorf("a chart names image %s, which nothing builds", image)
		}
	}
	for program := range dockerfiles {
		if !named[program] {
			t.Errorf("no chart names image packtree/%s", program)
		}
	}
}

// theProgram stands in the place of grove-startup, which takes minutes to compile with its libraries.
const theProgram = `package main

import "packtree.dev/shared/version"

func main() { println(version.String()) }
`

func TestTheSameCommitGivesTheSameProgramWhereverItIsBuilt(t *testing.T) {
	platform := "linux/" + runtime.GOARCH
	var built [][]byte
	for _, directory := range []string{"here", "somewhere/else/altogether"} {
		checkout := checkOut(t, directory)
		making := images(t, checkout, "", "IMAGES=grove-startup", "PLATFORMS="+platform)
		making.links(t, "go")
		if printed, err := making.run("binaries"); err != nil {
			t.Fatalf("%v\n%s", err, printed)
		}
		program := filepath.Join(checkout, "dist", "linux-"+runtime.GOARCH, "grove-startup")
		content, err := os.ReadFile(program)
		require.NoError(t, err)
		built = append(built, content)
		if runtime.GOOS == "linux" {
			version, err := exec.Command(program).CombinedOutput()
			if err != nil || !strings.HasPrefix(string(version), "v1.2.3 (commit ") {
				t.Errorf("version %q, %v, want that of the tag", version, err)
			}
		}
	}
	if !bytes.Equal(built[0], built[1]) {
		t.Error("two checkouts of one commit give different programs")
	}
}

func TestEveryProgramIsBuiltForBothPlatformsByOneRecipe(t *testing.T) {
	making := images(t, checkOut(t, "here"), "", "VERSION=v1.2.3", "COMMIT=abc", "DATE=2026-01-02")
	printed, err := making.run("binaries")
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	var want []string
	for program, dockerfile := range dockerfiles {
		flags := "-s -w -X packtree.dev/shared/version.version=v1.2.3 -X packtree.dev/shared/version.commit=abc " +
			"-X packtree.dev/shared/version.date=2026-01-02"
		if program == "kai-topology-plugin" {
			flags += " -X k8s.io/component-base/version.gitVersion=" + kubernetes(t)
		}
		module := filepath.Dir(dockerfile)
		for _, architecture := range []string{"amd64", "arm64"} {
			want = append(want, "linux/"+architecture+": go -C "+module+" build -trimpath -buildvcs=false -ldflags "+
				flags+" -o "+making.checkout+"/dist/linux-"+architecture+"/"+program+" ./cmd/"+program)
			buildable(t, module, program, architecture)
		}
	}
	slices.Sort(want)
	var got []string
	for line := range strings.Lines(printed) {
		if strings.Contains(line, ": go ") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	slices.Sort(got)
	assert.Empty(t, cmp.Diff(want, got), "builds (-want +got)")
}

// kubernetes is the version of Kubernetes in the scheduler.
func kubernetes(t *testing.T) string {
	t.Helper()
	return command(t, filepath.Join(repository, "kai-topology-plugin"), "go", "list", "-m", "-f", "{{.Version}}",
		"k8s.io/kubernetes")
}

// buildable requires that every package of a program has sources for an architecture, without compiling them.
func buildable(t *testing.T, module, program, architecture string) {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-f", "{{.Name}}", "./cmd/"+program)
	list.Dir = filepath.Join(repository, module)
	list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS=linux", "GOARCH="+architecture)
	listed, err := list.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(listed), "\nmain\n") {
		t.Errorf("%s cannot be built for linux/%s: %v\n%.2000s", program, architecture, err, listed)
	}
}

func TestWhatImagesLackIsSaidBeforeAnythingIsBuilt(t *testing.T) {
	for name, test := range map[string]struct {
		docker string
		set    []string
		want   string
	}{
		"docker":           {"", nil, "docker is missing"},
		"buildx":           {"exit 1", nil, "docker has no buildx"},
		"a capable driver": {`echo "Driver: docker"`, nil, "docker buildx create --use"},
		"a registry":       {"echo", []string{"PUSH=1"}, "PUSH needs REGISTRY"},
		"a commit": {"echo; touch new", []string{"PUSH=1", "REGISTRY=registry.example"},
			"the checkout has changes"},
		"a program": {"echo", []string{"IMAGES=grove-startup nobody"}, "there is no program nobody"},
		"an image":  {"echo", []string{"IMAGES=kubectl-packtree"}, "there is no image of kubectl-packtree"},
	} {
		t.Run(name, func(t *testing.T) {
			checkout := checkOut(t, "here")
			printed, err := images(t, checkout, test.docker, test.set...).run("images")
			if err == nil || !strings.Contains(printed, test.want) {
				t.Errorf("error %v and %q, want one with %q", err, printed, test.want)
			}
			if _, err := os.Stat(filepath.Join(checkout, "dist")); err == nil {
				t.Error("something was built")
			}
		})
	}
}

func TestImagesAreMadeForAllPlatformsWithWhatTheyAreMadeOf(t *testing.T) {
	chart, err := release.ReadChart(repository, "charts/grove-operator")
	require.NoError(t, err)
	for name, test := range map[string]struct {
		set  []string
		want []string
	}{
		"into a file": {nil, []string{
			"--file grove-operator/grove-startup.Dockerfile", "--platform linux/amd64,linux/arm64", "--sbom=true",
			"--provenance=mode=max",
			"--output type=oci,name=packtree/grove-startup:" + chart.AppVersion +
				",dest=dist/images/grove-startup.tar,rewrite-timestamp=true dist",
		}},
		"without SBOM": {[]string{"SBOM=0"}, []string{"--sbom=false --provenance=mode=max"}},
		"with a scanner of one's own": {[]string{"SBOM=generator=registry.example/sbom:1"},
			[]string{"--sbom=generator=registry.example/sbom:1 "}},
		"into a registry": {[]string{"PUSH=1", "REGISTRY=registry.example/team", "TAG=9", "BASE=static@sha256:1"},
			[]string{
				"--build-arg BASE=static@sha256:1",
				"--output type=image,name=registry.example/team/packtree/grove-startup:9,push=true,rewrite-timestamp=true dist",
			}},
	} {
		t.Run(name, func(t *testing.T) {
			checkout := checkOut(t, "here")
			set := append([]string{"IMAGES=grove-startup"}, test.set...)
			printed, err := images(t, checkout, `echo "$@ at $SOURCE_DATE_EPOCH"`, set...).run("images")
			if err != nil {
				t.Fatalf("%v\n%s", err, printed)
			}
			for _, want := range append(test.want, " at 1767323045\n") {
				if !strings.Contains(printed, want) {
					t.Errorf("docker is not called with %q:\n%s", want, printed)
				}
			}
			for _, architecture := range []string{"amd64", "arm64"} {
				file := filepath.Join(checkout, "dist", "linux-"+architecture, "grove-startup")
				if content, err := os.ReadFile(file); string(content) != "linux on "+architecture+"\n" {
					t.Errorf("%s is %q, %v", file, content, err)
				}
			}
		})
	}
}

// As buildx describes a pushed image.
const metadata = `{
  "buildx.build.ref": "b/b0/x",
  "containerimage.digest": "sha256:0123abcd",
  "image.name": "registry.example/team/packtree/grove-startup:9"
}
`

func TestImagesAreSignedByTheirDigests(t *testing.T) {
	for name, test := range map[string]struct {
		metadata, cosign, want, digests string
		fails                           bool
	}{
		"what was pushed": {metadata, `echo "cosign $@"`,
			"cosign sign --yes --recursive registry.example/team/packtree/grove-startup@sha256:0123abcd\n",
			"0123abcd  registry.example/team/packtree/grove-startup\n", false},
		"what was not pushed": {"", `echo "cosign $@"`,
			"dist/images/grove-startup.json has no digest of grove-startup", "", true},
		"what nobody can sign":      {metadata, "", "cosign is missing", "", true},
		"what cosign does not sign": {metadata, "exit 3", "", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			checkout := checkOut(t, "here")
			directory := filepath.Join(checkout, "dist", "images")
			require.NoError(t, os.MkdirAll(directory, 0o700))
			if test.metadata != "" {
				write(t, directory, "grove-startup.json", test.metadata)
			}
			signing := images(t, checkout, "", "IMAGES=grove-startup", "REGISTRY=registry.example/team")
			signing.has(t, "cosign", test.cosign)
			printed, err := signing.run("sign")
			if (err != nil) != test.fails || !strings.Contains(printed, test.want) {
				t.Errorf("error %v and %q, want %q", err, printed, test.want)
			}
			digests, err := os.ReadFile(filepath.Join(directory, "digests"))
			if string(digests) != test.digests || (err == nil) == test.fails {
				t.Errorf("digests %q, %v, want %q", digests, err, test.digests)
			}
		})
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(repository, file))
	require.NoError(t, err)
	return string(content)
}

// checkOut makes a repository with what the script reads and the sources of one small program, with one commit that
// always has the same time, and its tag.
func checkOut(t *testing.T, directory string) string {
	t.Helper()
	checkout := filepath.Join(t.TempDir(), directory)
	for _, part := range []string{".ci", "shared/version"} {
		require.NoError(t, os.CopyFS(filepath.Join(checkout, part), os.DirFS(filepath.Join(repository, part))))
	}
	files := []string{"shared/go.mod", "shared/go.sum"}
	for _, dockerfile := range dockerfiles {
		module := filepath.Dir(dockerfile)
		files = append(files, dockerfile, module+"/go.mod", module+"/go.sum", "charts/"+module+"/Chart.yaml")
	}
	for _, file := range files {
		write(t, checkout, file, read(t, file))
	}
	write(t, checkout, "grove-operator/cmd/grove-startup/main.go", theProgram)
	write(t, checkout, ".gitignore", "/dist/\n")
	for _, arguments := range [][]string{
		{"init", "-q"}, {"add", "."}, {"-c", "commit.gpgsign=false", "commit", "-qm", "all"},
		{"tag", "grove-operator/v1.2.3"}, {"tag", "-am", "newer", "podgrouper/v9.9.9"},
	} {
		git := exec.Command("git", arguments...)
		git.Dir = checkout
		git.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a",
			"GIT_AUTHOR_EMAIL=a@example.com",
			"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z",
			"GIT_COMMITTER_DATE=2026-01-02T03:04:05Z")
		if printed, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", arguments, err, printed)
		}
	}
	return checkout
}

func write(t *testing.T, directory, file, content string) {
	t.Helper()
	file = filepath.Join(directory, file)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
}

// script is .ci/images with an environment.
type script struct {
	checkout string
	tools    string
	env      []string
}

// has writes a program with these lines where the script finds its programs; empty for none.
func (s script) has(t *testing.T, name, lines string) {
	t.Helper()
	if lines == "" {
		return
	}
	require.NoError(t,
		os.WriteFile(filepath.Join(s.tools, name), []byte("#!"+filepath.Join(s.tools, "bash")+"\n"+lines+"\n"),
			0o700))
}

// links puts programs of this machine where the script finds its programs.
func (s script) links(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		found, err := exec.LookPath(program)
		require.NoError(t, err)
		link := filepath.Join(s.tools, program)
		_ = os.Remove(link)
		require.NoError(t, os.Symlink(found, link))
	}
}

// compiler prints its call, and writes a program that says what it is for.
const compiler = `echo "$GOOS/$GOARCH: go $@"
while [ "$1" != -o ]; do shift; done
mkdir -p "${2%/*}"
echo "$GOOS on $GOARCH" >"$2"
chmod 755 "$2"`

// images returns the script of a checkout with a go that records its calls, and with docker as a script of these lines;
// empty for no docker at all.
func images(t *testing.T, checkout, docker string, set ...string) script {
	t.Helper()
	env := append(os.Environ(), "IMAGES=", "PLATFORMS=", "REGISTRY=", "TAG=", "BASE=", "PUSH=", "SBOM=", "VERSION=",
		"COMMIT=", "DATE=", "SOURCE_DATE_EPOCH=")
	made := script{checkout: checkout, tools: t.TempDir()}
	made.env = append(append(env, "PATH="+made.tools), set...)
	made.links(t, "bash", "chmod", "dirname", "git", "grep", "mkdir", "sed", "touch")
	made.has(t, "go", compiler)
	made.has(t, "docker", docker)
	return made
}

func (s script) run(verb string) (printed string, err error) {
	command := exec.Command(filepath.Join(s.checkout, ".ci", "images"), verb)
	command.Env = s.env
	output, err := command.CombinedOutput()
	return string(output), err
}
