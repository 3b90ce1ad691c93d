package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/live"
	"packtree.dev/e2e/placement"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/manifests"
)

// Report is the end state.
type Report struct {
	// Standing gangs have their minima, Waiting ones nothing. Kept is how many of the waiting ones wait because room is
	// kept for another gang.
	Standing, Waiting, Kept int
	// Counts of what happened.
	Counts map[string]int
	// Violations of what has to hold.
	Violations []string
}

// String has a line for each number.
func (r *Report) String() string {
	var lines strings.Builder
	fmt.Fprintf(&lines, "%d gangs stand, %d wait, %d of them for room that is kept\n", r.Standing, r.Waiting, r.Kept)
	for _, what := range slices.Sorted(maps.Keys(r.Counts)) {
		fmt.Fprintf(&lines, "%6d %s\n", r.Counts[what], what)
	}
	for _, violation := range r.Violations {
		fmt.Fprintln(&lines, "WRONG:", violation)
	}
	return lines.String()
}

// state is the API server's state of a run at one moment.
type state struct {
	groups []scheduling.PodGroup
	pods   []corev1.Pod
	nodes  []corev1.Node
}

func (r *Run) read(ctx context.Context) (state, error) {
	var groups scheduling.PodGroupList
	var pods corev1.PodList
	var nodes corev1.NodeList
	err := errors.Join(r.List(ctx, &groups, client.InNamespace(r.Name)), r.List(ctx, &pods, client.InNamespace(r.Name)),
		r.List(ctx, &nodes, client.MatchingLabels{ownLabel: r.Name}))
	return state{groups.Items, pods.Items, nodes.Items}, err
}

// standing is the placement of one gang's pods.
type standing struct {
	group *scheduling.PodGroup
	// pods is how many pods each leaf has, and bound how many of these have a node.
	pods, bound map[string]int
	// leaving are the pods that are deleted and still exist, each with what it waits for.
	leaving []string
}

func (s state) standings() []standing {
	byName := map[string]*standing{}
	var all []standing
	for i := range s.groups {
		all = append(all, standing{group: &s.groups[i], pods: map[string]int{}, bound: map[string]int{}})
	}
	for i := range all {
		byName[all[i].group.Name] = &all[i]
	}
	for i := range s.pods {
		pod := &s.pods[i]
		of := byName[gangOf(pod)]
		switch {
		case of == nil:
			continue
		case pod.DeletionTimestamp != nil:
			of.leaving = append(of.leaving,
				fmt.Sprintf("%s on %q since %s, finalizers %v, %d s of grace", pod.Name, pod.Spec.NodeName,
					pod.DeletionTimestamp.Format(time.TimeOnly), pod.Finalizers,
					ptr.Deref(pod.DeletionGracePeriodSeconds, -1)))
			continue
		}
		of.pods[pod.Labels[subGroupLabel]]++
		if pod.Spec.NodeName != "" {
			of.bound[pod.Labels[subGroupLabel]]++
		}
	}
	return all
}

func total(counts map[string]int) (sum int) {
	for _, count := range counts {
		sum += count
	}
	return sum
}

// whole reports whether each leaf has its minimum.
func (s standing) whole() bool {
	if s.group.Spec.MinMember != nil {
		return s.bound[""] >= int(*s.group.Spec.MinMember)
	}
	return !slices.ContainsFunc(s.group.Spec.SubGroups, func(subGroup scheduling.SubGroup) bool {
		return s.bound[subGroup.Name] < int(*subGroup.MinMember)
	})
}

// condition is the PodGroup's condition of its gang, if it is about the current generation; empty otherwise.
func (s standing) condition() (reason, message string) {
	scheduled := meta.FindStatusCondition(s.group.Status.Conditions, scheduling.ConditionScheduled)
	if scheduled == nil || scheduled.ObservedGeneration != s.group.Generation {
		return "", ""
	}
	return scheduled.Reason, scheduled.Message
}

// unsettled says what is unfinished about the gang; empty if it is placed, or waits and has a condition that says so.
func (s standing) unsettled() string {
	reason, message := s.condition()
	said := fmt.Sprintf("%s: %d of %d pods are bound (%v of %v), and it says %q: %s; leaving: %v", s.group.Name,
		total(s.bound), total(s.pods),
		s.bound, s.pods, reason, message, s.leaving)
	switch {
	case s.whole() && reason == scheduling.ReasonPlaced:
		return ""
	case total(s.bound) == 0 && reason == scheduling.ReasonInfeasible:
		return ""
	}
	return said
}

