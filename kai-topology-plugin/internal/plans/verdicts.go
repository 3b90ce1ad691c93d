package plans

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
)

// Verdicts remembers the last answer for each gang that is not placed.
type Verdicts struct {
	mu    sync.Mutex
	gangs map[gang.Key]*verdict
}

type verdict struct {
	answer     *decision.Answer
	generation int64
	// doubted says that something changed while the answer was looked for: it is what was decided last, and no more than that.
	doubted bool
	// asked is the pod for which the answer was found, and told are all that know it.
	asked types.UID
	told  sets.Set[types.UID]
}

// NewVerdicts returns an empty memory.
func NewVerdicts() *Verdicts {
	return &Verdicts{gangs: map[gang.Key]*verdict{}}
}

// Remember records the answer that a pod of a gang was given, for the given generation of its PodGroup.
func (v *Verdicts) Remember(key gang.Key, generation int64, pod types.UID, answer *decision.Answer) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.gangs[key] = &verdict{answer: answer, generation: generation, asked: pod, told: sets.New(pod)}
}

// Repeat returns the last answer to a pod that has not been told it yet. All pods of a gang wake up together; the first one
// asks, and the others share its answer. One that has been told comes back because something happened, and asks anew; and
// an answer with nodes was made into a plan, which has its own memory.
func (v *Verdicts) Repeat(key gang.Key, generation int64, pod types.UID) *decision.Answer {
	v.mu.Lock()
	defer v.mu.Unlock()
	known := v.gangs[key]
	if known == nil || known.generation != generation || known.doubted || known.told.Has(pod) || len(known.answer.Nodes) > 0 {
		return nil
	}
	known.told.Insert(pod)
	return known.answer
}

// Asked returns the last answer if it was found for this pod, or nil.
func (v *Verdicts) Asked(key gang.Key, pod types.UID) *decision.Answer {
	v.mu.Lock()
	defer v.mu.Unlock()
	if known := v.gangs[key]; known != nil && known.asked == pod {
		return known.answer
	}
	return nil
}

// Asker returns the pod that the last answer for a gang was found for, if the gang waits because of it. It asks again when
// something happens that could help; the others hear of it.
func (v *Verdicts) Asker(key gang.Key) (pod types.UID, known bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if verdict := v.gangs[key]; verdict != nil && verdict.asked != "" && len(verdict.answer.Nodes) == 0 {
		return verdict.asked, true
	}
	return "", false
}

// Current returns the last answer for a gang, if it is one for this generation of its PodGroup and gave no pod a node.
func (v *Verdicts) Current(key gang.Key, generation int64) *decision.Answer {
	v.mu.Lock()
	defer v.mu.Unlock()
	known := v.gangs[key]
	if known != nil && known.generation == generation && !known.doubted && len(known.answer.Nodes) == 0 {
		return known.answer
	}
	return nil
}

// Last returns the last answer for a gang, or nil.
func (v *Verdicts) Last(key gang.Key) *decision.Answer {
	v.mu.Lock()
	defer v.mu.Unlock()
	if known := v.gangs[key]; known != nil {
		return known.answer
	}
	return nil
}

// Newcomer drops the answer of a gang for the sake of a pod that it was given without. A pod that was told has asked before
// word of it got here: the answer is about it too, and nobody would ask again.
func (v *Verdicts) Newcomer(key gang.Key, pod types.UID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if known := v.gangs[key]; known != nil && !known.told.Has(pod) {
		delete(v.gangs, key)
	}
}

// Doubt has whoever asks next about a gang not be given the last answer. It stays what was decided last, which is what the
// status of the gang says.
func (v *Verdicts) Doubt(key gang.Key) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if known := v.gangs[key]; known != nil {
		known.doubted = true
	}
}

// Forget drops the answer: the gang was placed, or has changed.
func (v *Verdicts) Forget(key gang.Key) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.gangs, key)
}
