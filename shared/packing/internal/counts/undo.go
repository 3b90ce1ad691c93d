package counts

// Checkpoint marks a state of a Cluster to which Rollback can return.
type Checkpoint struct {
	depth, serial int
}

// undoLog has the inverse of each change since the oldest open checkpoint.
type undoLog struct {
	// marks are the open checkpoints, the oldest first.
	marks []mark
	// taken counts all checkpoints that ever were.
	taken     int
	undoing   bool
	inversion []func(*Cluster)
}

// mark is an open checkpoint: its serial number, and the length of the log then.
type mark struct {
	serial, length int
}

func (u *undoLog) open() bool { return len(u.marks) > 0 && !u.undoing }

func (u *undoLog) add(inverse func(*Cluster)) {
	if u.open() {
		u.inversion = append(u.inversion, inverse)
	}
}

// Checkpoint begins a what-if.
func (c *Cluster) Checkpoint() Checkpoint {
	u := &c.undo
	u.taken++
	u.marks = append(u.marks, mark{serial: u.taken, length: len(u.inversion)})
	return Checkpoint{depth: len(u.marks), serial: u.taken}
}

// Rollback undoes every change since the checkpoint and ends it.
func (c *Cluster) Rollback(to Checkpoint) {
	if to.depth < 1 || to.depth > len(c.undo.marks) || c.undo.marks[to.depth-1].serial != to.serial {
		return
	}
	length := c.undo.marks[to.depth-1].length
	c.undo.marks = c.undo.marks[:to.depth-1]
	c.undo.undoing = true
	for i := len(c.undo.inversion) - 1; i >= length; i-- {
		c.undo.inversion[i](c)
		c.undo.inversion[i] = nil
	}
	c.undo.undoing = false
	c.undo.inversion = c.undo.inversion[:length]
}
