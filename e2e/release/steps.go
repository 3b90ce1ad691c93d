package release

import (
	"context"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// packaged is the directory of packaged charts, below the root.
const packaged = "dist/charts"

// Destination is the target of a release.
type Destination struct {
	// Registry is the host and path in front of packtree/<program> and packtree/charts/<chart>.
	Registry string
	// Remote is the git remote that gets the tags.
	Remote string
	// Downloads is the URL in front of <tag>/<file> of the files that GitHub offers for download; empty if there are
	// none.
	Downloads string
	// Sign makes cosign sign everything in the registry, with the identity that cosign finds for the caller.
	Sign bool
}

// Step is one command of a release, run at the root of the repository.
type Step struct {
	// Says what it does.
	Says string
	// Set are variables of its environment, as NAME=value.
	Set []string
	// Command is the program and its arguments.
	Command []string
	// Outward is true for steps that others see, and for tags: a dry run leaves them out.
	Outward bool
}

// Steps are the steps of one release, in this order. The tag comes last: a version with its tag is complete, and one
// without it is made again from the start, with the same bytes in its images as long as the commit is the same.
func Steps(release Release, destination Destination) []Step {
	var steps []Step
	if release.Chart != "" {
		steps = append(steps, Step{
			Says:    "package the chart",
			Command: []string{"bin/tools/helm", "package", release.Chart, "--destination", packaged},
		})
	}
	if len(release.Images) > 0 {
		set := []string{"IMAGES=" + strings.Join(release.Images, " "), "VERSION=" + release.Version,
			"TAG=" + release.Number(),
			"REGISTRY=" + destination.Registry, "PUSH=1"}
		steps = append(steps,
			Step{Says: "build and push the images", Command: []string{".ci/images", "images"}, Set: set, Outward: true})
		if destination.Sign {
			steps = append(steps,
				Step{Says: "sign the images", Command: []string{".ci/images", "sign"}, Set: set, Outward: true})
		}
	}
	if release.Chart != "" {
		steps = append(steps, Step{
			Says: "push the chart",
			Command: []string{"bin/tools/helm", "push", path.Join(packaged, release.Name+"-"+release.Number()+".tgz"),
				"oci://" + destination.Registry + "/packtree/charts"},
			Outward: true,
		})
		if destination.Sign {
			steps = append(steps, Step{
				Says: "sign the chart",
				Command: []string{"cosign", "sign", "--yes",
					destination.Registry + "/packtree/charts/" + release.Name + ":" + release.Number()},
				Outward: true,
			})
		}
	}
	steps = append(steps, pluginSteps(release, destination)...)
	// --force is for a tag that was made here and is missing at the remote, by the list of its tags.
	return append(steps, Step{
		Says: "tag the commit, with the text of the CHANGELOG",
		Command: []string{"git", "tag", "--annotate", "--force", "--cleanup=whitespace", "--file", release.File(),
			release.Tag(), "HEAD"},
		Outward: true,
	}, Step{
		Says:    "push the tag",
		Command: []string{"git", "push", destination.Remote, "refs/tags/" + release.Tag()},
		Outward: true,
	})
}

// pluginSteps make a draft at GitHub with the archives of the kubectl plugin: it is to be published once the tag
// exists.
func pluginSteps(release Release, destination Destination) []Step {
	if release.Plugin == "" || destination.Downloads == "" {
		return nil
	}
	files, version := strings.TrimSuffix(destination.Downloads, "/")+"/"+release.Tag(), "VERSION="+release.Version
	return []Step{{
		Says:    "make the archives of the kubectl plugin and its Krew manifest",
		Command: []string{".ci/images", "plugin"},
		Set:     []string{version, "DOWNLOADS=" + files},
		Outward: true,
	}, {
		Says:    "draft a release with them",
		Command: []string{".ci/images", "draft"},
		Set:     []string{version, "RELEASE=" + release.Tag(), "NOTES=" + release.File()},
		Outward: true,
	}}
}

// Run runs the steps of one release, and stops at the first failure. Without push, steps with an effect outside of
// this machine are only printed.
func (r Repository) Run(
	ctx context.Context, release Release, destination Destination, push bool, output io.Writer,
) error {
	for _, step := range Steps(release, destination) {
		line := strings.Join(append(quoted(step.Set), quoted(step.Command)...), " ")
		if step.Outward && !push {
			fmt.Fprintf(output, "%s: would %s: %s\n", release.Tag(), step.Says, line)
			continue
		}
		fmt.Fprintf(output, "%s: %s: %s\n", release.Tag(), step.Says, line)
		words := slices.Clone(step.Command)
		if strings.Contains(words[0], "/") { // A program of the repository.
			words[0] = filepath.Join(r.Root, words[0])
		}
		if err := run(ctx, output, r.Root, step.Set, words); err != nil {
			return fmt.Errorf("%s: %s: %w", release.Tag(), step.Says, err)
		}
	}
	return nil
}

func quoted(words []string) []string {
	shown := make([]string, len(words))
	for i, word := range words {
		shown[i] = word
		if strings.Contains(word, " ") {
			shown[i] = "'" + word + "'"
		}
	}
	return shown
}
