package admission

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/didyoumean"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/topology"
)

// Cluster is what the rules need to know about the cluster.
type Cluster struct {
	// TopologyAware reports whether topology constraints may be used.
	TopologyAware bool
	// Lookup finds ClusterTopologies.
	Lookup topology.Lookup
	// DefaultScheduler is the scheduler of pods that name none.
	DefaultScheduler string
}

var templatePath = field.NewPath("spec", "template")

// ValidateCreate returns all mistakes in a new PodCliqueSet, and warnings. The defaults are set already.
func ValidateCreate(set *grovev1alpha1.PodCliqueSet, cluster Cluster) (warnings []string, errs field.ErrorList) {
	warnings, errs = validateSpec(set)
	errs = append(errs, validateAnnotations(set)...)
	errs = append(errs, validateQueue(set)...)
	errs = append(errs, validateAccount(set)...)
	errs = append(errs, validateSchedulers(set, cluster.DefaultScheduler)...)
	warnings = append(warnings, warnOfSpreads(set)...)
	errs = append(errs, validateTopology(set, cluster)...)
	return append(warnings, warnOfTopology(set, cluster)...), append(errs, validateSpreads(set, cluster)...)
}

// validateAccount refuses the name of the ServiceAccount that every namespace has already, and that the operator must
// not write.
func validateAccount(set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	const everywhere = "default"
	if layout.ServiceAccount(set.Name) != everywhere {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), set.Name,
		"a PodCliqueSet makes a ServiceAccount of its own name, and every namespace has one with this name: choose "+
			"another name")}
}

func validateSpec(set *grovev1alpha1.PodCliqueSet) (warnings []string, errs field.ErrorList) {
	// The name becomes that of a Service.
	for _, problem := range validation.IsDNS1035Label(set.Name) {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), set.Name, problem))
	}
	if set.Spec.Replicas < 0 {
		errs = append(errs, field.Invalid(field.NewPath("spec", "replicas"), set.Spec.Replicas, "must not be negative"))
	}
	if delay := set.Spec.Template.TerminationDelay; delay != nil && delay.Duration < 0 {
		errs = append(errs, field.Invalid(templatePath.Child("terminationDelay"), delay.Duration.String(),
			"must not be negative; 0s switches it off"))
	}
	warnings = append(warnings, warnOfStrategy(set)...)
	moreWarnings, moreErrs := validateMaxUnavailable(set)
	warnings, errs = append(warnings, moreWarnings...), append(errs, moreErrs...)
	warnings = append(warnings, warnOfStartOrder(set)...)
	errs = append(errs, validateCliques(set)...)
	errs = append(errs, validateGroups(set)...)
	errs = append(errs, validateSize(set)...)
	errs = append(errs, validateSharing(set)...)
	errs = append(errs, validateMetadata(set)...)
	for i := range set.Spec.Template.Cliques {
		path := cliquePath(i).Child("spec", "podSpec")
		moreWarnings, moreErrs := validatePodSpec(&set.Spec.Template.Cliques[i].Spec.PodSpec, path)
		warnings, errs = append(warnings, moreWarnings...), append(errs, moreErrs...)
	}
	return warnings, errs
}

// warnOfStrategy warns of a strategy that does not do yet what its name says.
func warnOfStrategy(set *grovev1alpha1.PodCliqueSet) []string {
	if strategy := set.Spec.UpdateStrategy; strategy == nil || strategy.Type != grovev1alpha1.Coherent {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s is announced and not defined yet: pods are replaced as with %s",
		field.NewPath("spec", "updateStrategy", "type"), grovev1alpha1.Coherent, grovev1alpha1.RollingRecreate)}
}

// validateSchedulers refuses cliques with different schedulers: one scheduler places all pods of a gang.
func validateSchedulers(set *grovev1alpha1.PodCliqueSet, byDefault string) field.ErrorList {
	var errs field.ErrorList
	cliques := set.Spec.Template.Cliques
	for i := range cliques {
		own, first := schedulerOf(&cliques[i], byDefault), schedulerOf(&cliques[0], byDefault)
		if own != first {
			errs = append(errs, field.Invalid(cliquePath(i).Child("spec", "podSpec", "schedulerName"), own, fmt.Sprintf(
				"all pods of a set are placed by one scheduler, and those of clique %s are by %s: name the same one",
				cliques[0].Name, first)))
		}
	}
	return errs
}

