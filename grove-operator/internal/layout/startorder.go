package layout

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Names that a waiting pod has besides the user's; no container or volume of the user's may have them.
const (
	// StartupContainer is the name of the init container.
	StartupContainer = "grove-startup"
	// StartupVolume is the name of the volume with its credentials.
	StartupVolume = "grove-startup-access"
)

// Parent is a PodClique that must be ready before another one starts.
type Parent struct {
	// PodClique is its name.
	PodClique string
	// MinAvailable is how many of its pods must be ready at the same time.
	MinAvailable int32
}

// String is the form that ParseParent reads.
func (p Parent) String() string {
	return fmt.Sprintf("%s:%d", p.PodClique, p.MinAvailable)
}

// ParseParent reads a parent from <PodClique>:<minimum>.
func ParseParent(text string) (Parent, error) {
	podClique, count, found := strings.Cut(text, ":")
	if !found || podClique == "" {
		return Parent{}, fmt.Errorf("%q is not <podclique>:<minimum>, for example inference-0-prefill:2", text)
	}
	minimum, err := strconv.ParseInt(count, 10, 32)
	if err != nil || minimum < 1 {
		return Parent{}, fmt.Errorf("%q: the minimum must be a number from 1 on", text)
	}
	return Parent{PodClique: podClique, MinAvailable: int32(minimum)}, nil
}

// Waits reports whether a clique of the set starts after others, at least in the base gangs.
func Waits(set *grovev1alpha1.PodCliqueSet, clique *grovev1alpha1.PodCliqueTemplateSpec) bool {
	switch set.Spec.Template.CliqueStartupType {
	case grovev1alpha1.CliqueStartupTypeInOrder:
		return set.Spec.Template.Cliques[0].Name != clique.Name
	case grovev1alpha1.CliqueStartupTypeExplicit:
		return len(clique.Spec.StartsAfter) > 0
	default:
		return false
	}
}

// Parents returns the PodCliques that a PodClique starts after: in a base gang those of the whole gang, in a scaled
// gang only those of the same copy of the scaling group, since the base gang runs already. Standalone cliques come
// first, then scaling groups, each in the order of the template.
func Parents(set *grovev1alpha1.PodCliqueSet, member Member) []Parent {
	if !Waits(set, member.Clique) {
		return nil
	}
	together := ofGang(set, member)
	before := parentCliques(set, member, together)
	var parents []Parent
	for _, other := range together {
		if slices.Contains(before, other.Clique.Name) {
			parents = append(parents, Parent{PodClique: other.Name,
				MinAvailable: MinAvailable(&other.Clique.Spec)})
		}
	}
	return parents
}

// parentCliques returns the names of the cliques that a member starts after. InOrder means the order of the gang: in a
// scaled gang, cliques outside of its scaling group are not between two cliques in it.
func parentCliques(set *grovev1alpha1.PodCliqueSet, member Member, together []Member) []string {
	if set.Spec.Template.CliqueStartupType == grovev1alpha1.CliqueStartupTypeExplicit {
		return member.Clique.Spec.StartsAfter
	}
	inGang := map[string]bool{}
	for _, other := range together {
		inGang[other.Clique.Name] = true
	}
	var before []string
	for i := range set.Spec.Template.Cliques {
		name := set.Spec.Template.Cliques[i].Name
		if name == member.Clique.Name {
			break
		}
		if inGang[name] {
			before = []string{name}
		}
	}
	return before
}

// Account returns the service account of pods of a clique with that spec; empty leaves it to the namespace. Pods that
// wait read other pods; without an account of their own they get the set's.
func Account(
	set *grovev1alpha1.PodCliqueSet, clique *grovev1alpha1.PodCliqueTemplateSpec, spec *corev1.PodSpec,
) string {
	switch {
	case spec.ServiceAccountName != "":
		return spec.ServiceAccountName
	case spec.DeprecatedServiceAccount != "":
		return spec.DeprecatedServiceAccount
	case Waits(set, clique):
		return ServiceAccount(set.Name)
	}
	return ""
}

// Accounts returns every service account that reads pods of the set: the set's own, and the user's accounts of waiting
// pods, in the set's template or in that of a PodClique which an update has not reached yet; sorted.
func Accounts(set *grovev1alpha1.PodCliqueSet, podCliques []*grovev1alpha1.PodClique) []string {
	accounts := []string{ServiceAccount(set.Name)}
	add := func(clique *grovev1alpha1.PodCliqueTemplateSpec, spec *corev1.PodSpec) {
		if Waits(set, clique) {
			accounts = append(accounts, Account(set, clique, spec))
		}
	}
	for i := range set.Spec.Template.Cliques {
		add(&set.Spec.Template.Cliques[i], &set.Spec.Template.Cliques[i].Spec.PodSpec)
	}
	for _, podClique := range podCliques {
		if member, ok := Find(set, podClique); ok {
			add(member.Clique, &podClique.Spec.PodSpec)
		}
	}
	slices.Sort(accounts)
	return slices.Compact(accounts)
}
