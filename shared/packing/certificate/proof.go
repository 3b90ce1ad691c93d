package certificate

// Proof proves that a group cannot be satisfied: that no placement meets its
// minimum. The group is the root of the gang, but for rules that a Without tries.
type Proof struct {
	// Unfiltered proofs let pods use the nodes that filters keep from them too: what does
	// not fit even so does not fit.
	Unfiltered bool `json:"unfiltered,omitempty"`
	// Start has rules, at least one true at the start.
	Start []int `json:"start"`
	// Rules are referred to by index. A rule refers to later ones only; each may
	// serve in many places, and is judged in each.
	Rules []Rule `json:"rules"`
}

// Rule is one step of a proof. Exactly one of the fields is set.
type Rule struct {
	Deficit *Deficit `json:"deficit,omitempty"`
	Cut     *Cut     `json:"cut,omitempty"`
	Branch  *Branch  `json:"branch,omitempty"`
	Without *Without `json:"without,omitempty"`
}

// Deficit says that too few pods, or too few children that can be satisfied, are
// left to the group when those are set aside that no node could take, alone on
// it as it is now.
type Deficit struct {
	// Group is the one with too little, Has of what it Needs: pods of a leaf,
	// children of a parent.
	Group string `json:"group"`
	Has   int64  `json:"has"`
	Needs int64  `json:"needs"`
	Shortage
}

// Shortage says why no node takes the first pods of a group (or of its first failing child): most of the nodes that the
// filters leave have too little of this resource for one pod. Ties go to the first name.
type Shortage struct {
	// Resource is empty if filters leave no node.
	Resource string `json:"resource,omitempty"`
	// Asks is what one pod asks for, Free the most that any of those nodes has.
	Asks int64 `json:"asks,omitempty"`
	Free int64 `json:"free,omitempty"`
}

// Cut says that what is needed at least exceeds what is offered at most, by one
// measure.
type Cut struct {
	Measure
	// Domain is where, as far as branches around the cut have said: label values
	// joined with "/". Where the cut rules out several it is the nearest, where Offer
	// lacks least of Need, and of those one where filters keep fewest nodes from all pods;
	// so are the figures.
	Domain string `json:"domain,omitempty"`
	Need   int64  `json:"need"`
	Offer  int64  `json:"offer"`
}

// Measure gives weights to items: to pods, which go into nodes; or to groups
// that must each stand in one domain, and go into the domains of a level.
type Measure struct {
	// Resource has each pod weigh what it requests of it.
	Resource string `json:"resource,omitempty"`
	// Pods has the weight of a kind of pods by the name of one of them; other kinds
	// weigh nothing.
	Pods map[string]int64 `json:"pods,omitempty"`
	// Of has the names of the leaves that carry weight; empty for all.
	Of []string `json:"of,omitempty"`

	// Relation has each item of a relation weigh 1 that has to enter a domain: its pods,
	// or of its groups those without running pods.
	Relation string `json:"relation,omitempty"`

	// Groups has the weight of each group. None of them contains another, and each
	// requires Level of Topology, or a narrower one, by itself or by a group around
	// it.
	Groups   map[string]int64 `json:"groups,omitempty"`
	Topology string           `json:"topology,omitempty"`
	Level    string           `json:"level,omitempty"`
	// By are the measures that bound how many of Groups a domain takes: by pods, by a
	// relation of Level or a narrower one, or by groups in domains of a narrower level.
	By []Measure `json:"by,omitempty"`
}

// Branch says that wherever a group goes, a rule holds. The group goes into one
// domain of Level, or places no pod.
type Branch struct {
	Group string `json:"group"`
	// Topology and Level are required of the group, or Level is broader than what
	// is.
	Topology string `json:"topology"`
	Level    string `json:"level"`
	// Domains is how many domains of the level have nodes for the group.
	Domains int64 `json:"domains"`
	// Each has, for each domain, rules, at least one true in it.
	Each []int `json:"each,omitempty"`
	// None has rules, at least one true for the group without new pods.
	None []int `json:"none"`
}

// Without says that some groups cannot be satisfied, whatever becomes of the
// rest, and so get no pods; and that the rest does not suffice.
type Without struct {
	Groups []string `json:"groups"`
	// Each has rules about one of Groups alone, those before it set aside. At least
	// one holds for each group.
	Each []int `json:"each"`
	// Then has rules, at least one true for what remains.
	Then []int `json:"then"`
}
