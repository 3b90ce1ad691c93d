package rollout_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/grove-operator/internal/rollout"
)

// clique makes a PodClique that once had its minimum, with a pod of each letter: o old and ready, x old and not ready,
// p old and on no node; O, X and P the same of the new template. N is new, and the scheduler has no node for it; - is
// an index without a pod.
func clique(name string, replicas, minimum int32, letters string) rollout.Clique {
	made := rollout.Clique{Name: name, Prepared: true, Replicas: replicas, Minimum: minimum, Reached: true}
	for i, letter := range letters {
		if letter == '-' {
			continue
		}
		pod := &corev1.Pod{}
		pod.Name = fmt.Sprintf("%s%d", name, i)
		made.Pods = append(made.Pods, rollout.Pod{
			Index: int32(i), Object: pod,
			Current:   strings.ContainsRune("OXPN", letter),
			Ready:     strings.ContainsRune("oO", letter),
			Scheduled: !strings.ContainsRune("pPN", letter),
			NoRoom:    letter == 'N',
		})
	}
	return made
}

// troubled sets the messages of the PodClique and the scheduler.
func troubled(made rollout.Clique) rollout.Clique {
	made.Failing, made.Unscheduled = "the image cannot be pulled", "no rack has room"
	return made
}

func unprepared(made rollout.Clique) rollout.Clique {
	made.Prepared = false
	return made
}

func neverReached(made rollout.Clique) rollout.Clique {
	made.Reached = false
	return made
}

// group makes a scaling group with copies of one clique each.
func group(cliques ...rollout.Clique) rollout.Group {
	made := rollout.Group{Name: "g", Exists: true, Minimum: 1}
	for i, clique := range cliques {
		made.Copies = append(made.Copies, rollout.Copy{Index: int32(i), Cliques: []rollout.Clique{clique}})
	}
	return made
}

// atATime allows some copies of a group to be replaced together, as long as a minimum stays.
func atATime(most, minimum int32, made rollout.Group) rollout.Group {
	made.MaxUnavailable, made.Minimum = most, minimum
	return made
}

// copies makes a clique of one pod for each letter.
func copies(letters string) rollout.Group {
	var cliques []rollout.Clique
	for i, letter := range letters {
		cliques = append(cliques, clique(fmt.Sprintf("c%d-", i), 1, 1, string(letter)))
	}
	return group(cliques...)
}

// surging adds copies beyond replicas; two of these are allowed.
func surging(beyond int, made rollout.Group) rollout.Group {
	made.Surge, made.MaxSurge, made.Template = beyond, 2, "g"
	made.MaxCopies = int32(len(made.Copies)-beyond) + 2
	return made
}

// full makes a group that can have no further copy.
func full(made rollout.Group) rollout.Group {
	made.MaxCopies = int32(len(made.Copies))
	return made
}

// withoutRoom makes a copy with one pod for which the scheduler has no room, and never had.
func withoutRoom(name string) rollout.Clique { return troubled(neverReached(clique(name, 1, 1, "P"))) }

// overQuota makes a copy with one pod that cannot be created.
func overQuota(name string) rollout.Clique { return refused(neverReached(clique(name, 1, 1, ""))) }

// refused sets the API server's message about pods that it did not take.
func refused(made rollout.Clique) rollout.Clique {
	made.Refused = "creating pods: exceeded quota"
	return made
}

// surges describes how many copies groups are to have during the update.
func surges(step rollout.Step) string {
	var words []string
	for _, surge := range step.Surge {
		words = append(words, fmt.Sprintf("%d of %s", surge.Copies, surge.Name))
	}
	return strings.Join(words, ", ")
}

