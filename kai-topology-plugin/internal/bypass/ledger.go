// Package bypass keeps gangs that wait for much room from being passed for ever by gangs that need little.
//
// A gang that does not fit does not hold up those behind it: they take room where they find it. But whenever one of them
// takes room that the waiting gang could use, that is counted for the domain in which it does. Once Bound gangs have passed a
// waiting gang in one domain, the domain is closed to all gangs that rank below it, until it is placed. Other domains stay
// open, and so does the closed one for pods that ask for nothing that the waiting gang is short of.
//
// So a gang that waits is passed at most Bound times in each domain that could hold it, and from then on what leaves such a
// domain is not replaced by anything of lower rank. There is no clock in it. The counts are memory only; what can be
// rebuilt from the API server after a restart is how many of those that passed still stand: see Recount.
package bypass

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"packtree.dev/kai-topology-plugin/internal/gang"
)

// Bound is how many gangs may pass a waiting gang in one domain.
const Bound = 8

// Claim is what a gang waits for.
type Claim struct {
	Rank   gang.Rank
	Ground Ground
	// Scarce are the resources that the gang is short of. Who asks for none of them is not in its way.
	Scarce []string
	// Version tells apart what the gang asked for at different times.
	Version int64
}

// Closure is a domain that is kept for a gang.
type Closure struct {
	For    gang.Key
	Ground Ground
	Domain string
	Scarce []string
}

// Keeps reports whether the closure is about a node with these labels.
func (c Closure) Keeps(labels map[string]string) bool {
	domain, ok := c.Ground.Domain(labels)
	return ok && domain == c.Domain
}

// Taking is a gang that takes room.
type Taking struct {
	Rank gang.Rank
	// Asks reports whether any pod of it asks for a resource.
	Asks func(resource string) bool
	// Nodes are the labels of the nodes that it takes room on.
	Nodes []map[string]string
}

// Ledger counts how often each waiting gang is passed. Its methods may be called from any goroutine.
type Ledger struct {
	mu      sync.Mutex
	waiting map[gang.Key]*waiting
	// turnedAway are gangs that may have been kept out of a closed domain.
	turnedAway map[gang.Key]bool
}

type waiting struct {
	claim  Claim
	passed map[string]int
	// tried is the state of the room in which the gang was last tried.
	tried int64
}

// New returns an empty ledger.
func New() *Ledger {
	return &Ledger{waiting: map[gang.Key]*waiting{}, turnedAway: map[gang.Key]bool{}}
}

// Wait records that a gang was tried and does not fit, when the room was in the given state: a number that grows whenever
// room becomes free. It reports whether that is new; what is known of the gang's domains stays otherwise. If the gang now
// waits for something else, it returns those who may try again.
func (l *Ledger) Wait(claim Claim, room int64) (first bool, again []gang.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.waiting[claim.Rank.Gang]
	if known == nil {
		l.waiting[claim.Rank.Gang] = &waiting{claim: claim, passed: map[string]int{}, tried: room}
		return true, nil
	}
	if known.full() && !known.claim.equal(claim) {
		again = l.callAgain()
	}
	if !slices.Equal(known.claim.Ground.Levels, claim.Ground.Levels) {
		known.passed = map[string]int{}
	}
	known.claim, known.tried = claim, room
	return false, again
}

func (c Claim) equal(other Claim) bool {
	return c.Version == other.Version && slices.Equal(c.Ground.Levels, other.Ground.Levels) && slices.Equal(c.Scarce, other.Scarce)
}

// callAgain returns the gangs that may have been kept out, and forgets them.
func (l *Ledger) callAgain() []gang.Key {
	again := slices.SortedFunc(maps.Keys(l.turnedAway), func(a, b gang.Key) int { return cmp.Compare(a.String(), b.String()) })
	clear(l.turnedAway)
	return again
}

// Tried records that a gang which waits has had its turn in this state of the room.
func (l *Ledger) Tried(key gang.Key, room int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.waiting[key]; known != nil {
		known.tried = room
	}
}

