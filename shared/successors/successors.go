// Package successors has a question and its answer: whether the pods that an update is about to make would have room in
// place of those that would leave for them. A program that updates a workload asks before it deletes anything; the
// scheduler answers. The question is the annotation packtree.dev/successors of a PodGang and its PodGroup, the answer
// their condition SuccessorsFit.
package successors

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Question asks whether successors of pods would all have a node if these pods left, all of them at once. Added pods
// come before that: they need a node beside those that leave.
type Question struct {
	// ID identifies the question; the answer names it. It follows from the groups.
	ID string `json:"id"`
	// Asked is when it was first asked.
	Asked metav1.Time `json:"asked"`
	// Groups are the pods that leave, equal ones together.
	Groups []Group `json:"groups"`
}

// Group are pods of one leaf of one PodGroup that leave, with the template of their successors, one for each of them;
// or pods that are added.
type Group struct {
	// PodGroup is the name of their PodGroup, in the namespace of the PodGroup with the question.
	PodGroup string `json:"podGroup"`
	// SubGroup is the leaf of the PodGroup; if the PodGroup does not have it, the PodGroup itself is meant.
	SubGroup string `json:"subGroup,omitempty"`
	// Pods are the names of those that leave, sorted.
	Pods []string `json:"pods"`
	// Added is how many pods come beside the existing ones. A PodGroup with added pods has none that leave.
	Added int32 `json:"added,omitempty"`
	// Template has the fields that a scheduler reads of a successor, or of an added pod: see TemplateOf.
	Template corev1.PodTemplateSpec `json:"template"`
}

// longest is the maximum size of a question, in bytes. The API server allows 256 KiB for all annotations of an object,
// of which the numbers of expected pods may take half.
const longest = 64 << 10

// New returns the question about groups, which are in any order.
func New(groups []Group, asked metav1.Time) (Question, error) {
	groups = slices.Clone(groups)
	for i := range groups {
		groups[i].Pods = slices.Sorted(slices.Values(groups[i].Pods))
	}
	slices.SortFunc(groups, func(a, b Group) int {
		return strings.Compare(a.PodGroup+"/"+a.SubGroup, b.PodGroup+"/"+b.SubGroup)
	})
	written, err := json.Marshal(groups)
	if err != nil {
		return Question{}, fmt.Errorf("writing the question: %w", err)
	}
	if len(written) > longest {
		return Question{}, fmt.Errorf("the question would take %d KiB, and an annotation holds %d",
			len(written)>>10, longest>>10)
	}
	sum := sha256.Sum256(written)
	return Question{ID: hex.EncodeToString(sum[:6]), Asked: asked, Groups: groups}, nil
}

// String is the form of the annotation.
func (q Question) String() string {
	written, err := json.Marshal(q)
	if err != nil {
		panic(fmt.Sprintf("writing a question about successors: %v", err)) // New has written it before.
	}
	return string(written)
}

// Parse returns the question in the annotations of a PodGang or PodGroup; nil if there is none. For a malformed one it
// returns the ID, if it has one, and the error.
func Parse(annotations map[string]string) (*Question, error) {
	written := annotations[scheduling.AnnotationSuccessors]
	if written == "" {
		return nil, nil
	}
	question := &Question{}
	if err := json.Unmarshal([]byte(written), question); err != nil {
		var readable struct {
			ID string `json:"id"`
		}
		_ = json.Unmarshal([]byte(written), &readable) // Without a readable ID it has none.
		return &Question{ID: readable.ID}, fmt.Errorf("reading annotation %s: %w", scheduling.AnnotationSuccessors, err)
	}
	return question, nil
}

// Adds reports whether pods are to be added.
func (q *Question) Adds() bool {
	return slices.ContainsFunc(q.Groups, func(group Group) bool { return group.Added > 0 })
}

// Covers reports whether another question asks only about pods of this one, with the same successors.
func (q *Question) Covers(other *Question) bool {
	return !slices.ContainsFunc(other.Groups, func(asked Group) bool {
		return !slices.ContainsFunc(q.Groups, func(group Group) bool { return group.covers(asked) })
	})
}

func (g Group) covers(other Group) bool {
	if g.PodGroup != other.PodGroup || g.SubGroup != other.SubGroup || g.Added < other.Added ||
		!sameTemplate(g.Template, other.Template) {
		return false
	}
	return !slices.ContainsFunc(other.Pods, func(pod string) bool { return !slices.Contains(g.Pods, pod) })
}

// sameTemplate compares the encoded forms: one template was read, the other made.
func sameTemplate(a, b corev1.PodTemplateSpec) bool {
	first, err := json.Marshal(a)
	second, other := json.Marshal(b)
	return err == nil && other == nil && string(first) == string(second)
}

// Answer is a scheduler's answer to a question.
type Answer struct {
	// ID of the question.
	ID string
	// Fits is True if each successor would have a node, False if not, Unknown if it is not known.
	Fits metav1.ConditionStatus
	// Reason is one of ConditionSuccessorsFit.
	Reason string
	// Sentence with the reason.
	Sentence string
}

// between separates the ID from the sentence in the message of a condition.
const between = ": "

// Condition is the form of an answer in a status. The times are left to the writer.
func (a Answer) Condition() metav1.Condition {
	return metav1.Condition{
		Type: scheduling.ConditionSuccessorsFit, Status: a.Fits, Reason: a.Reason, Message: a.ID + between + a.Sentence,
	}
}

// AnswerIn returns the answer among conditions; the zero value if there is none.
func AnswerIn(conditions []metav1.Condition) Answer {
	condition := meta.FindStatusCondition(conditions, scheduling.ConditionSuccessorsFit)
	if condition == nil {
		return Answer{}
	}
	id, sentence, _ := strings.Cut(condition.Message, between)
	return Answer{ID: id, Fits: condition.Status, Reason: condition.Reason, Sentence: sentence}
}
