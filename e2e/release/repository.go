package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// Repository is a checkout, read through git.
type Repository struct {
	// Root is its top directory.
	Root string
}

// CheckState refuses a checkout that does not represent a commit: with changes, or without its history and tags.
func (r Repository) CheckState(ctx context.Context) error {
	changes, err := r.git(ctx, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changes != "" {
		return fmt.Errorf("a release is a commit, and the checkout has changes: commit them\n%s", changes)
	}
	shallow, err := r.git(ctx, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return err
	}
	if shallow == "true" {
		return errors.New(
			"the checkout is shallow, so that it does not show what has been released: run 'git fetch " +
				"--unshallow --tags'")
	}
	return nil
}

// Tags of this checkout or, with the name of a remote, of the remote.
func (r Repository) Tags(ctx context.Context, remote string) ([]string, error) {
	if remote == "" {
		listed, err := r.git(ctx, "tag", "--list")
		return strings.Fields(listed), err
	}
	listed, err := r.git(ctx, "ls-remote", "--tags", "--refs", remote)
	var tags []string
	for line := range strings.Lines(listed) {
		if _, tag, ok := strings.Cut(strings.TrimSpace(line), "refs/tags/"); ok {
			tags = append(tags, tag)
		}
	}
	return tags, err
}

// CheckReviewed refuses a commit that is not on the branch of the remote.
func (r Repository) CheckReviewed(ctx context.Context, remote, branch string) error {
	listed, err := r.git(ctx, "ls-remote", remote, "refs/heads/"+branch)
	if err != nil {
		return err
	}
	tip, _, found := strings.Cut(listed, "\t")
	if !found {
		return fmt.Errorf("%s has no branch %s: name the one that releases are made from with BRANCH", remote, branch)
	}
	if _, err := r.git(ctx, "merge-base", "--is-ancestor", "HEAD", tip); err != nil {
		return fmt.Errorf(
			"HEAD is not on %s of %s as far as this checkout knows: fetch, and release what has been merged",
			branch, remote)
	}
	return nil
}

// Changed lists the files below a directory that differ between a tag and HEAD, except CHANGELOGs and tests.
func (r Repository) Changed(ctx context.Context, tag, directory string) ([]string, error) {
	listed, err := r.git(ctx, "diff", "--name-only", "refs/tags/"+tag, "HEAD", "--", directory,
		":(exclude)"+directory+"/"+changelogs, ":(exclude,glob)"+directory+"/**/*_test.go")
	if err != nil {
		return nil, fmt.Errorf("%w; 'git fetch --tags' brings tags of others", err)
	}
	if listed == "" {
		return nil, nil
	}
	return strings.Split(listed, "\n"), nil
}

func (r Repository) git(ctx context.Context, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", arguments...)
	command.Dir = r.Root
	var complaints bytes.Buffer
	command.Stderr = &complaints
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(arguments, " "), err, complaints.String())
	}
	return strings.TrimSpace(string(output)), nil
}
