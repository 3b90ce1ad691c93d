package certificate

import (
	"fmt"
	"slices"
)

// Nodes are the nodes of a question by index, in the form that their owner keeps: Input, or an engine that need not
// write down each node by name.
type Nodes interface {
	Len() int
	// Find gives the node of a name.
	Find(name string) (node int, known bool)
	// Free is what each node has of a resource; less than 0 counts as 0.
	Free(resource string) []int64
	// Divide gives for each node its domain of a level by number, -1 for none, and the
	// label values of each domain from the broadest level down, in ascending order.
	Divide(topology string, depth int) (of []int, paths [][]string)
	// Allowed has a bit for each node that filters leave to a kind of the input; nil
	// for all.
	Allowed(kind int) []uint64
}

// listed are the nodes of an Input.
type listed struct {
	in    *Input
	index map[string]int
}

func nodesOf(in *Input) (*listed, error) {
	l := &listed{in, make(map[string]int, len(in.Nodes))}
	for i := range in.Nodes {
		if _, twice := l.index[in.Nodes[i].Name]; twice {
			return nil, fmt.Errorf("node %q is there twice", in.Nodes[i].Name)
		}
		l.index[in.Nodes[i].Name] = i
	}
	for k, kind := range in.Kinds {
		if len(kind.Barred) != 0 && len(kind.Barred) != len(in.Nodes) {
			return nil, fmt.Errorf("kind %d is barred or not from %d nodes of %d", k, len(kind.Barred), len(in.Nodes))
		}
	}
	return l, nil
}

func (l *listed) Len() int { return len(l.in.Nodes) }

func (l *listed) Find(name string) (int, bool) {
	node, known := l.index[name]
	return node, known
}

func (l *listed) Free(resource string) []int64 {
	free := make([]int64, len(l.in.Nodes))
	for i := range l.in.Nodes {
		free[i] = l.in.Nodes[i].Free[resource]
	}
	return free
}

func (l *listed) Divide(topology string, depth int) (of []int, paths [][]string) {
	of = make([]int, len(l.in.Nodes))
	index := map[string]int{}
	for i := range l.in.Nodes {
		of[i] = -1
		if path := l.in.Nodes[i].Domains[topology]; len(path) > depth {
			text := pathText(path[:depth+1])
			at, known := index[text]
			if !known {
				at = len(paths)
				index[text] = at
				paths = append(paths, path[:depth+1])
			}
			of[i] = at
		}
	}
	order := make([]int, len(paths))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return slices.Compare(paths[a], paths[b]) })
	rank, sorted := make([]int, len(paths)), make([][]string, len(paths))
	for at, i := range order {
		rank[i], sorted[at] = at, paths[i]
	}
	for i, at := range of {
		if at >= 0 {
			of[i] = rank[at]
		}
	}
	return of, sorted
}

func (l *listed) Allowed(kind int) []uint64 {
	barred := l.in.Kinds[kind].Barred
	if len(barred) == 0 {
		return nil
	}
	allowed := newSet(len(barred))
	for node, bars := range barred {
		if !bars {
			allowed.add(node)
		}
	}
	return allowed
}