// schedulerOf is the scheduler of a clique's pods. Pods that name none, without a configured default, go to the
// cluster's own.
func schedulerOf(clique *grovev1alpha1.PodCliqueTemplateSpec, byDefault string) string {
	return cmp.Or(clique.Spec.PodSpec.SchedulerName, byDefault, corev1.DefaultSchedulerName)
}

func cliquePath(i int) *field.Path {
	return templatePath.Child("cliques").Index(i)
}

func groupPath(i int) *field.Path {
	return templatePath.Child("podCliqueScalingGroups").Index(i)
}

func validateCliques(set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	cliques := set.Spec.Template.Cliques
	if len(cliques) == 0 {
		return field.ErrorList{field.Required(templatePath.Child("cliques"), "at least one clique is needed")}
	}
	var errs field.ErrorList
	seenNames, seenRoles := sets.New[string](), sets.New[string]()
	for i := range cliques {
		path, spec := cliquePath(i), &cliques[i].Spec
		errs = append(errs, validateName(path.Child("name"), cliques[i].Name, seenNames)...)
		if spec.RoleName != "" {
			errs = append(errs, validateName(path.Child("spec", "roleName"), spec.RoleName, seenRoles)...)
		}
		errs = append(errs, validateBudget(set, path.Child("name"), cliques[i].Name,
			layout.GroupOf(set, cliques[i].Name))...)
		errs = append(errs, validateReplicas(path.Child("spec"), spec.Replicas, layout.MinAvailable(spec))...)
		if running := spec.MinRunning; running != nil && (*running < 1 || *running > layout.MinAvailable(spec)) {
			errs = append(errs, field.Invalid(path.Child("spec", "minRunning"), *running, fmt.Sprintf(
				"must be at least 1 and at most minAvailable, which is %d: a clique cannot need more pods to go on "+
					"than to start", layout.MinAvailable(spec))))
		}
		errs = append(errs, validateCliqueScaling(set, i)...)
	}
	return append(errs, validateStartOrder(set)...)
}

// validateName reports names that are no DNS labels or exist already, and remembers the others.
func validateName(path *field.Path, name string, seen sets.Set[string]) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range validation.IsDNS1123Label(name) {
		errs = append(errs, field.Invalid(path, name, problem))
	}
	if seen.Has(name) {
		errs = append(errs, field.Duplicate(path, name))
	}
	seen.Insert(name)
	return errs
}

func validateBudget(
	set *grovev1alpha1.PodCliqueSet, path *field.Path, clique string, group *grovev1alpha1.PodCliqueScalingGroupConfig,
) field.ErrorList {
	together, words := len(set.Name)+len(clique), "the set and the clique"
	if group != nil {
		together, words = together+len(group.Name), "the set, the scaling group and the clique"
	}
	if together <= layout.MaxLength {
		return nil
	}
	return field.ErrorList{field.Invalid(path, clique, fmt.Sprintf(
		"the names of %s have %d characters together, at most %d are allowed", words, together, layout.MaxLength))}
}

func validateReplicas(path *field.Path, replicas, minAvailable int32) field.ErrorList {
	var errs field.ErrorList
	if replicas <= 0 {
		errs = append(errs, field.Invalid(path.Child("replicas"), replicas, "must be greater than 0"))
	}
	switch {
	case minAvailable <= 0:
		errs = append(errs, field.Invalid(path.Child("minAvailable"), minAvailable, "must be greater than 0"))
	case minAvailable > replicas && replicas > 0:
		errs = append(errs, field.Invalid(path.Child("minAvailable"), minAvailable,
			fmt.Sprintf("must not be greater than replicas, %d", replicas)))
	}
	return errs
}