func TestNextWithCopiesBeyondReplicas(t *testing.T) {
	const (
		created = "further copies of PodCliqueScalingGroup g are being created"
		waits   = "PodCliqueScalingGroup g waits for a further copy, as maxSurge wants"
	)
	for name, c := range map[string]struct {
		group   rollout.Group
		deletes string
		waiting string
		why     string
		surge   string
		done    bool
	}{
		"copies come first, as many as may": {group: surging(0, copies("ooo")), surge: "5 of g", waiting: created},
		"no more than are to be updated":    {group: surging(0, copies("OOo")), surge: "4 of g", waiting: created},
		"whatever may be away": {
			group: surging(0, atATime(3, 1, copies("ooo"))), surge: "5 of g", waiting: created,
		},
		"none goes where none can come": {
			group: full(surging(0, copies("ooo"))), waiting: waits,
			why: "a group gets none below its minAvailable, nor beyond the most copies that it may have",
		},
		"one that is not ready goes for all that": {
			group: surging(0, copies("xoo")), deletes: "c0-0",
			waiting: "pods of the old template that are not ready are being updated",
		},
		"one that is on its way back holds the next, and the further copies": {
			group: surging(0, atATime(3, 1, copies("Xoo"))), waiting: "PodClique c0- has 0 of 1 ready pods",
		},
		"nothing is to come where all is new": {group: surging(0, copies("OOO")), done: true},
		"a copy that starts holds, however many may be away": {
			group: surging(1, atATime(3, 1, copies("oooX"))), surge: "4 of g",
			waiting: waits + ": PodClique c3- has 0 of 1 ready pods",
		},
		"so does one whose PodCliques do not exist yet": {
			group: surging(1, rollout.Group{Name: "g", Exists: true, Minimum: 1, Copies: []rollout.Copy{
				{Cliques: []rollout.Clique{clique("c", 1, 1, "o")}}, {Index: 1, Missing: []string{"d"}},
			}}),
			surge: "2 of g", waiting: waits + ": PodClique d does not exist yet",
		},
		"a copy without room holds, and the scheduler's message is reported": {
			group: surging(1, group(clique("c", 1, 1, "o"), clique("d", 1, 1, "o"), withoutRoom("e"))), surge: "3 of g",
			waiting: waits + ": PodClique e has 0 of 1 ready pods; some of them stand on no node yet",
			why:     "no rack has room",
		},
		"a copy whose pods a quota does not let come holds, and the quota is reported": {
			group: surging(1, group(clique("c", 1, 1, "o"), clique("d", 1, 1, "o"), overQuota("e"))), surge: "3 of g",
			waiting: waits + ": PodClique e has 0 of 1 pods", why: "creating pods: exceeded quota",
		},
		"a further copy whose pods beyond the minimum have no room serves": {
			group: surging(1, group(clique("c", 2, 1, "oo"), clique("d", 2, 1, "ON"))), deletes: "c0 c1",
			surge: "2 of g", waiting: "copy 0 of PodCliqueScalingGroup g is being updated",
		},
		"for each copy that came one goes": {
			group: surging(2, copies("oooOO")), deletes: "c0-0 c1-0", surge: "5 of g",
			waiting: "copies 0, 1 of PodCliqueScalingGroup g are being updated",
		},
		"of two that come, one is ready": {
			group: surging(2, copies("oooOX")), deletes: "c0-0", surge: "5 of g",
			waiting: "copy 0 of PodCliqueScalingGroup g is being updated",
		},
		"and no more, whatever may be away": {
			group: surging(1, atATime(3, 1, copies("oooO"))), deletes: "c0-0", surge: "4 of g",
			waiting: "copy 0 of PodCliqueScalingGroup g is being updated",
		},
		"one goes where none may be away": {
			group: surging(1, atATime(0, 3, copies("oooO"))), deletes: "c0-0", surge: "4 of g",
			waiting: "copy 0 of PodCliqueScalingGroup g is being updated",
		},
		"the next one waits for it": {
			group: surging(1, copies("XooO")), surge: "4 of g", waiting: "PodClique c0- has 0 of 1 ready pods",
		},
		"of two that came one is free for the next": {
			group: surging(2, copies("XooOO")), deletes: "c1-0", surge: "5 of g",
			waiting: "copy 1 of PodCliqueScalingGroup g is being updated",
		},
		"a copy that came of the template in between goes first": {
			group: surging(1, copies("oooo")), deletes: "c3-0", surge: "4 of g",
			waiting: "copy 3 of PodCliqueScalingGroup g is being updated",
		},
		"but not while one of the others is away, for which it serves": {
			group: surging(1, copies("Xooo")), surge: "4 of g", waiting: "PodClique c0- has 0 of 1 ready pods",
		},
		"nor while another one is ready": {
			group: surging(2, copies("oooOo")), deletes: "c0-0", surge: "5 of g",
			waiting: "copy 0 of PodCliqueScalingGroup g is being updated",
		},
		"one that came and broke holds what it came for": {
			group: surging(1, copies("OooX")), surge: "4 of g", waiting: waits + ": PodClique c3- has 0 of 1 ready pods",
		},
		"it stays until the last of the others is back": {
			group: surging(1, copies("OOXO")), surge: "4 of g", waiting: "PodClique c2- has 0 of 1 ready pods",
		},
		"and goes then, ready or not": {group: surging(1, copies("OOOX")), done: true},
		"nor is it updated then":      {group: surging(1, copies("OOOo")), done: true},
	} {
		t.Run(name, func(t *testing.T) {
			step := rollout.Next(rollout.Replica{Groups: []rollout.Group{c.group}})
			var deletes []string
			for _, pod := range step.Delete {
				deletes = append(deletes, pod.Name)
			}
			got := []any{strings.Join(deletes, " "), step.Waiting, step.Why, surges(step), step.Done}
			assert.Empty(t, cmp.Diff([]any{c.deletes, c.waiting, c.why, c.surge, c.done}, got),
				"deletes, waits for, why, copies, done (-want +got)")
		})
	}
}

