package gangstate

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/shared/packing"
)

// A gang that does not fit does not hold up those behind it: they take room where they find it. But whenever one of
// them takes room that the waiting gang could use, that is counted for the domain in which it does. Once MaxOvertakes
// gangs have overtaken a waiting gang in one domain, the domain is closed to all gangs that rank below it, until it
// is placed. Other domains stay open, and so does the closed one for pods that ask for nothing that the waiting gang
// is short of.
//
// So a gang that waits is overtaken at most MaxOvertakes times in each domain that could hold it, and from then on
// what leaves such a domain is not replaced by anything of lower rank. There is no clock in it. What can be rebuilt
// from the API server after a restart is how many of those that overtook still stand: see Recount.

// MaxOvertakes is how many gangs may overtake a waiting gang in one domain.
const MaxOvertakes = 8

// Ground is where a gang could stand as a whole: in any domain of a level, or, without one, in the cluster.
type Ground struct {
	// Levels are node label keys, from the broadest to the one of which the gang needs a single domain. Empty means
	// that it may be spread over the cluster.
	Levels []string
}

// Domain returns the domain of a node, by its labels, as its path, and false if the gang cannot stand there. The
// cluster is the empty path.
func (g Ground) Domain(labels map[string]string) (string, bool) {
	path := make(packing.Path, len(g.Levels))
	for i, level := range g.Levels {
		value, ok := labels[level]
		if !ok {
			return "", false
		}
		path[i] = value
	}
	return path.String(), true
}

// Claim is what a gang waits for.
type Claim struct {
	Rank   gang.Rank
	Ground Ground
	// Scarce are the resources that the gang is short of. Who asks for none of them is not in its way.
	Scarce []string
	// Generation tells apart what the gang asked for at different times.
	Generation int64
}

// KeptDomain is a domain that is kept for a gang.
type KeptDomain struct {
	For    gang.Key
	Ground Ground
	Domain string
	Scarce []string
}

// Keeps reports whether the domain is about a node with these labels.
func (c KeptDomain) Keeps(labels map[string]string) bool {
	domain, ok := c.Ground.Domain(labels)
	return ok && domain == c.Domain
}

// Taking is a gang that takes room.
type Taking struct {
	Rank gang.Rank
	// Asks has the resources that any pod of it asks for.
	Asks sets.Set[string]
	// Nodes are the labels of the nodes that it takes room on.
	Nodes []map[string]string
	// touched has the domains of each ground that was asked about.
	touched []touched
}

// touched are the domains of a ground in which a gang takes room.
type touched struct {
	Ground
	domains map[string]bool
}

// overtaken is a gang that waits, and how often it was overtaken in each domain.
type overtaken struct {
	claim  Claim
	passed map[string]int
	// closed are the domains in which that was as often as may be.
	closed []string
	// tried is the state of the room in which the gang was last tried.
	tried int64
	// holds are answers to whether a domain could hold the gang, and fitting the domains for which the last one was
	// yes.
	holds   map[Emptied]bool
	fitting sets.Set[string]
}

// Emptied asks whether a domain would hold a waiting gang if nothing stood there. Terrain tells apart what the nodes
// were like.
type Emptied struct {
	Domain     string
	Generation int64
	Terrain    int
}

// maxEmptied is how many answers about domains are remembered of one gang.
const maxEmptied = 1024

// DidNotFit records that a gang was tried and does not fit, by a decision that began in the given state of things. It
// reports whether that is new, and then what can be recounted: see Recount. What is known of the gang's domains stays
// otherwise.
func (s *State) DidNotFit(asked *gang.Gang, claim Claim, began Moment) (first bool, effects Effects) {
	effects = s.change(claim.Rank.Gang, func(r *record, e *Effects) {
		r.attempts.fail(asked.PodGroup.Generation)
		// Whoever changed it since the decision began had it stop waiting, or could not know that it would wait.
		changed := r.edited > began.edits && s.waitsInVain(r)
		if changed || r.attempts.givenUp(asked.PodGroup) != "" {
			s.stopWaiting(e, r)
			return
		}
		first = s.wait(e, r, claim, began.Room)
	})
	return first, effects
}

