package bypass

// Recount tells a ledger of the gangs that stand and took their room while the gang of a claim waited, which a scheduler that
// starts anew does not remember. Those that have come and gone are lost, so that a waiting gang can be passed up to Bound
// more times in each domain for each restart.
func (l *Ledger) Recount(claim Claim, standing []Taking) {
	recounted := New()
	recounted.Wait(claim, 0)
	for _, taking := range standing {
		recounted.Take(taking)
	}
	passed := recounted.waiting[claim.Rank.Gang].passed
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.waiting[claim.Rank.Gang]; known != nil {
		for domain, passes := range passed {
			known.passed[domain] = max(known.passed[domain], passes)
		}
	}
}
