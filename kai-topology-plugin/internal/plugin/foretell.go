package plugin

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/metrics"
	"packtree.dev/kai-topology-plugin/internal/repair"
	"packtree.dev/kai-topology-plugin/internal/turns"
)

// forecaster foretells failures.
type forecaster struct{ beside }

// run foretells at intervals what the failure of each node and domain would do to gangs, on a copy of the cluster and
// beside the scheduling loop, until ctx is done: if that is asked for, and no other profile does it.
func (f *forecaster) run(ctx context.Context) {
	every := f.profiles.claimForecasts()
	if every == 0 {
		return
	}
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := f.once(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Foretelling failures")
		}
	}, every)
}

func (f *forecaster) once(ctx context.Context) error {
	cluster, err := f.shown()
	if err != nil {
		return err
	}
	pace := &pace{share: foretellShare, now: f.clock.Now, rest: func(rest time.Duration) { sleep(ctx, rest) }}
	pace.begin()
	known, copied := &f.profiles.known, &f.profiles.copied
	err = copied.On(ctx, cluster, known.Begin)
	// Others have the copy while this rests. What they have it follow meanwhile is known to what is foretold next.
	for more := true; more && err == nil && ctx.Err() == nil; pace.step() {
		err = copied.Again(func(table *turns.Table) (err error) {
			for more && err == nil && !pace.due() {
				more, err = known.Next(ctx, table)
			}
			return err
		})
	}
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return err
	}
	forecasts := known.All()
	metrics.Foretold(levelForecasts(forecasts), f.clock.Now(), pace.end())
	round := repairabilities(cluster, forecasts)
	for _, listener := range f.profiles.now().listeners {
		listener(round)
	}
	return nil
}

// levelForecasts are what metrics report of forecasts.
func levelForecasts(forecasts []*repair.Forecast) []metrics.LevelForecast {
	var levels []metrics.LevelForecast
	for _, level := range repair.Levels(forecasts) {
		levels = append(levels, metrics.LevelForecast{
			Level: level.Key,
			Worst: map[metrics.FailureOutcome]int{
				metrics.MendedInPlace:  level.Worst.InPlace,
				metrics.MendedByMoving: level.Worst.Moving,
				metrics.Lost:           level.Worst.Lost,
			},
			Domains: map[metrics.FailureOutcome]int{
				metrics.NothingHit:     level.Idle,
				metrics.MendedInPlace:  level.InPlace,
				metrics.MendedByMoving: level.Moving,
				metrics.Lost:           level.Losing,
			},
		})
	}
	return levels
}

// repairabilities is what the statuses of gangs are to say.
func repairabilities(cluster *inventory.Inventory, forecasts []*repair.Forecast) map[gang.Key]gangstate.Repairability {
	losses := repair.Losses(forecasts)
	round := map[gang.Key]gangstate.Repairability{}
	for _, podGroup := range cluster.PodGroups {
		key := gang.KeyOfPodGroup(podGroup)
		failures, stands := losses[key.String()]
		if !stands {
			continue
		}
		found := gangstate.Repairability{}
		if len(failures) > 0 {
			found.LostWith, found.Node = failures[0].String(), failures[0].Node() != ""
		}
		round[key] = found
	}
	return round
}

// foretoldApart is the time between two statuses that are written for what was foretold: a node more or less can change
// what is said of every gang of the cluster, and other statuses are of more use.
const foretoldApart = 100 * time.Millisecond

// foretold has the statuses written of which something else is foretold than before.
func (f *forecaster) foretold(round map[gang.Key]gangstate.Repairability) {
	for i, key := range f.gangs.Foretold(round).WriteStatus {
		f.effects.status.EnqueueAfter(key, time.Duration(i)*foretoldApart)
	}
}

const (
	// foretellShare is how much of one core foretelling may take: a tenth.
	foretellShare = 10
	// spell is how long it works before it rests.
	spell = 20 * time.Millisecond
)

// pace has long work rest so often that it takes no more than a share of the time.
type pace struct {
	share  time.Duration
	now    func() time.Time
	rest   func(time.Duration)
	since  time.Time
	worked time.Duration
}

func (p *pace) begin() { p.since = p.now() }

// due reports whether it is time to rest.
func (p *pace) due() bool { return p.now().Sub(p.since) >= spell }

// step is called between two pieces of the work.
func (p *pace) step() {
	if !p.due() {
		return
	}
	spent := p.now().Sub(p.since)
	p.worked += spent
	p.rest(spent * (p.share - 1))
	p.begin()
}

// end returns how long all of the work took without its rests.
func (p *pace) end() time.Duration { return p.worked + p.now().Sub(p.since) }

func sleep(ctx context.Context, length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
