package gangstate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// MostSeats is how many seats, and reserved nodes, a PodGroup's status lists: an object must stay small enough to be
// stored.
const MostSeats = 2048

// Status is what the status of a PodGroup says of what is known of its gang here.
type Status struct {
	// Last is the last answer for the gang; nil if there has been none, or it is of no account any more.
	Last *solve.Answer
	// Claim is a claim with a volume or device that the gang waits for before any pod is bound, the first by name;
	// empty if there is none.
	Claim string
	// Placement is how close together the last plan placed the gang; nil if there is none, it did not come true, or the
	// gang prefers no level.
	Placement *scheduling.PlacementStatus
	// Seats are the seats held for replacement pods of the gang: equal ones together, sorted.
	Seats []scheduling.SeatsStatus
	// Reservations are room that others have to leave to the gang.
	Reservations []scheduling.ReservationStatus
	// Repair is what is done about pods that the gang has lost, and Unplanned is set as long as nothing was planned for
	// any gang.
	Repair    Repair
	Unplanned bool
}

// Status returns what the status of a PodGroup says of what is known of its gang.
func (s *State) Status(podGroup *scheduling.PodGroup) Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.known(keyOf(podGroup))
	status := Status{
		Claim: s.unprovided(r), Seats: r.seatsStatus(), Reservations: r.reservationsStatus(), Unplanned: !s.repairsPlanned,
	}
	if r.last != nil {
		status.Last = r.last.given
	}
	if r.isOf(podGroup.UID) {
		status.Placement, status.Repair = r.placement, r.repair
	}
	return status
}

func (r *record) seatsStatus() (all []scheduling.SeatsStatus) {
	seats := r.seats()
	for _, seat := range seats[:min(len(seats), MostSeats)] {
		one := statusOf(seat)
		same := slices.IndexFunc(all, func(other scheduling.SeatsStatus) bool {
			other.Nodes = one.Nodes
			return equality.Semantic.DeepEqual(one, other)
		})
		if same < 0 {
			all = append(all, one)
		} else {
			all[same].Nodes = append(all[same].Nodes, one.Nodes...)
		}
	}
	for i := range all {
		slices.Sort(all[i].Nodes)
	}
	slices.SortStableFunc(all, func(a, b scheduling.SeatsStatus) int { return cmp.Compare(a.SubGroup, b.SubGroup) })
	return all
}

// reservationsStatus has, in a stable order, the nodes that are reserved because the gang is overdue, and the nodes
// that victims leave. Reservations that end within moments are left out: a status with them would come too late, and
// have to be written twice.
func (r *record) reservationsStatus() (all []scheduling.ReservationStatus) {
	for _, v := range r.room((*reservation).isOverdue) {
		all = append(all, scheduling.ReservationStatus{
			Reason: scheduling.ReservationOvertaken, Nodes: first(v.nodes()),
			Until: ptr.To(metav1.NewTime(v.until).Rfc3339Copy()),
		})
	}
	if r.preempting != nil && len(r.preempting.room.pods) > 0 {
		all = append(all, scheduling.ReservationStatus{
			Reason: scheduling.ReservationPreempting, Nodes: first(r.preempting.room.nodes()),
		})
	}
	return all
}

// nodes returns its nodes, sorted, each once for each pod.
func (v *reservation) nodes() (nodes []string) {
	for _, placement := range v.pods {
		nodes = append(nodes, placement.Node)
	}
	slices.Sort(nodes)
	return nodes
}

func first(nodes []string) []string { return nodes[:min(len(nodes), MostSeats)] }

func statusOf(seat *reservation) scheduling.SeatsStatus {
	pod := seat.placement().Pod
	one := scheduling.SeatsStatus{
		SubGroup: gang.LeafOf(pod), Nodes: []string{seat.placement().Node}, Priority: kubeframework.Priority(pod),
		Requests: requestsOf(pod),
	}
	if len(one.Requests) == 0 {
		one.Requests = nil
	}
	if !seat.until.IsZero() {
		one.Until = ptr.To(metav1.NewTime(seat.until).Rfc3339Copy())
	}
	return one
}

// Leads records that this process schedules from now on. What it holds for moves is from when it started: statuses tell
// what the process before it did meanwhile.
func (s *State) Leads(now time.Time) (effects Effects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.gangs {
		if r.podGroup == nil {
			continue
		}
		s.dropMove(&effects, r)
		if IsMoving(r.podGroup) {
			s.restoreSeats(&effects, r, now)
		}
		s.tidy(r)
	}
	return effects
}