// Ahead returns the first gang whose turn it is before another takes room that it could use: it ranks higher, and has not been
// tried in this state of the room.
func (l *Ledger) Ahead(taking Taking, room int64) (key gang.Key, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var first *waiting
	for _, known := range l.waiting {
		if known.tried < room && known.competes(taking) && (first == nil || known.claim.Rank.Compare(first.claim.Rank) < 0) {
			first = known
		}
	}
	if first == nil {
		return gang.Key{}, false
	}
	return first.claim.Rank.Gang, true
}

// competes reports whether the gang ranks above one that takes room which it could use.
func (w *waiting) competes(taking Taking) bool {
	return w.claim.before(taking.Rank) && slices.ContainsFunc(w.claim.Scarce, taking.Asks) && len(w.claim.touched(taking)) > 0
}

// touched returns the domains of the claim in which a gang takes room.
func (c Claim) touched(taking Taking) map[string]bool {
	in := map[string]bool{}
	for _, labels := range taking.Nodes {
		if domain, ok := c.Ground.Domain(labels); ok {
			in[domain] = true
		}
	}
	return in
}

// Waits reports whether a gang is known to wait.
func (l *Ledger) Waits(key gang.Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting[key] != nil
}

// Done records that a gang waits no more: it was placed, or cannot be for a reason of its own. It returns the gangs that may
// try again now, if it kept anything from anybody.
func (l *Ledger) Done(key gang.Key) []gang.Key {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.waiting[key]
	delete(l.waiting, key)
	delete(l.turnedAway, key)
	if known == nil || !known.full() {
		return nil
	}
	return l.callAgain()
}

// MayKeepFrom reports whether a gang may have been kept out of a closed domain when it was last tried.
func (l *Ledger) MayKeepFrom(key gang.Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.turnedAway[key]
}

// Waiting returns the gangs that wait.
func (l *Ledger) Waiting() []gang.Key {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.waiting))
}

// Above returns the gangs that wait and have a higher priority.
func (l *Ledger) Above(priority int32) (above []gang.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, known := range l.waiting {
		if known.claim.Rank.Priority > priority {
			above = append(above, key)
		}
	}
	return above
}

func (w *waiting) full() bool {
	for _, passes := range w.passed {
		if passes >= Bound {
			return true
		}
	}
	return false
}

// Take records that a gang takes room: it passes each waiting gang of higher rank that could have used it, once in every
// domain concerned.
func (l *Ledger) Take(taking Taking) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, known := range l.waiting {
		if !known.competes(taking) {
			continue
		}
		for domain := range known.claim.touched(taking) {
			known.passed[domain]++
		}
	}
}

// before reports whether the claim goes before a rank.
func (c Claim) before(other gang.Rank) bool {
	return c.Rank.Gang != other.Gang && c.Rank.Compare(other) < 0
}

// Closed returns the domains that are closed to a gang of the given rank, in a stable order. Holds tells whether a waiting
// gang would fit into a domain if nothing else stood there: one that would not is not kept for it.
func (l *Ledger) Closed(rank gang.Rank, holds func(Closure) bool) []Closure {
	var closed []Closure
	for _, passed := range l.passed(rank) {
		if holds(passed) {
			closed = append(closed, passed)
		}
	}
	return closed
}

// passed returns what may be closed to a gang, and remembers it as one to be called when that opens again.
func (l *Ledger) passed(rank gang.Rank) []Closure {
	l.mu.Lock()
	defer l.mu.Unlock()
	var full []Closure
	for key, known := range l.waiting {
		if !known.claim.before(rank) {
			continue
		}
		for domain, passes := range known.passed {
			if passes >= Bound {
				full = append(full, Closure{For: key, Ground: known.claim.Ground, Domain: domain, Scarce: known.claim.Scarce})
			}
		}
	}
	if len(full) > 0 {
		l.turnedAway[rank.Gang] = true
	} else {
		delete(l.turnedAway, rank.Gang)
	}
	slices.SortFunc(full, func(a, b Closure) int {
		return cmp.Or(cmp.Compare(a.For.String(), b.For.String()), cmp.Compare(a.Domain, b.Domain))
	})
	return full
}