// wait records what a gang waits for. If that is something else than before, those may try again that were kept out
// for it.
func (s *State) wait(e *Effects, r *record, claim Claim, room int64) (first bool) {
	known := r.overtaken
	if known == nil {
		r.overtaken = &overtaken{
			claim: claim, passed: map[string]int{}, tried: room, holds: map[Emptied]bool{}, fitting: sets.New[string](),
		}
		return true
	}
	if known.full() && !known.claim.equal(claim) {
		s.activateBarred(e)
	}
	if !slices.Equal(known.claim.Ground.Levels, claim.Ground.Levels) {
		known.passed, known.closed, known.fitting = map[string]int{}, nil, sets.New[string]()
	}
	known.claim, known.tried = claim, room
	return false
}

func (c Claim) equal(other Claim) bool {
	return c.Generation == other.Generation && c.Rank.Compare(other.Rank) == 0 &&
		slices.Equal(c.Ground.Levels, other.Ground.Levels) && slices.Equal(c.Scarce, other.Scarce)
}

// activateBarred has those try again that may have been kept out of a domain.
func (s *State) activateBarred(e *Effects) {
	for _, r := range s.gangs {
		if r.barred {
			r.barred = false
			s.activatePending(e, r)
		}
	}
}

// Placed records that a gang was given nodes: it overtakes each waiting gang of higher rank that could have used
// them, once in every domain concerned.
func (s *State) Placed(taking Taking) {
	s.change(taking.Rank.Gang, func(r *record, _ *Effects) {
		r.attempts = attempts{}
		s.take(taking)
	})
}

func (s *State) take(taking Taking) {
	for _, r := range s.waiting {
		if !r.overtaken.competes(&taking) {
			continue
		}
		for domain := range taking.in(r.overtaken.claim.Ground) {
			r.overtaken.pass(domain, r.overtaken.passed[domain]+1)
		}
	}
}

// Recount records the gangs that stand and took their room while a gang waited, which a scheduler that starts anew
// does not remember. Those that have come and gone are lost, so that a waiting gang can be overtaken up to
// MaxOvertakes more times in each domain for each restart.
func (s *State) Recount(key gang.Key, standing []Taking) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.known(key).overtaken
	if known == nil {
		return
	}
	passed := map[string]int{}
	for i := range standing {
		if taking := &standing[i]; known.competes(taking) {
			for domain := range taking.in(known.claim.Ground) {
				passed[domain]++
			}
		}
	}
	for domain, passes := range passed {
		known.pass(domain, max(known.passed[domain], passes))
	}
}

// Tried records that a gang which waits has had its turn in this state of the room.
func (s *State) Tried(key gang.Key, room int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.known(key).overtaken; known != nil {
		known.tried = room
	}
}

// Ahead returns the first gang whose turn it is before another takes room that it could use: it ranks higher, or has no
// room held elsewhere as the other does, and has not been tried in this state of the room.
func (s *State) Ahead(taking Taking, room int64) (key gang.Key, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var first *overtaken
	for _, r := range s.waiting {
		known := r.overtaken
		before := first == nil || known.claim.Rank.Compare(first.claim.Rank) < 0
		if known.tried < room && before && s.goesFirst(r, taking.Rank) && known.couldUse(&taking) {
			first = known
		}
	}
	if first == nil {
		return gang.Key{}, false
	}
	return first.claim.Rank.Gang, true
}

// pass counts how often the gang was overtaken in a domain by now.
func (o *overtaken) pass(domain string, times int) {
	if o.passed[domain] < MaxOvertakes && times >= MaxOvertakes {
		o.closed = append(o.closed, domain)
	}
	o.passed[domain] = times
}

// goesFirst reports whether a gang that waits has its turn before another. Of two that have lost pods, that is the one
// which has nowhere else to go: no seats are held for a move of it.
func (s *State) goesFirst(waits *record, other gang.Rank) bool {
	claim := waits.overtaken.claim
	moves, otherMoves := len(waits.moveSeats()) > 0, len(s.known(other.Gang).moveSeats()) > 0
	if moves != otherMoves && claim.Rank.Priority == other.Priority && claim.Rank.Begun == other.Begun {
		return otherMoves
	}
	return claim.before(other)
}