// IsMoving reports whether the seats that a status lists are held for a move.
func IsMoving(podGroup *scheduling.PodGroup) bool {
	planned := meta.FindStatusCondition(podGroup.Status.Conditions, scheduling.ConditionRepairPlanned)
	return planned != nil && planned.Reason == scheduling.ReasonMoving
}

// restoreSeats holds the seats in the status of a PodGroup: the scheduler that held them has ended. The status may be
// forged, so it holds no more and no longer than a scheduler would have.
func (s *State) restoreSeats(e *Effects, r *record, now time.Time) {
	if r.podGroup == nil {
		return
	}
	hold, moves := holdOf(r.podGroup), IsMoving(r.podGroup)
	if moves {
		hold = MoveHold(r.podGroup)
	}
	if hold <= 0 {
		return
	}
	left := MostSeats
	for _, seat := range listedSeats(r.podGroup, slices.Concat(r.members.Pending(), r.members.Standing())) {
		until := now.Add(hold)
		if seat.until != nil && seat.until.Time.Before(until) {
			until = seat.until.Time
		}
		if left > 0 && until.After(now) && s.takes(seat.Node, seat.Pod) {
			left--
			r.seat(e, seat.Placement, reservation{moves: moves, until: until})
			e.again(until.Sub(now))
		}
	}
	s.trimSeats(e, r)
}

// listedSeat is a seat that a status lists.
type listedSeat struct {
	Placement
	// until is the end of the seat; nil if it is held for a pod on its way out.
	until *metav1.Time
}

// listedSeats returns the seats that the status of a PodGroup lists, for the pods of its gang. The status may be
// forged, so none has a higher priority than the pods that are left, and none frees room.
func listedSeats(podGroup *scheduling.PodGroup, pods []*corev1.Pod) (seats []listedSeat) {
	of := gang.Gang{Pending: pods}
	for i, held := range podGroup.Status.Seats {
		if anyBelowZero(held.Requests) {
			continue
		}
		held.Priority = min(held.Priority, of.Priority())
		for j, node := range held.Nodes {
			like := remembered(gang.KeyOfPodGroup(podGroup), held, seatUID(i, j, podGroup))
			seats = append(seats, listedSeat{Placement{Pod: like, Node: node}, held.Until})
		}
	}
	return seats
}

func anyBelowZero(requests corev1.ResourceList) bool {
	for _, amount := range requests {
		if amount.Sign() < 0 {
			return true
		}
	}
	return false
}

// ToldSeats returns the room that the status of a PodGroup lists as held for successors of the given pods of its gang,
// but for that of pods on their way out: their nodes show them.
func ToldSeats(podGroup *scheduling.PodGroup, pods []*corev1.Pod) (seats []Placement) {
	left := slices.DeleteFunc(slices.Clone(pods),
		func(pod *corev1.Pod) bool { return !gang.Pending(pod) && !gang.Standing(pod) })
	for _, seat := range listedSeats(podGroup, left) {
		if seat.until != nil {
			seats = append(seats, seat.Placement)
		}
	}
	return seats
}

func seatUID(i, j int, podGroup *scheduling.PodGroup) string {
	return fmt.Sprintf("seat %d-%d of %s", i, j, podGroup.UID)
}

// remembered returns a pod that asks for what a seat has room for.
func remembered(key gang.Key, held scheduling.SeatsStatus, uid string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.Namespace, Name: uid, UID: types.UID(uid),
		Annotations: map[string]string{scheduling.AnnotationPodGroupName: key.Name},
		Labels:      map[string]string{kai.LabelSubGroupName: held.SubGroup},
	}}
	pod.Spec.Priority = ptr.To(held.Priority)
	// It stood there, whatever has repelled others of its kind.
	pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	asks := corev1.ResourceRequirements{Requests: held.Requests}
	pod.Spec.Containers = []corev1.Container{{Name: "seat", Resources: asks}}
	return pod
}

// IsSeat reports whether a pod stands for a seat that a status lists. No object has a name with spaces.
func IsSeat(pod *corev1.Pod) bool { return strings.HasPrefix(pod.Name, "seat ") }
