// Package termination decides when a unit is recreated as a whole because it stayed below a minimum for too long: one
// copy of a scaling group while its group keeps its minimum, or else the whole replica of the set.
package termination

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/status"
)

// Breach is a minimum that was reached once and is missed now.
type Breach struct {
	// What names the object, Since is the time since which it is in breach.
	What  string
	Since time.Time
}

// Object is a PodClique or PodCliqueScalingGroup of a unit.
type Object struct {
	Kind, Name string
	UID        types.UID
	// Going reports whether it is being deleted.
	Going bool
	// Replicas is how many it has, and TemplateReplicas how many the template asked for when it was last written.
	Replicas         int32
	TemplateReplicas string
}

// Unit is recreated as a whole: a replica of a set, or a copy of a scaling group.
type Unit struct {
	Index    int32
	Breaches []Breach
	// Objects are its existing ones.
	Objects []Object
}

// Situation has the inputs of a decision about the units of a set, or of a scaling group.
type Situation struct {
	// Record is the unit in the status that is being recreated; nil if there is none.
	Record *grovev1alpha1.GangTermination
	// Delay is how long a unit may stay in breach; 0 means for ever.
	Delay time.Duration
	// Updating reports whether an update replaces pods; no unit is recreated then.
	Updating bool
	// Units are all wanted ones.
	Units []Unit
	// Confirmed are the breaches of the units in Due, by what the API server has. Conditions may be out of date: while
	// no operator runs, pods recover and no status is written; and what the cache shows may be late.
	Confirmed map[int32][]Breach
	// Untouched reports whether nothing of the recorded unit is deleted yet, by what the API server has.
	Untouched bool
	// Now is the time to compare deadlines with.
	Now time.Time
}

// Plan says what to record and do.
type Plan struct {
	// Record is to be written into the status. Begun reports whether it is new.
	Record *grovev1alpha1.GangTermination
	Begun  bool
	// Delete are objects of the unit that the status names already.
	Delete []Object
	// Recheck is when the next unit is due; zero if none is.
	Recheck time.Time
}

// Holds reports whether nothing of a unit is created in this pass, because its objects are still being deleted.
func (p Plan) Holds(unit int32) bool {
	return len(p.Delete) > 0 && p.Record.Index == unit
}

// Decide returns what to do next. One unit is recreated at a time. A unit that has recovered before any object of it
// was deleted is left alone; after that it is finished whatever happens to it.
func Decide(situation Situation) Plan {
	if record := situation.Record; record != nil {
		leaving, unfinished := remaining(record, situation.Units)
		recovered := situation.Untouched && len(situation.Confirmed[record.Index]) == 0
		if !unfinished || recovered {
			return Plan{}
		}
		return Plan{Record: record, Delete: leaving}
	}
	due, recheck := situation.due()
	for _, unit := range due {
		unit.Breaches = situation.Confirmed[unit.Index]
		if since, breached := unit.since(); breached && !situation.Now.Before(since.Add(situation.Delay)) {
			return Plan{Record: situation.record(unit), Begun: true}
		}
	}
	return Plan{Recheck: recheck}
}

// Due are the units that Decide may recreate, or may still leave alone. They have to be read past the cache first.
func (s *Situation) Due() []Unit {
	if record := s.Record; record != nil {
		return slices.DeleteFunc(slices.Clone(s.Units), func(unit Unit) bool {
			return unit.Index != record.Index || !Untouched(record, unit.Objects)
		})
	}
	due, _ := s.due()
	return due
}

// due are the units that have waited long enough, the earliest breach first, and the time at which the next one is
// due.
func (s *Situation) due() (due []Unit, next time.Time) {
	if s.Record != nil || s.Delay <= 0 || s.Updating {
		return nil, time.Time{}
	}
	for _, unit := range s.Units {
		since, breached := unit.since()
		if !breached {
			continue
		}
		switch deadline := since.Add(s.Delay); {
		case !s.Now.Before(deadline):
			due = append(due, unit)
		case next.IsZero() || deadline.Before(next):
			next = deadline
		}
	}
	slices.SortStableFunc(due, func(a, b Unit) int {
		sinceA, _ := a.since()
		sinceB, _ := b.since()
		return cmp.Or(sinceA.Compare(sinceB), cmp.Compare(a.Index, b.Index))
	})
	return due, next
}

// since is the time since which a unit is in breach.
func (u *Unit) since() (since time.Time, breached bool) {
	for _, breach := range u.Breaches {
		if !breached || breach.Since.Before(since) {
			since, breached = breach.Since, true
		}
	}
	return since, breached
}

func (s *Situation) record(unit Unit) *grovev1alpha1.GangTermination {
	var missed []string
	for _, breach := range unit.Breaches {
		missed = append(missed, breach.What)
	}
	record := &grovev1alpha1.GangTermination{
		Index: unit.Index, StartedAt: metav1.NewTime(s.Now),
		Message: fmt.Sprintf("below the minimum for %s: %s", s.Delay, status.Few(missed)),
		Objects: []grovev1alpha1.TerminatedObject{},
	}
	for _, object := range unit.Objects {
		record.Objects = append(record.Objects, grovev1alpha1.TerminatedObject{
			Kind: object.Kind, Name: object.Name, UID: object.UID,
			Replicas: object.Replicas, TemplateReplicas: object.TemplateReplicas,
		})
	}
	return record
}

// Untouched reports whether all recorded objects exist and are not going.
func Untouched(record *grovev1alpha1.GangTermination, existing []Object) bool {
	unit := Unit{Objects: existing}
	return record != nil && !slices.ContainsFunc(record.Objects, func(recorded grovev1alpha1.TerminatedObject) bool {
		object := unit.find(recorded.Kind, recorded.Name)
		return object == nil || object.UID != recorded.UID || object.Going
	})
}

// remaining are the recorded objects that are not deleted yet. The record is finished when each has been replaced by
// another of its name, or when the unit is no longer wanted.
func remaining(record *grovev1alpha1.GangTermination, units []Unit) (leaving []Object, unfinished bool) {
	position := slices.IndexFunc(units, func(unit Unit) bool { return unit.Index == record.Index })
	if position < 0 {
		return nil, false
	}
	for _, recorded := range record.Objects {
		object := units[position].find(recorded.Kind, recorded.Name)
		switch {
		case object == nil:
			unfinished = true
		case object.UID == recorded.UID:
			unfinished = true
			if !object.Going {
				leaving = append(leaving, *object)
			}
		}
	}
	return leaving, unfinished
}

func (u *Unit) find(kind, name string) *Object {
	for i := range u.Objects {
		if u.Objects[i].Kind == kind && u.Objects[i].Name == name {
			return &u.Objects[i]
		}
	}
	return nil
}

// Replicas is how many replicas an object gets that does not exist: as many as the object had that was deleted to be
// recreated, unless the template has another number than it had then. Desired is the object by the template.
func Replicas(record *grovev1alpha1.GangTermination, kind string, desired client.Object, template int32) int32 {
	if record == nil {
		return template
	}
	for _, object := range record.Objects {
		if object.Kind == kind && object.Name == desired.GetName() &&
			object.TemplateReplicas == desired.GetAnnotations()[grovev1alpha1.AnnotationTemplateReplicas] {
			return object.Replicas
		}
	}
	return template
}