// competes reports whether the gang ranks above one that takes room which it could use.
func (o *overtaken) competes(taking *Taking) bool {
	return o.claim.before(taking.Rank) && o.couldUse(taking)
}

func (o *overtaken) couldUse(taking *Taking) bool {
	return taking.Asks.HasAny(o.claim.Scarce...) && len(taking.in(o.claim.Ground)) > 0
}

// in returns the domains of a ground in which the gang takes room. Many wait for the same ground.
func (t *Taking) in(ground Ground) map[string]bool {
	at := slices.IndexFunc(t.touched, func(known touched) bool { return slices.Equal(known.Levels, ground.Levels) })
	if at >= 0 {
		return t.touched[at].domains
	}
	domains := map[string]bool{}
	for _, labels := range t.Nodes {
		if domain, ok := ground.Domain(labels); ok {
			domains[domain] = true
		}
	}
	t.touched = append(t.touched, touched{ground, domains})
	return domains
}

// before reports whether the claim goes before a rank.
func (c Claim) before(other gang.Rank) bool {
	return c.Rank.Gang != other.Gang && c.Rank.Compare(other) < 0
}

func (o *overtaken) full() bool { return len(o.closed) > 0 }

// Waits reports whether a gang was tried and did not fit.
func (s *State) Waits(key gang.Key) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.waiting[key] != nil
}

// StopWaiting records that a gang cannot be placed: it keeps nothing from others then.
func (s *State) StopWaiting(key gang.Key) Effects {
	return s.change(key, func(r *record, e *Effects) { s.stopWaiting(e, r) })
}

// stopWaiting is for a gang that was placed, or cannot be for a reason of its own. Those may try again that it kept
// anything from.
func (s *State) stopWaiting(e *Effects, r *record) {
	known := r.overtaken
	r.overtaken, r.barred = nil, false
	delete(s.waiting, r.key) // What comes next in this event may look at all that wait.
	if known != nil && known.full() {
		s.activateBarred(e)
		e.writeStatus(r.key)
	}
}

// KeptDomains returns what may be closed to a gang of some rank, in a stable order: a domain that could not hold the
// gang that it is closed for is not. The gang is activated when that opens again, also if it is still being decided
// then.
func (s *State) KeptDomains(rank gang.Rank) (full []KeptDomain) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A gang that was begun, and of which all pods have left to move, is no newcomer.
	rank.Begun = rank.Begun || len(s.known(rank.Gang).moveSeats()) > 0
	for key, r := range s.waiting {
		known := r.overtaken
		if !known.claim.before(rank) {
			continue
		}
		for _, domain := range known.closed {
			claim := known.claim
			full = append(full, KeptDomain{For: key, Ground: claim.Ground, Domain: domain, Scarce: claim.Scarce})
		}
	}
	slices.SortFunc(full, func(a, b KeptDomain) int {
		return cmp.Or(cmp.Compare(a.For.Namespace, b.For.Namespace), cmp.Compare(a.For.Name, b.For.Name),
			cmp.Compare(a.Domain, b.Domain))
	})
	s.known(rank.Gang).barred = len(full) > 0
	return full
}

// Holds returns whether a domain would hold a waiting gang if nothing stood there, as far as it is known.
func (s *State) Holds(key gang.Key, asked Emptied) (holds, known bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if waits := s.known(key).overtaken; waits != nil {
		holds, known = waits.holds[asked]
	}
	return holds, known
}

// SetHolds remembers whether a domain would hold a waiting gang. If so, it is closed from now on, and the status says
// it.
func (s *State) SetHolds(key gang.Key, asked Emptied, holds bool) Effects {
	return s.change(key, func(r *record, e *Effects) {
		known := r.overtaken
		if known == nil {
			return
		}
		if len(known.holds) >= maxEmptied {
			clear(known.holds)
		}
		known.holds[asked] = holds
		if known.fitting.Has(asked.Domain) == holds {
			return
		}
		if holds {
			known.fitting.Insert(asked.Domain)
		} else {
			known.fitting.Delete(asked.Domain)
		}
		e.writeStatus(key)
	})
}