func validateCliqueScaling(set *grovev1alpha1.PodCliqueSet, i int) field.ErrorList {
	clique := &set.Spec.Template.Cliques[i]
	config := clique.Spec.AutoScalingConfig
	if config == nil {
		return nil
	}
	path := cliquePath(i).Child("spec", "autoScalingConfig")
	if group := layout.GroupOf(set, clique.Name); group != nil {
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
			"the clique scales with its scaling group %q: use that group's scaleConfig", group.Name))}
	}
	return validateScaling(path, config, clique.Spec.Replicas, layout.MinAvailable(&clique.Spec))
}

func validateScaling(
	path *field.Path, config *grovev1alpha1.AutoScalingConfig, replicas, minAvailable int32,
) field.ErrorList {
	var errs field.ErrorList
	minReplicas := ptr.Deref(config.MinReplicas, replicas)
	if minReplicas < minAvailable {
		errs = append(errs, field.Invalid(path.Child("minReplicas"), minReplicas,
			fmt.Sprintf("must not be less than minAvailable, %d", minAvailable)))
	}
	if config.MaxReplicas < minReplicas {
		errs = append(errs, field.Invalid(path.Child("maxReplicas"), config.MaxReplicas,
			fmt.Sprintf("must not be less than minReplicas, %d", minReplicas)))
	}
	if config.MaxReplicas < replicas {
		errs = append(errs, field.Invalid(path.Child("maxReplicas"), config.MaxReplicas,
			fmt.Sprintf("must not be less than replicas, %d", replicas)))
	}
	return errs
}

func validateGroups(set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	var errs field.ErrorList
	cliqueNames := cliqueNames(set)
	seen, groupOf := sets.New[string](), map[string]string{}
	groups := set.Spec.Template.PodCliqueScalingGroups
	for i := range groups {
		group, path := &groups[i], groupPath(i)
		errs = append(errs, validateName(path.Child("name"), group.Name, seen)...)
		if len(group.CliqueNames) == 0 {
			errs = append(errs, field.Required(path.Child("cliqueNames"), "a scaling group has at least one clique"))
		}
		for _, clique := range group.CliqueNames {
			errs = append(errs, validateGroupMember(path.Child("cliqueNames"), group.Name, clique,
				cliqueNames, groupOf)...)
			errs = append(errs, validateCopies(set, path.Child("name"), group, clique)...)
		}
		replicas, minAvailable := layout.GroupReplicas(group), layout.GroupMinAvailable(group)
		errs = append(errs, validateReplicas(path, replicas, minAvailable)...)
		if group.ScaleConfig != nil {
			errs = append(errs, validateScaling(path.Child("scaleConfig"), group.ScaleConfig, replicas,
				minAvailable)...)
			errs = append(errs, validateAutoscalerName(set, path.Child("scaleConfig"), group.Name)...)
		}
		if together := len(set.Name) + len(group.Name); together >= layout.MaxLength {
			errs = append(errs, field.Invalid(path.Child("name"), group.Name, fmt.Sprintf(
				"the names of the set and the scaling group have %d characters together, which leaves none of the %d "+
					"for a clique", together, layout.MaxLength)))
		}
	}
	return errs
}

// validateCopies reports a scaling group if a PodClique of a copy would have the name of that of a standalone clique,
// or of one in a copy of another group.
func validateCopies(
	set *grovev1alpha1.PodCliqueSet, path *field.Path, group *grovev1alpha1.PodCliqueScalingGroupConfig, member string,
) field.ErrorList {
	clash := func(index, other string) field.ErrorList {
		return field.ErrorList{field.Invalid(path, group.Name, fmt.Sprintf("the PodClique of clique %q in copy %s would "+
			"have the name of that of %s: rename one of the two", member, index, other))}
	}
	for i, clique := range set.Spec.Template.Cliques {
		index, same := indexBetween(clique.Name, group.Name+"-", "-"+member)
		if same && layout.GroupOf(set, clique.Name) == nil {
			return clash(index, cliquePath(i).String())
		}
	}
	for i, other := range set.Spec.Template.PodCliqueScalingGroups {
		tail, longer := strings.CutPrefix(other.Name, group.Name+"-")
		index, rest, further := strings.Cut(tail, "-")
		if !longer || !isIndex(index) {
			continue
		}
		if further {
			rest += "-"
		}
		for _, clique := range other.CliqueNames {
			if copyIndex, same := indexBetween(member, rest, "-"+clique); same {
				return clash(index, fmt.Sprintf("clique %q in copy %s of %s", clique, copyIndex, groupPath(i)))
			}
		}
	}
	return nil
}

