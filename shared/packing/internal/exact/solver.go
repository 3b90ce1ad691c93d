package exact

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"packtree.dev/shared/packing/internal/problem"
)

// solver decides whether items fit: domain by domain it chooses how many of each
// to put there, and asks the same question inside, down to single nodes where it
// is arithmetic.
type solver struct {
	in        *Instance
	budget    *problem.Budget
	resources int
	// each is how many pods of each class are in an item, groups opened; volume is
	// what it takes of all resources, by their weight.
	each   []Counts
	volume []float64
	weight []float64
	// fits and rooms are how many pods of each class fit on a node and in a domain,
	// offers what the nodes of a domain can give of each resource.
	fits   [][]int
	rooms  []Counts
	offers [][]int64
	// bySize are the classes by room, least first.
	bySize []int
	// marks are signatures of nodes and domains: equal marks mean interchangeable nodes or domains.
	nodeMark, domainMark []uint64

	failed map[string]bool
	solved map[string]*Packing

	// thorough leaves out the shortcuts that find most packings without search.
	thorough bool
	// effort bounds the steps of a search among the nodes of one domain; gaveUp
	// says that one was broken off, so that a failure is no proof.
	effort int
	gaveUp bool
}

// newSolver counts what fits where. O(nodes · items).
func newSolver(in *Instance, budget *problem.Budget) *solver {
	s := &solver{in: in, budget: budget, failed: map[string]bool{}, solved: map[string]*Packing{}}
	if in.Classes > 0 {
		s.resources = len(in.Items[0].Requests)
	}
	s.countPods()
	for n, free := range in.Free {
		fits := make([]int, in.Classes)
		for class := range fits {
			if it := &in.Items[class]; it.Allowed[n] {
				fits[class] = fitting(it.Requests, free)
			}
		}
		s.fits = append(s.fits, fits)
		s.nodeMark = append(s.nodeMark, s.markNode(n))
	}
	all := slices.Repeat(Counts{1}, in.Classes)
	for i := range in.Domains {
		room := make(Counts, in.Classes)
		for _, n := range in.Domains[i].All {
			for class, fit := range s.fits[n] {
				room[class] += fit
			}
		}
		s.rooms = append(s.rooms, room)
		s.offers = append(s.offers, s.usable(in.Domains[i].All, all))
		s.domainMark = append(s.domainMark, s.markDomain(i))
	}
	s.measure()
	return s
}

// countPods fills in what is in each item. A group comes after its content.
func (s *solver) countPods() {
	for i := range s.in.Items {
		pods := make(Counts, s.in.Classes)
		if s.in.Items[i].Level == None {
			pods[i] = 1
		}
		for at, n := range s.in.Items[i].Content {
			if n == 0 {
				continue
			}
			for class, each := range s.each[at] {
				pods[class] += n * each
			}
		}
		s.each = append(s.each, pods)
	}
}

// scarcity is the power that a needed share of a resource is raised to: a resource that is used up counts much more
// than one that is half used.
const scarcity = 8

// measure gives each item its volume, and sorts the classes by size.
func (s *solver) measure() {
	total := s.pods(s.in.Total)
	s.weight = make([]float64, s.resources)
	for r, offer := range s.offers[0] {
		if offer > 0 {
			s.weight[r] = math.Pow(float64(s.need(total, r))/float64(offer), scarcity) / float64(offer)
		}
	}
	s.volume = make([]float64, len(s.in.Items))
	for i := range s.in.Items {
		for r, w := range s.weight {
			s.volume[i] += w * float64(s.need(s.each[i], r))
		}
	}
	for class := range s.in.Classes {
		s.bySize = append(s.bySize, class)
	}
	slices.SortStableFunc(s.bySize, func(a, b int) int { return cmp.Compare(s.rooms[0][a], s.rooms[0][b]) })
}

