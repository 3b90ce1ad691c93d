package pace

import "time"

// bucket is a token bucket that may be overdrawn: what has to be done is done at once, and what comes later waits for it.
type bucket struct {
	// rate is tokens a second, most how many there are after a rest.
	rate, most float64
	// tokens were there at a moment; negative is what has been spent ahead.
	tokens float64
	at     time.Time
	// begun are the passes under way that may spend of it.
	begun int
}

// refill brings the tokens up to now. Time does not run backwards.
func (b *bucket) refill(now time.Time) {
	if passed := now.Sub(b.at); passed > 0 {
		b.tokens = min(b.most, b.tokens+b.rate*passed.Seconds())
		b.at = now
	}
}

func (b *bucket) spend(now time.Time) {
	b.refill(now)
	b.tokens--
}

// wait is how long another pass has to wait until there is a token for it beside those of the passes under way; 0 if it
// may begin. It may be told to wait for a token that one of those leaves over.
func (b *bucket) wait(now time.Time) time.Duration {
	b.refill(now)
	// One pass may always be under way once nothing is owed, however small the burst.
	missing := min(float64(b.begun)+1, max(b.most, 1)) - b.tokens
	if missing <= 0 {
		return 0
	}
	return max(time.Duration(missing/b.rate*float64(time.Second)), time.Millisecond)
}
