package rights

// Verdict is what calls show about the rights of their account.
type Verdict struct {
	// Needed are the rights without which a call would have been refused, each with such a call.
	Needed map[Holding]Call
	// Needless are the others: none of them would have been missed.
	Needless []Holding
	// Uncovered are needs of calls that were allowed although none of the account's rights grants them: by rights of
	// every account, or by mistake.
	Uncovered map[Right]Call
}

// Judge removes one right after the other and checks which of the allowed calls would have been refused. A need that
// two rights grant proves neither.
func Judge(held []Holding, calls []Call) Verdict {
	verdict := Verdict{Needed: map[Holding]Call{}, Uncovered: map[Right]Call{}}
	seen := map[Right]bool{}
	for _, call := range calls {
		if call.RightsMissed() {
			continue
		}
		for _, need := range call.Needs() {
			if seen[need] {
				continue
			}
			seen[need] = true
			var granting []Holding
			for _, holding := range held {
				if holding.grants(need) {
					granting = append(granting, holding)
				}
			}
			switch len(granting) {
			case 0:
				verdict.Uncovered[need] = call
			case 1:
				verdict.Needed[granting[0]] = call
			}
		}
	}
	for _, holding := range held {
		if _, needed := verdict.Needed[holding]; !needed {
			verdict.Needless = append(verdict.Needless, holding)
		}
	}
	return verdict
}