func (s *solver) markNode(n int) uint64 {
	h := uint64(0)
	for i, fit := range s.fits[n] {
		h = mix(h, uint64(min(fit, 1))<<32|uint64(i))
	}
	for _, free := range s.in.Free[n] {
		h = mix(h, uint64(free))
	}
	return h
}

// markDomain is equal for domains that no search can tell apart: the classes of
// pods allowed on each node, and what is free there.
func (s *solver) markDomain(i int) uint64 {
	d := &s.in.Domains[i]
	var parts []uint64
	for _, n := range d.Nodes {
		parts = append(parts, s.nodeMark[n])
	}
	for _, child := range d.Children {
		parts = append(parts, s.markDomain(child))
	}
	slices.Sort(parts)
	h := mix(0, uint64(d.Level))
	for _, part := range parts {
		h = mix(h, part)
	}
	return h
}

// mix hashes two words; equal words give equal hashes on every machine.
func mix(h, word uint64) uint64 {
	h = (h ^ 0x9e3779b97f4a7c15 ^ word) * 0xbf58476d1ce4e5b9
	return h ^ h>>29
}

// within runs a search among nodes with the effort there is.
func (s *solver) within(c Counts, search func() bool) bool {
	if s.grouped(c) {
		return search()
	}
	limit := s.budget.Limit
	s.budget.Limit = min(limit, s.budget.Steps+s.effort)
	found := search()
	if !found && s.budget.Exhausted() && s.budget.Limit < limit {
		s.gaveUp = true
	}
	s.budget.Limit = limit
	return found
}

// fit packs items into a domain, or returns nil.
func (s *solver) fit(domain int, c Counts) *Packing {
	return s.fitOpen(domain, s.open(c, s.in.Domains[domain].Level))
}

// fitOpen is fit for items that are open to the level of the domain.
func (s *solver) fitOpen(domain int, c Counts) *Packing {
	s.budget.Steps++
	if s.budget.Exhausted() || !s.room(domain, c) {
		return nil
	}
	alike := keyOf(s.domainMark[domain], c)
	if s.failed[alike] {
		return nil
	}
	here := keyOf(uint64(domain), c)
	if p, ok := s.solved[here]; ok {
		return p
	}
	parts, ok := []Part(nil), false
	if !s.thorough {
		parts, ok = s.quick(domain, c)
	}
	if !ok {
		parts, ok = s.distribute(s.bins(domain, c), c)
	}
	if !ok {
		if !s.budget.Exhausted() {
			s.failed[alike] = true
		}
		return nil
	}
	p := &Packing{Domain: domain, Parts: parts}
	s.solved[here] = p
	return p
}

// open replaces groups that a domain of the level satisfies by their content.
func (s *solver) open(c Counts, level int) Counts {
	opened := slices.Clone(c)
	// A group comes after its content, so going down opens groups in groups.
	for i := len(opened) - 1; i >= 0; i-- {
		if it := &s.in.Items[i]; it.Level != None && it.Level <= level && opened[i] > 0 {
			for k, n := range it.Content {
				opened[k] += n * opened[i]
			}
			opened[i] = 0
		}
	}
	if !s.grouped(opened) {
		return opened[:s.in.Classes]
	}
	return opened
}

// grouped reports whether there are groups among items.
func (s *solver) grouped(c Counts) bool {
	return !empty(c[s.in.Classes:])
}

// pods counts the pods of each class, those in groups too.
func (s *solver) pods(c Counts) Counts {
	if len(c) == s.in.Classes {
		return c
	}
	pods := make(Counts, s.in.Classes)
	for i, n := range c {
		if n > 0 {
			for class, each := range s.each[i] {
				pods[class] += n * each
			}
		}
	}
	return pods
}

func keyOf(mark uint64, c Counts) string {
	key := binary.LittleEndian.AppendUint64(make([]byte, 0, 8+2*len(c)), mark)
	for _, n := range c {
		key = binary.AppendUvarint(key, uint64(n))
	}
	return string(key)
}
