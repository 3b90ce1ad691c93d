package kubectlpacktree

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strconv"

	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/live"
	"packtree.dev/kai-topology-plugin/internal/overview"
	"packtree.dev/kai-topology-plugin/internal/recording"
	"packtree.dev/kai-topology-plugin/internal/view"
)

// timeline is a recording of which people look at any moment.
type timeline struct {
	recorded *recording.Recording
	asked    overview.Question
}

func readTimeline(file string, asked overview.Question) (*timeline, error) {
	opened, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("--recording: %w", err)
	}
	defer func() { _ = opened.Close() }()
	recorded, err := recording.Read(opened)
	if err != nil {
		return nil, fmt.Errorf("--recording: %s: %w", file, err)
	}
	return &timeline{recorded, asked}, nil
}

// overview is that of a moment, by its place.
func (t *timeline) overview(ctx context.Context, place int) (*overview.Overview, error) {
	_, seen, err := t.at(ctx, place)
	return seen, err
}

// at is a moment, by its place. The overview of the first says which others there are.
func (t *timeline) at(ctx context.Context, place int) (*inventory.Inventory, *overview.Overview, error) {
	cluster, err := t.recorded.At(place)
	if err != nil {
		return nil, nil, err
	}
	seen, err := overview.Of(ctx, cluster, t.asked)
	if err == nil && place == 0 {
		seen.Moments = t.recorded.Moments()
	}
	return cluster, seen, err
}

// decider decides the gangs of an overview that wait, one of so many overviews that are left.
type decider func(ctx context.Context, cluster *inventory.Inventory, seen *overview.Overview, left int) error

// all are the overview of the first moment and those of all moments, packed. After each it calls done with how many
// there are.
func (t *timeline) all(
	ctx context.Context, decide decider, done func(of int),
) (first []byte, moments *view.Moments, err error) {
	moments = &view.Moments{}
	count := len(t.recorded.Moments())
	for place := range count {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		cluster, seen, err := t.at(ctx, place)
		if err != nil {
			return nil, nil, err
		}
		if err := decide(ctx, cluster, seen, count-place); err != nil {
			return nil, nil, err
		}
		content, err := json.Marshal(seen)
		if err != nil {
			return nil, nil, err
		}
		if place == 0 {
			first = content
		}
		moments.Add(content)
		done(count)
	}
	return first, moments, nil
}

// answers are those about moments: each question says about which.
func (t *timeline) answers() map[string]view.Answer {
	return map[string]view.Answer{
		"moment": func(ctx context.Context, asked url.Values) (any, error) {
			place, err := placeOf(asked)
			if err != nil {
				return nil, err
			}
			return t.overview(ctx, place)
		},
		"explain": func(ctx context.Context, asked url.Values) (any, error) {
			then, err := t.then(asked)
			if err != nil {
				return nil, err
			}
			return then.explain(ctx, asked.Get("namespace"), asked.Get("name"))
		},
		"repairability": func(ctx context.Context, asked url.Values) (any, error) {
			then, err := t.then(asked)
			if err != nil {
				return nil, err
			}
			return then.repairability(ctx)
		},
	}
}

// then is the cluster at the moment that is asked about.
func (t *timeline) then(asked url.Values) (*latest, error) {
	place, err := placeOf(asked)
	if err != nil {
		return nil, err
	}
	cluster, err := t.recorded.At(place)
	if err != nil {
		return nil, err
	}
	then := &latest{}
	then.keep(&live.Cluster{Inventory: cluster})
	return then, nil
}

func placeOf(asked url.Values) (int, error) {
	place, err := strconv.Atoi(asked.Get("moment"))
	if err != nil {
		return 0, fmt.Errorf("%q is no number of a moment", asked.Get("moment"))
	}
	return place, nil
}
