package packing

// Checkpoint marks a state of a Cluster to which Rollback can return.
type Checkpoint struct {
	depth, length int
}

// undoLog has the inverse of each change since the oldest open checkpoint.
type undoLog struct {
	depth     int
	undoing   bool
	inversion []func(*Cluster)
}

func (u *undoLog) open() bool { return u.depth > 0 && !u.undoing }

func (u *undoLog) add(inverse func(*Cluster)) {
	if u.open() {
		u.inversion = append(u.inversion, inverse)
	}
}

// Checkpoint begins a what-if. Checkpoints nest: each must be ended by Rollback
// or Commit, the last one first; ending an outer one ends those within. O(1).
func (c *Cluster) Checkpoint() Checkpoint {
	c.undo.depth++
	return Checkpoint{depth: c.undo.depth, length: len(c.undo.inversion)}
}

// Rollback undoes every change since the checkpoint and ends it. A checkpoint
// that has ended before is ignored. O(changes).
func (c *Cluster) Rollback(to Checkpoint) {
	if to.depth < 1 || to.depth > c.undo.depth {
		return
	}
	c.undo.undoing = true
	for i := len(c.undo.inversion) - 1; i >= to.length; i-- {
		c.undo.inversion[i](c)
		c.undo.inversion[i] = nil
	}
	c.undo.undoing = false
	c.undo.inversion = c.undo.inversion[:to.length]
	c.undo.depth = to.depth - 1
}

// Commit keeps every change since the checkpoint and ends it. O(1), O(changes)
// for the outermost.
func (c *Cluster) Commit(to Checkpoint) {
	if to.depth < 1 || to.depth > c.undo.depth {
		return
	}
	c.undo.depth = to.depth - 1
	if c.undo.depth == 0 {
		clear(c.undo.inversion)
		c.undo.inversion = c.undo.inversion[:0]
	}
}
