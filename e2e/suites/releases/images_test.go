// Package releases tests the files of a release.
package releases

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		if diff := cmp.Diff(want, instruction.FindAllString(read(t, dockerfile), -1)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", dockerfile, diff)
		}
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
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(content, &values); err != nil {
			t.Fatal(err)
		}
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

func TestTheSameCommitGivesTheSameProgramWhereverItIsBuilt(t *testing.T) {
	platform := "linux/" + runtime.GOARCH
	var built [][]byte
	for _, directory := range []string{"here", "somewhere/else/altogether"} {
		checkout := checkOut(t, directory)
		if printed, err := images(t, checkout, "", "IMAGES=grove-startup", "PLATFORMS="+platform).run(
			"binaries"); err != nil {
			t.Fatalf("%v\n%s", err, printed)
		}
		program := filepath.Join(checkout, "dist", "linux-"+runtime.GOARCH, "grove-startup")
		content, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		built = append(built, content)
		if runtime.GOOS == "linux" {
			version, err := exec.Command(program, "--version").Output()
			if err != nil || !strings.HasPrefix(string(version), "grove-startup version v1.2.3 (commit ") {
				t.Errorf("version %q, %v, want that of the tag", version, err)
			}
		}
	}
	if !bytes.Equal(built[0], built[1]) {
		t.Error("two checkouts of one commit give different programs")
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
	if err != nil {
		t.Fatal(err)
	}
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
			for _, platform := range []string{"linux-amd64", "linux-arm64"} {
				if _, err := os.Stat(filepath.Join(checkout, "dist", platform, "grove-startup")); err != nil {
					t.Error(err)
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
			if err := os.MkdirAll(directory, 0o700); err != nil {
				t.Fatal(err)
			}
			if test.metadata != "" {
				if err := os.WriteFile(filepath.Join(directory, "grove-startup.json"), []byte(test.metadata),
					0o600); err != nil {
					t.Fatal(err)
				}
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
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// checkOut makes a repository with the sources of grove-startup, with one commit that always has the same time, and its
// tag.
func checkOut(t *testing.T, directory string) string {
	t.Helper()
	checkout := filepath.Join(t.TempDir(), directory)
	for _, part := range []string{"shared", "grove-operator", ".ci", "charts/grove-operator"} {
		if err := os.CopyFS(filepath.Join(checkout, part), os.DirFS(filepath.Join(repository, part))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(checkout, ".gitignore"), []byte("/dist/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
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
	if err := os.WriteFile(filepath.Join(s.tools, name), []byte("#!"+filepath.Join(s.tools, "bash")+"\n"+lines+"\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
}

// images returns the script of a checkout with docker as a script of these lines; empty for no docker at all.
func images(t *testing.T, checkout, docker string, set ...string) script {
	t.Helper()
	tools := t.TempDir()
	for _, tool := range []string{"bash", "dirname", "git", "go", "grep", "mkdir", "sed", "touch"} {
		found, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(found, filepath.Join(tools, tool)); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "PATH="+tools, "IMAGES=", "PLATFORMS=", "REGISTRY=", "TAG=", "BASE=", "PUSH=", "SBOM=",
		"VERSION=", "COMMIT=", "DATE=", "SOURCE_DATE_EPOCH=")
	made := script{checkout: checkout, tools: tools, env: append(env, set...)}
	made.has(t, "docker", docker)
	return made
}

func (s script) run(verb string) (printed string, err error) {
	command := exec.Command(filepath.Join(s.checkout, ".ci", "images"), verb)
	command.Env = s.env
	output, err := command.CombinedOutput()
	return string(output), err
}
