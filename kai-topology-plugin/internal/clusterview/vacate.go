package clusterview

// Vacate takes all pods off a node, for the question what would fit if nothing stood there.
func (t *Trial) Vacate(node string) {
	t.Cluster.Release(usedOn(node))
	t.Cluster.Release(portsOn(node))
}
