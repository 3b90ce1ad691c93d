package packing

import (
	"cmp"
	"slices"
)

// maxConsolidated is how many vessels are tried as the one to make room in.
const maxConsolidated = 6

// consolidate makes room for an item by gathering what is left here and there in
// one vessel: it exchanges an item there for a slightly smaller one elsewhere,
// again and again. Each exchange leaves a valid state, so nothing is undone when
// it fails in the end.
func (t *draft) consolidate(item int) bool {
	order := t.fullestFirst()
	slices.Reverse(order)
	for _, into := range order[:min(maxConsolidated, len(order))] {
		for _, other := range order {
			if other == into || t.rest[other] <= 0 {
				continue
			}
			if t.exchange(into, other) && t.put(into, item) {
				return true
			}
			if t.tired() {
				return false
			}
		}
	}
	return false
}

// trade gives one item for another; gain is the volume that becomes free.
type trade struct {
	give, take int
	gain       int64
}

// exchange makes the trade between two vessels that leaves most in the first and
// for which the second has room.
func (t *draft) exchange(into, other int) bool {
	var trades []trade
	for give, n := range t.held[into] {
		if n == 0 {
			continue
		}
		for take, m := range t.held[other] {
			gain := t.volume(give) - t.volume(take)
			if m > 0 && gain > volumeError && gain <= t.rest[other]+volumeError {
				trades = append(trades, trade{give, take, gain})
			}
		}
	}
	slices.SortStableFunc(trades, func(a, b trade) int { return cmp.Compare(b.gain, a.gain) })
	for _, trade := range trades {
		if t.tired() {
			return false
		}
		if t.make(trade, into, other) {
			return true
		}
	}
	return false
}

// make carries out a trade, or leaves everything as it was.
func (t *draft) make(trade trade, into, other int) bool {
	innerInto, innerOther := t.inner[into], t.inner[other]
	t.take(into, trade.give)
	t.take(other, trade.take)
	if t.put(other, trade.give) {
		if t.put(into, trade.take) {
			return true
		}
		t.take(other, trade.give)
	}
	t.give(into, trade.give)
	t.give(other, trade.take)
	t.inner[into], t.inner[other] = innerInto, innerOther
	return false
}