// rest waits until every gang is placed or waits, every pod that its owner wants exists, and nothing has changed for
// some time. If that does not happen, the error says why.
func (r *Run) rest(ctx context.Context) error {
	const still = 15 * time.Second
	waiting, cancel := context.WithTimeout(ctx, r.Patience)
	defer cancel()
	var last map[types.UID]string
	since := time.Now()
	return live.Wait(waiting, "everything has come to rest", func(ctx context.Context) (bool, string, error) {
		now, err := r.read(ctx)
		if err != nil {
			return false, "", err
		}
		places := map[types.UID]string{}
		for i := range now.pods {
			places[now.pods[i].UID] = now.pods[i].Spec.NodeName
		}
		if !maps.Equal(places, last) {
			last, since = places, time.Now()
		}
		unsettled := r.unsettled(now)
		if len(unsettled) == 0 && time.Since(since) > still {
			return true, "", nil
		}
		return false, fmt.Sprintf("nothing changed for %s; not settled are %d\n%s",
			time.Since(since).Round(time.Second), len(unsettled),
			strings.Join(unsettled[:min(20, len(unsettled))], "\n")), nil
	})
}

func (r *Run) unsettled(now state) []string {
	wanted := map[string]int{}
	var unsettled []string
	for _, g := range r.all() {
		g.mu.Lock()
		if !g.finished {
			wanted[g.name] = len(g.seats())
		}
		g.mu.Unlock()
	}
	for _, s := range now.standings() {
		if why := s.unsettled(); why != "" {
			unsettled = append(unsettled, why)
		} else if have := total(s.pods); have != wanted[s.group.Name] {
			unsettled = append(unsettled, fmt.Sprintf("%s has %d of %d pods: %v are bound, leaving: %v", s.group.Name,
				have, wanted[s.group.Name], s.bound, s.leaving))
		}
		delete(wanted, s.group.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		unsettled = append(unsettled, "PodGroup "+name+" is gone")
	}
	return unsettled
}

// judge compares the end state with what the objects ask for.
func (r *Run) judge(ctx context.Context, rested error) (*Report, error) {
	now, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	report := &Report{Counts: maps.Clone(r.counts)}
	r.mu.Unlock()
	if rested != nil {
		report.Violations = append(report.Violations, rested.Error())
	}
	topologies := placement.Topologies{}
	topologies.AddTopology(r.topology())
	standings := now.standings()
	for _, s := range standings {
		_, message := s.condition()
		switch {
		case total(s.bound) == 0:
			report.Waiting++
			if kept := keptFor.FindStringSubmatch(message); kept != nil {
				report.Kept++
				report.Violations = append(report.Violations, keptInVain(s, kept[1], standings)...)
			}
		case s.whole():
			report.Standing++
		default:
			report.Violations = append(report.Violations, "half bound: "+s.unsettled())
		}
		outside, err := outside(s, now, topologies)
		if err != nil {
			return nil, err
		}
		report.Violations = append(report.Violations, outside...)
	}
	report.Violations = append(report.Violations, now.overfull()...)
	disagreed, err := r.disagreements(ctx, now)
	if err != nil {
		return nil, err
	}
	report.Violations = append(report.Violations, disagreed...)
	for _, line := range strings.Split(r.LogLines(Scheduler, "panic", 3), "\n") {
		if line != "" {
			report.Violations = append(report.Violations, "the scheduler's log: "+line)
		}
	}
	return report, nil
}

// keptFor matches, in the message of a gang, the gang for which room is reserved.
var keptFor = regexp.MustCompile(`is reserved for gang [^/ ]+/([^ ,]+),`)

// keptInVain reports a gang that waits for the sake of another one which does not wait itself.
func keptInVain(s standing, waiting string, all []standing) []string {
	for _, other := range all {
		if other.group.Name == waiting && total(other.bound) == 0 {
			return nil
		}
	}
	return []string{fmt.Sprintf("gang %s waits for room that is kept for gang %s, which does not wait",
		s.group.Name, waiting)}
}

// outside are the constraints of a placed gang that do not hold.
func outside(s standing, now state, topologies placement.Topologies) (broken []string, err error) {
	if total(s.bound) == 0 {
		return nil, nil
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s.group)
	if err != nil {
		return nil, err
	}
	group := &unstructured.Unstructured{Object: object}
	group.SetGroupVersionKind(scheduling.SchemeGroupVersion.WithKind("PodGroup"))
	workload, _, err := placement.Read(group, topologies)
	if err != nil {
		return nil, err
	}
	for _, finding := range workload.Judge(now.pods, now.nodes) {
		if !finding.Held() {
			broken = append(broken, "outside of its domain: "+finding.String())
		}
	}
	return broken, nil
}

// overfull are nodes with more pods than GPUs, and pods on nodes that do not exist.
func (s state) overfull() (wrong []string) {
	used := map[string]int{}
	for i := range s.pods {
		if pod := &s.pods[i]; pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil {
			used[pod.Spec.NodeName]++
		}
	}
	for i := range s.nodes {
		if count := used[s.nodes[i].Name]; count > gpusPerNode {
			wrong = append(wrong, fmt.Sprintf("%d pods on the %d GPUs of node %s", count, gpusPerNode, s.nodes[i].Name))
		}
		delete(used, s.nodes[i].Name)
	}
	for node, count := range used {
		wrong = append(wrong, fmt.Sprintf("%d pods on node %s, which does not exist", count, node))
	}
	return wrong
}

// disagreements are differences between the command place, given the same objects, and the scheduler: a placed gang
// that place does not find placed, and a waiting pod for which it finds a node.
func (r *Run) disagreements(ctx context.Context, now state) ([]string, error) {
	answer, err := r.place(ctx, now)
	if err != nil {
		return nil, err
	}
	said := map[string]standing{}
	for _, s := range now.standings() {
		said[s.group.Name] = s
	}
	unbound := map[string]bool{}
	for i := range now.pods {
		unbound[now.pods[i].Name] = now.pods[i].Spec.NodeName == ""
	}
	var disagreed []string
	for _, group := range answer.PodGroups {
		s := said[group.Name]
		reason, message := s.condition()
		if s.whole() && group.Verdict != scheduling.ReasonPlaced {
			disagreed = append(disagreed,
				fmt.Sprintf("gang %s stands, and place says %s: %s", group.Name, group.Verdict, group.Message))
		}
		for pod, node := range group.Assignments {
			if unbound[pod] && !keptFor.MatchString(message) {
				disagreed = append(disagreed,
					fmt.Sprintf("pod %s waits, and place finds node %s; its gang says %s: %s", pod, node,
						reason, message))
				break
			}
		}
	}
	return disagreed, nil
}

// answer has the fields of place's output that are used.
type answer struct {
	PodGroups []struct {
		Name, Verdict, Message string
		Assignments            map[string]string
	} `json:"podGroups"`
}

func (r *Run) place(ctx context.Context, now state) (*answer, error) {
	var objects []runtime.Object
	add := func(object client.Object, kind schema.GroupVersionKind) {
		object.GetObjectKind().SetGroupVersionKind(kind)
		objects = append(objects, object)
	}
	add(r.topology(), kai.SchemeGroupVersion.WithKind("Topology"))
	for i := range now.nodes {
		add(&now.nodes[i], corev1.SchemeGroupVersion.WithKind("Node"))
	}
	for i := range now.groups {
		add(&now.groups[i], scheduling.SchemeGroupVersion.WithKind("PodGroup"))
	}
	for i := range now.pods {
		add(&now.pods[i], corev1.SchemeGroupVersion.WithKind("Pod"))
	}
	var input, output, complaint bytes.Buffer
	if err := manifests.Write(&input, manifests.JSON, objects); err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, filepath.Join(r.Machine.Root(), "bin", Scheduler), "place", "-f", "-",
		"-o", "json")
	command.Stdin, command.Stdout, command.Stderr = &input, &output, &complaint
	var exit *exec.ExitError
	// Exit code 3 means that some gangs are not placed.
	if err := command.Run(); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 3) {
		return nil, fmt.Errorf("place: %w: %s", err, complaint.String())
	}
	said := &answer{}
	if err := json.Unmarshal(output.Bytes(), said); err != nil {
		return nil, fmt.Errorf("reading what place says: %w", err)
	}
	return said, nil
}