// indexBetween returns the index of a copy between the first and the last part of a name, if there is one.
func indexBetween(name, first, last string) (index string, found bool) {
	index, behind := strings.CutPrefix(name, first)
	index, before := strings.CutSuffix(index, last)
	return index, behind && before && isIndex(index)
}

// validateAutoscalerName reports a scaling group if its autoscaler and that of a clique would have the same name:
// each has the name of the object that it scales.
func validateAutoscalerName(set *grovev1alpha1.PodCliqueSet, path *field.Path, group string) field.ErrorList {
	clash := func(clique grovev1alpha1.PodCliqueTemplateSpec) bool {
		return clique.Name == group && clique.Spec.AutoScalingConfig != nil && layout.GroupOf(set, clique.Name) == nil
	}
	at := slices.IndexFunc(set.Spec.Template.Cliques, clash)
	if at < 0 {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, fmt.Sprintf("its HorizontalPodAutoscaler would have the name of that of "+
		"%s: rename the clique or the scaling group, or leave one of the two out", cliquePath(at).Child("spec",
		"autoScalingConfig")))}
}

func cliqueNames(set *grovev1alpha1.PodCliqueSet) []string {
	var all []string
	for i := range set.Spec.Template.Cliques {
		all = append(all, set.Spec.Template.Cliques[i].Name)
	}
	return all
}

// validateGroupMember reports cliques that do not exist or are in a group already, and remembers the others.
func validateGroupMember(
	path *field.Path, group, clique string, known []string, groupOf map[string]string,
) field.ErrorList {
	if !slices.Contains(known, clique) {
		return field.ErrorList{field.Invalid(path, clique, "there is no such clique"+suggestion(clique, known))}
	}
	if other, ok := groupOf[clique]; ok {
		if other == group {
			return field.ErrorList{field.Duplicate(path, clique)}
		}
		return field.ErrorList{field.Invalid(path, clique,
			fmt.Sprintf("the clique is in scaling group %q already; it can be in one only", other))}
	}
	groupOf[clique] = group
	return nil
}

func suggestion(word string, known []string) string {
	if meant := nearest(word, known); meant != "" {
		return meant
	}
	return "; the cliques are " + strings.Join(known, ", ")
}

// nearest is a question with the name that was probably meant; empty if no name is similar.
func nearest(word string, known []string) string {
	if closest, ok := didyoumean.Closest(word, known); ok {
		return fmt.Sprintf(", did you mean %q?", closest)
	}
	return ""
}

func validatePodSpec(spec *corev1.PodSpec, path *field.Path) (warnings []string, errs field.ErrorList) {
	if len(spec.Containers) == 0 {
		errs = append(errs, field.Required(path.Child("containers"), "a pod has at least one container"))
	}
	if spec.NodeName != "" {
		errs = append(errs, field.Forbidden(path.Child("nodeName"), "the scheduler chooses the node"))
	}
	if len(spec.TopologySpreadConstraints) > 0 {
		errs = append(errs, field.Forbidden(path.Child("topologySpreadConstraints"),
			"they contradict packing: use topologyConstraint and topologySpread"))
	}
	if spec.RestartPolicy != "" && spec.RestartPolicy != corev1.RestartPolicyAlways {
		warnings = append(
			warnings, fmt.Sprintf("%s: pods of a clique that end are replaced, so that %s acts like Always",
				path.Child("restartPolicy"), spec.RestartPolicy))
	}
	return warnings, errs
}
