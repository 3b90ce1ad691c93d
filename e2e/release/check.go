package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Plan has the releases of a commit.
type Plan struct {
	// Releases are the requested ones, each after the releases that it needs.
	Releases []Release
	// Along are all releases that count as made from this commit.
	Along []Release
}

// Plan reads the repository and returns the releases of its commit, or all refusals, joined. It builds nothing. train
// narrows it to one train; the tags are those of the remote, or of the checkout without one. With alone, pending
// releases of other trains do not count as released.
func (r Repository) Plan(ctx context.Context, train, remote string, alone bool) (Plan, error) {
	trains, err := Trains(r.Root)
	if err != nil {
		return Plan{}, err
	}
	if train != "" && !slices.ContainsFunc(trains, func(t Train) bool { return t.Name == train }) {
		return Plan{}, fmt.Errorf("nothing named %q is released: there are %s", train, names(trains))
	}
	if err := r.CheckState(ctx); err != nil {
		return Plan{}, err
	}
	tags, err := r.Tags(ctx, remote)
	if err != nil {
		return Plan{}, err
	}
	pending, refusals := Pending(trains, tags)
	plan := Plan{Releases: Only(pending, train), Along: pending}
	if alone {
		plan.Along = plan.Releases
	}
	standing := Standing{Trains: trains, Along: plan.Along, Tags: tags,
		Changed: func(tag, directory string) ([]string, error) {
			return r.Changed(ctx, tag, directory)
		}}
	for _, release := range plan.Releases {
		more, err := r.Judge(release, standing)
		if err != nil {
			return Plan{}, err
		}
		refusals = append(refusals, more...)
		if more, err = checkFrozen(r.Root, release); err != nil {
			return Plan{}, err
		}
		refusals = append(refusals, more...)
	}
	return plan, joined(refusals)
}

// Judge collects the inputs of the rules for one release, and applies each rule. The frozen files are not checked:
// until the release they may be older than the commit.
func (r Repository) Judge(release Release, standing Standing) ([]Refusal, error) {
	content, err := os.ReadFile(filepath.Join(r.Root, release.File()))
	if err != nil {
		return nil, err
	}
	refusals := checkChangelog(release, content)
	more, err := checkRequires(release, standing)
	if err != nil || release.Chart == "" {
		return append(refusals, more...), err
	}
	refusals = append(refusals, more...)
	all, err := charts(r.Root)
	if err != nil {
		return nil, err
	}
	more, err = checkChart(release, all[release.Chart], standing)
	refusals = append(refusals, more...)
	return append(refusals, checkHolders(release, all)...), err
}

func joined(refusals []Refusal) error {
	all := make([]error, len(refusals))
	for i, refusal := range refusals {
		all[i] = refusal
	}
	return errors.Join(all...)
}

func names(trains []Train) string {
	var all []string
	for _, train := range trains {
		all = append(all, train.Name)
	}
	return strings.Join(all, ", ")
}