func TestFurtherCopiesOfAGroupThatIsDoneMakeRoomForTheNext(t *testing.T) {
	next := surging(0, copies("oo"))
	next.Name, next.Template = "h", "h"
	step := rollout.Next(rollout.Replica{Groups: []rollout.Group{surging(1, copies("OOO")), next}})
	assert.Equal(t, "4 of h", surges(step), "the groups are to have")
}

func TestNext(t *testing.T) {
	for name, c := range map[string]struct {
		replica rollout.Replica
		deletes string
		waiting string
		why     string
		done    bool
	}{
		"one ready pod goes at a time, the lowest index first": {
			replica: rollout.Replica{Cliques: []rollout.Clique{clique("a", 3, 2, "Ooo")}},
			deletes: "a1", waiting: "pod 1 of PodClique a is being updated",
		},
		"old pods that are not ready go at once, of all cliques, and no ready one with them": {
			replica: rollout.Replica{
				Cliques: []rollout.Clique{clique("a", 3, 2, "oxp"), clique("b", 2, 1, "xo")},
				Groups:  []rollout.Group{group(clique("c", 2, 2, "oo"))},
			},
			deletes: "a1 a2 b0", waiting: "pods of the old template that are not ready are being updated",
		},
		"a pod of the new template that does not become ready holds": {
			replica: rollout.Replica{Cliques: []rollout.Clique{clique("a", 3, 1, "OXo")}},
			waiting: "PodClique a has 2 of 3 ready pods",
		},
		"a replacement without room holds": {
			replica: rollout.Replica{Cliques: []rollout.Clique{clique("a", 3, 1, "Poo")}},
			waiting: "PodClique a has 2 of 3 ready pods; some of them stand on no node yet",
		},
		"why a pod does not become ready is reported": {
			replica: rollout.Replica{Cliques: []rollout.Clique{troubled(clique("a", 3, 1, "OXo"))}},
			waiting: "PodClique a has 2 of 3 ready pods", why: "the image cannot be pulled",
		},
		"why a replacement stands nowhere is reported, also of a copy": {
			replica: rollout.Replica{Groups: []rollout.Group{group(clique("c", 1, 1, "o"),
				troubled(clique("d", 2, 1, "XP")))}},
			waiting: "PodClique d has 0 of 2 ready pods; some of them stand on no node yet", why: "no rack has room",
		},
		"what failed before the update came is no reason": {
			replica: rollout.Replica{Cliques: []rollout.Clique{troubled(clique("a", 3, 1, "oxo"))}},
			deletes: "a1", waiting: "pods of the old template that are not ready are being updated",
		},
		"why a pod cannot be created is reported": {
			replica: rollout.Replica{Cliques: []rollout.Clique{refused(clique("a", 1, 1, "")), clique("b", 1, 1, "o")}},
			waiting: "PodClique a has 0 of 1 pods", why: "creating pods: exceeded quota",
		},
		"a pod that is not there yet holds": {
			replica: rollout.Replica{Cliques: []rollout.Clique{clique("a", 3, 1, "oo")}},
			waiting: "PodClique a has 2 of 3 pods",
		},
		"a clique holds another one of the same replica": {
			replica: rollout.Replica{Cliques: []rollout.Clique{clique("a", 1, 1, "X"), clique("b", 2, 1, "oo")}},
			waiting: "PodClique a has 0 of 1 ready pods",
		},
		"a clique without anything to spare gives one pod": {
			replica: rollout.Replica{Cliques: []rollout.Clique{clique("a", 2, 2, "oo")}},
			deletes: "a0", waiting: "pod 0 of PodClique a is being updated",
		},
		"nothing goes before its PodClique has the new template": {
			replica: rollout.Replica{Cliques: []rollout.Clique{unprepared(clique("a", 2, 1, "xo"))}},
			waiting: "PodClique a has not got the new template yet",
		},
		"nothing goes while a PodClique is missing": {
			replica: rollout.Replica{Cliques: []rollout.Clique{clique("a", 1, 1, "o")}, Missing: []string{"b"}},
			waiting: "PodClique b does not exist yet",
		},
		"nothing goes while a scaling group is missing": {
			replica: rollout.Replica{Cliques: []rollout.Clique{clique("a", 1, 1, "o")},
				Groups: []rollout.Group{{Name: "g"}}},
			waiting: "PodCliqueScalingGroup g does not exist yet",
		},
		"a copy goes as a whole": {
			replica: rollout.Replica{
				Groups: []rollout.Group{group(clique("c", 2, 2, "OO"), clique("d", 2, 2, "oo"),
					clique("e", 2, 2, "oo"))},
			},
			deletes: "d0 d1", waiting: "copy 1 of PodCliqueScalingGroup g is being updated",
		},
		"copies below a minimum of theirs go at once, with their ready pods": {
			replica: rollout.Replica{
				Groups: []rollout.Group{group(clique("c", 2, 2, "ox"), clique("d", 2, 2, "po"),
					clique("e", 2, 2, "oo"))},
			},
			deletes: "c0 c1 d0 d1", waiting: "pods of the old template that are not ready are being updated",
		},
		"of a copy above its minimum, only the pods that are not ready go at once": {
			replica: rollout.Replica{Groups: []rollout.Group{group(clique("c", 3, 2, "oxo"))}},
			deletes: "c1", waiting: "pods of the old template that are not ready are being updated",
		},
		"a copy of which some pods are new loses the old ones only": {
			replica: rollout.Replica{Groups: []rollout.Group{group(clique("c", 3, 1, "oOo"))}},
			deletes: "c0 c2", waiting: "copy 0 of PodCliqueScalingGroup g is being updated",
		},
		"two copies go at a time where two may be unavailable": {
			replica: rollout.Replica{Groups: []rollout.Group{atATime(2, 1, copies("Oooo"))}},
			deletes: "c1-0 c2-0", waiting: "copies 1, 2 of PodCliqueScalingGroup g are being updated",
		},
		"one more goes when one of two is back": {
			replica: rollout.Replica{Groups: []rollout.Group{atATime(2, 1, copies("OXoo"))}},
			deletes: "c2-0", waiting: "copy 2 of PodCliqueScalingGroup g is being updated",
		},
		"none goes while two that may be unavailable are not back": {
			replica: rollout.Replica{Groups: []rollout.Group{atATime(2, 1, copies("XPoo"))}},
			waiting: "PodClique c0- has 0 of 1 ready pods",
		},
		"as many copies as may be unavailable never take the group below its minimum": {
			replica: rollout.Replica{Groups: []rollout.Group{atATime(4, 3, copies("oooo"))}},
			deletes: "c0-0", waiting: "copy 0 of PodCliqueScalingGroup g is being updated",
		},
		"one that is away counts against the minimum": {
			replica: rollout.Replica{Groups: []rollout.Group{atATime(4, 3, copies("Xooo"))}},
			waiting: "PodClique c0- has 0 of 1 ready pods",
		},
		"a group without anything to spare gives one copy whatever may be unavailable": {
			replica: rollout.Replica{Groups: []rollout.Group{atATime(4, 4, copies("oooo"))}},
			deletes: "c0-0", waiting: "copy 0 of PodCliqueScalingGroup g is being updated",
		},
		"copies go of one group at a time": {
			replica: rollout.Replica{Groups: []rollout.Group{atATime(2, 1, copies("OO")),
				atATime(2, 0, copies("ooo"))}},
			deletes: "c0-0 c1-0", waiting: "copies 0, 1 of PodCliqueScalingGroup g are being updated",
		},
		"another group that is not ready holds the copies of one": {
			replica: rollout.Replica{Groups: []rollout.Group{atATime(2, 0, copies("Xo")),
				atATime(2, 0, copies("Xoo"))}},
			waiting: "PodClique c0- has 0 of 1 ready pods",
		},
		"a group whose last copies are on their way back holds the next": {
			replica: rollout.Replica{Groups: []rollout.Group{atATime(2, 0, copies("XO")),
				atATime(2, 0, copies("ooo"))}},
			waiting: "PodClique c0- has 0 of 1 ready pods",
		},
		"pods of a clique go one by one, and no copy beside them": {
			replica: rollout.Replica{
				Cliques: []rollout.Clique{clique("a", 3, 1, "ooo")},
				Groups:  []rollout.Group{atATime(2, 0, copies("oo"))},
			},
			deletes: "a0", waiting: "pod 0 of PodClique a is being updated",
		},
		"a pod of a clique waits for copies that may be unavailable": {
			replica: rollout.Replica{
				Cliques: []rollout.Clique{clique("a", 3, 1, "ooo")},
				Groups:  []rollout.Group{atATime(3, 0, copies("XOO"))},
			},
			waiting: "PodClique c0- has 0 of 1 ready pods",
		},
		"a copy that never had room holds nothing": {
			replica: rollout.Replica{
				Groups: []rollout.Group{group(clique("c", 1, 1, "o"), neverReached(clique("d", 1, 1, "P")))},
			},
			deletes: "c0", waiting: "copy 0 of PodCliqueScalingGroup g is being updated",
		},
		"a copy that had room and lost it holds": {
			replica: rollout.Replica{Groups: []rollout.Group{group(clique("c", 1, 1, "o"), clique("d", 1, 1, "P"))}},
			waiting: "PodClique d has 0 of 1 ready pods; some of them stand on no node yet",
		},
		"a clique that starts for the first time holds": {
			replica: rollout.Replica{Cliques: []rollout.Clique{neverReached(clique("a", 1, 1, "X")),
				clique("b", 1, 1, "o")}},
			waiting: "PodClique a has 0 of 1 ready pods",
		},
		"a pod beyond the minimum without room, which the update has not taken, holds nothing": {
			replica: rollout.Replica{Cliques: []rollout.Clique{clique("a", 3, 2, "ooN")}},
			deletes: "a0", waiting: "pod 0 of PodClique a is being updated",
		},
		"nor does one that a quota does not let come": {
			replica: rollout.Replica{Cliques: []rollout.Clique{refused(clique("a", 3, 1, "Oo"))}},
			deletes: "a1", waiting: "pod 1 of PodClique a is being updated",
		},
		"nor one in the middle": {
			replica: rollout.Replica{Cliques: []rollout.Clique{refused(clique("a", 4, 1, "o-oo"))}},
			deletes: "a0", waiting: "pod 0 of PodClique a is being updated",
		},
		"one of which nobody knows whether it has room holds": {
			replica: rollout.Replica{Cliques: []rollout.Clique{clique("a", 3, 1, "ooP")}},
			waiting: "PodClique a has 2 of 3 ready pods; some of them stand on no node yet",
		},
		"the pod that the update took holds the next, while it has no room": {
			replica: rollout.Replica{Cliques: []rollout.Clique{clique("a", 4, 1, "NooN")}},
			waiting: "PodClique a has 2 of 4 ready pods; some of them stand on no node yet",
		},
		"so it does while a quota does not let it come": {
			replica: rollout.Replica{Cliques: []rollout.Clique{refused(clique("a", 4, 1, "O-oo"))}},
			waiting: "PodClique a has 3 of 4 pods", why: "creating pods: exceeded quota",
		},
		"it holds no longer when another pod came in its place": {
			replica: rollout.Replica{Cliques: []rollout.Clique{clique("a", 4, 1, "NooO")}},
			deletes: "a1", waiting: "pod 1 of PodClique a is being updated",
		},
		"a pod without room that belongs to the minimum holds": {
			replica: rollout.Replica{Cliques: []rollout.Clique{clique("a", 3, 3, "ooN")}},
			waiting: "PodClique a has 2 of 3 ready pods; some of them stand on no node yet",
		},
		"beside a pod without room, one that does not become ready holds": {
			replica: rollout.Replica{Cliques: []rollout.Clique{clique("a", 4, 1, "ooXN")}},
			waiting: "PodClique a has 2 of 4 ready pods; some of them stand on no node yet",
		},
		"a copy whose pods beyond the minimum have no room goes, and holds nothing when it is back": {
			replica: rollout.Replica{Groups: []rollout.Group{group(clique("c", 2, 1, "ON"), clique("d", 2, 1, "oN"))}},
			deletes: "d0", waiting: "copy 1 of PodCliqueScalingGroup g is being updated",
		},
		"what is new and has its minimum is done, if the rest has no room": {
			replica: rollout.Replica{
				Cliques: []rollout.Clique{clique("a", 3, 2, "OON")},
				Groups:  []rollout.Group{group(refused(clique("c", 2, 1, "O")))},
			},
			done: true,
		},
		"a clique that was scaled to zero is done": {
			replica: rollout.Replica{Cliques: []rollout.Clique{clique("a", 0, 0, "")}}, done: true,
		},
		"what is new, ready and complete is done": {
			replica: rollout.Replica{
				Cliques: []rollout.Clique{clique("a", 2, 1, "OO")},
				Groups:  []rollout.Group{group(clique("c", 2, 2, "OO"), neverReached(clique("d", 1, 1, "P")))},
			},
			done: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			step := rollout.Next(c.replica)
			var deletes []string
			for _, pod := range step.Delete {
				deletes = append(deletes, pod.Name)
			}
			got := []any{strings.Join(deletes, " "), step.Waiting, step.Why, step.Done}
			assert.Empty(t, cmp.Diff([]any{c.deletes, c.waiting, c.why, c.done}, got),
				"deletes, waits for, why, done (-want +got)")
		})
	}
}
