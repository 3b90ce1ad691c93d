package counts

// Shape is what a pod asks of a node. The cluster keeps counts for every shape
// in use, so pods that ask for the same should share one.
type Shape struct {
	// Key is the shape's identity: shapes with one key have the same Requests and
	// exclude the same nodes. When eligibility changes for another reason than a
	// SetNode of the node in question, the caller must use a new key.
	Key string
	// Requests is what one pod takes. Count "pods" here if nodes limit it.
	Requests Resources
	// Excluded gives the reason why a node cannot take such a pod whatever is free
	// on it (a taint, a selector, an affinity, a volume), or "" when it can. Nil
	// excludes nothing. It is called once a node on first use of the shape, after
	// each SetNode of the node, and for explanations; it must not call the Cluster.
	Excluded func(node string) string
	// Filter is the identity of Excluded, if that is not Key: shapes with one Filter
	// exclude the same nodes and have the same Only, and are asked once for all.
	// What is said of a new Key holds for a new Filter.
	Filter string
	// Only, if not nil, names the nodes that are not excluded for certain: of the
	// others Excluded is not asked whether they take such a pod, only why not.
	Only []string
}
