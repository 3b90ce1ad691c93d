package kubectlpacktree

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strconv"

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
	cluster, err := t.recorded.At(place)
	if err != nil {
		return nil, err
	}
	return overview.Of(ctx, cluster, t.asked)
}

// beginning is the overview of the first moment, which says which others there are.
func (t *timeline) beginning(ctx context.Context) (*overview.Overview, error) {
	seen, err := t.overview(ctx, 0)
	if err != nil {
		return nil, err
	}
	seen.Moments = t.recorded.Moments()
	return seen, nil
}

// all are the overview of the first moment and those of all moments, packed. After each it calls done with how many there are.
func (t *timeline) all(ctx context.Context, done func(of int)) (first []byte, moments *view.Moments, err error) {
	seen, err := t.beginning(ctx)
	if err != nil {
		return nil, nil, err
	}
	if first, err = json.Marshal(seen); err != nil {
		return nil, nil, err
	}
	moments = &view.Moments{}
	moments.Add(first)
	for place := range seen.Moments[1:] {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		then, err := t.overview(ctx, place+1)
		if err != nil {
			return nil, nil, err
		}
		content, err := json.Marshal(then)
		if err != nil {
			return nil, nil, err
		}
		moments.Add(content)
		done(len(seen.Moments) - 1)
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
