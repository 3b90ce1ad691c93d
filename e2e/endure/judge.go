package endure

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Violation is a rule that was broken, at a moment or at rest.
type Violation struct {
	// At is when that was found.
	At time.Time
	// Rule and Object name it, and What says it.
	Rule, Object, What string
	// History has the changes of the objects with this name, as far as they were seen.
	History []string
}

// String has a line for each change.
func (v Violation) String() string {
	return fmt.Sprintf("%s: %s: %s: %s\n    %s", v.At.Format(time.TimeOnly), v.Rule, v.Object, v.What,
		strings.Join(v.History, "\n    "))
}

// kept is how many changes of an object are remembered.
const kept = 30

// Judge sees worlds one after the other, and finds violations.
type Judge struct {
	mu sync.Mutex
	// reported are the rules and objects of violations so far.
	reported map[string]bool
	versions map[string]string
	history  map[string][]string
	found    []Violation
}

// NewJudge has seen nothing.
func NewJudge() *Judge {
	return &Judge{reported: map[string]bool{}, versions: map[string]string{}, history: map[string][]string{}}
}

// See judges a world while everything fails: by the rules that hold at each moment.
func (j *Judge) See(now time.Time, world *World) { j.judge(now, world, false) }

// Rest judges a world that should rest, by all rules.
func (j *Judge) Rest(now time.Time, world *World) { j.judge(now, world, true) }

func (j *Judge) judge(now time.Time, world *World, rests bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.remember(now, world)
	for _, rule := range Rules {
		if rests || rule.Always {
			j.report(now, rule.Name, rule.Broken(world))
		}
	}
}

// Add reports what other comparisons have found.
func (j *Judge) Add(now time.Time, rule string, broken map[string]string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.report(now, rule, broken)
}

func (j *Judge) report(now time.Time, rule string, broken map[string]string) {
	for _, object := range slices.Sorted(maps.Keys(broken)) {
		if j.reported[rule+object] {
			continue
		}
		j.reported[rule+object] = true
		of := strings.Fields(object + " -")[1]
		var history []string
		for key, lines := range j.history {
			// The pods of a gang have its name before theirs.
			if key == object || strings.HasPrefix(key, "Pod "+of+"-") {
				history = append(history, lines...)
			}
		}
		slices.Sort(history)
		j.found = append(j.found, Violation{now, rule, object, broken[object], history})
	}
}

// remember adds a line to the history of each object that has changed. What is gone is forgotten after some changes.
func (j *Judge) remember(now time.Time, world *World) {
	present := map[string]bool{}
	add := func(key, version, line string) {
		present[key] = true
		if j.versions[key] == version {
			return
		}
		j.versions[key] = version
		lines := append(j.history[key], now.Format(time.TimeOnly+" ")+key+" "+line)
		j.history[key] = lines[max(0, len(lines)-kept):]
	}
	for i := range world.Pods {
		pod := &world.Pods[i]
		add("Pod "+name(pod), pod.ResourceVersion, fmt.Sprintf("%s on %q, deleted %t, gates %d, %s", pod.Status.Phase,
			pod.Spec.NodeName, pod.DeletionTimestamp != nil, len(pod.Spec.SchedulingGates), pod.Spec.Containers[0].Image))
	}
	for _, g := range world.gangs() {
		add("PodGroup "+name(g.group), g.group.ResourceVersion, g.String())
	}
	for i := range world.Nodes {
		node := &world.Nodes[i]
		add("Node "+node.Name, node.ResourceVersion, fmt.Sprintf("%v, taints %v, uid %s", node.Labels, node.Spec.Taints,
			node.UID))
	}
	for key := range j.versions {
		if !present[key] {
			j.history[key] = append(j.history[key], now.Format(time.TimeOnly+" ")+key+" is gone")
			delete(j.versions, key)
		}
	}
}

// Wrong are the rules that a world breaks, as the end of a wait reports them.
func Wrong(world *World) map[string]string {
	wrong := map[string]string{}
	for _, rule := range Rules {
		for object, what := range rule.Broken(world) {
			wrong[object+", "+rule.Name] = what
		}
	}
	return wrong
}

// Found are the violations so far.
func (j *Judge) Found() []Violation {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.found)
}
