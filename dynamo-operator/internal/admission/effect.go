package admission

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/dynamo-operator/internal/overrides"
	"packtree.dev/dynamo-operator/internal/pods"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// componentWarnings names the fields of a component that are accepted and have no effect, and what happens instead.
func (c Candidate) componentWarnings(index int) []string {
	component, at := &c.Hub.Spec.Components[index], c.words.component(index)
	experimental := component.Experimental
	if c.written != nil {
		experimental = c.written.Spec.Services[index].Experimental // The warnings name the fields that the user wrote.
	}
	var warnings []string
	if experimental != nil {
		warnings = experimentWarnings(experimental, at.Child("experimental"))
	}
	warn := func(path *field.Path, sentence string) { warnings = append(warnings, path.String()+": "+sentence) }
	warnings = append(warnings,
		overrideWarnings(component.ProviderOverride, at, overrides.OfComponent, component.TopologyConstraint != nil)...)
	if component.LPX != nil {
		warn(at.Child("lpx"), "lpx has no effect: no pods are placed onto LPUs; they run as their template says")
	}
	if component.RuntimeVersionOverride != "" {
		warn(at.Child("runtimeVersionOverride"),
			"has no effect: the pods are the same for every version of the runtime")
	}
	if model := component.ModelRef; model != nil && model.Revision != "" {
		warn(at.Child("modelRef", "revision"), "has no effect: the Service is by the model's name alone")
	}
	for i, role := range component.Roles {
		if role.ProviderOverride != nil {
			warn(at.Child("roles").Index(i).Child("providerOverride"), overriddenRole)
		}
	}
	if nodes := component.Multinode; nodes != nil {
		if nodes.Leader != nil && nodes.Leader.ProviderOverride != nil {
			warn(at.Child("multinode", "leader", "providerOverride"), overriddenRole)
		}
		if nodes.Worker != nil && nodes.Worker.ProviderOverride != nil {
			warn(at.Child("multinode", "worker", "providerOverride"), overriddenRole)
		}
	}
	return append(warnings, c.mountWarnings(index)...)
}

const overriddenRole = "has no effect: one constraint holds leader and workers together; set topologyConstraint"

// overrideWarnings names the fields of an override that have no effect: all but the constraint, and the constraint too
// if the component or deployment has one in its own words.
func overrideWarnings(override *v1beta1.ProviderOverride, at *field.Path, path []string, constrained bool) []string {
	if override == nil {
		return nil
	}
	constraint, rest := overrides.Constraint(override, path)
	var warnings []string
	if constraint != nil && constrained {
		warnings = append(warnings,
			fmt.Sprintf("%s: has no effect: %s counts", overridden(at, path), at.Child("topologyConstraint")))
	}
	for _, other := range rest {
		warnings = append(warnings,
			fmt.Sprintf(
				"%s: has no effect: what is made in Grove follows from the deployment's own fields; "+
					"of an override %s is carried out",
				overridden(at, other), strings.Join(path, ".")))
	}
	if constraint == nil && len(rest) == 0 {
		warnings = append(warnings,
			fmt.Sprintf("%s: has no effect: it sets nothing; of an override %s is carried out",
				at.Child("providerOverride"), strings.Join(path, ".")))
	}
	return warnings
}

// mountWarnings warns of mounts in v1beta1 with the name of no volume. Such a name is taken for that of a claim, and
// may be misspelt.
func (c Candidate) mountWarnings(index int) []string {
	component := &c.Hub.Spec.Components[index]
	main := pods.Named(component.PodTemplate.Spec.Containers, v1beta1.MainContainer)
	if main == nil || c.written != nil {
		return nil
	}
	known := []string{pods.SharedMemoryVolume}
	for _, volume := range component.PodTemplate.Spec.Volumes {
		known = append(known, volume.Name)
	}
	for _, claim := range c.Hub.Spec.PVCs {
		known = append(known, claim.Name)
	}
	if cache := component.CompilationCache; cache != nil {
		known = append(known, cache.PVCName)
	}
	var warnings []string
	for i, mount := range main.VolumeMounts {
		if !slices.Contains(known, mount.Name) {
			at := c.words.main(index, component).Child("volumeMounts").Index(i).Child("name")
			warnings = append(warnings,
				fmt.Sprintf("%s: no volume of the pod is called %q: taken for the claim of that name, for which the "+
					"pods wait", at, mount.Name))
		}
	}
	return warnings
}

// experimentWarnings names the features that have no effect.
func experimentWarnings(experimental *v1beta1.ComponentExperimental, at *field.Path) []string {
	var warnings []string
	for _, feature := range []struct {
		name     string
		written  *runtime.RawExtension
		sentence string
	}{
		{"gpuMemoryService", experimental.GPUMemoryService,
			"no service keeps weights in the memory of GPUs; each engine loads its own, on GPUs of its own"},
		{"failover", experimental.Failover, "there is no engine on standby; one that fails is started again"},
		{"checkpoint", experimental.Checkpoint, "nothing takes checkpoints of containers here; pods start cold"},
		{"flagsInjection", experimental.FlagsInjection,
			"the flags of several nodes are added as always; one that the command has stays"},
	} {
		if feature.written != nil && !switchedOff(feature.written) {
			warnings = append(warnings,
				fmt.Sprintf("%s: %s has no effect: %s", at.Child(feature.name), feature.name, feature.sentence))
		}
	}
	return warnings
}

// switchedOff reports whether a feature is written with enabled: false.
func switchedOff(feature *runtime.RawExtension) bool {
	var written struct {
		Enabled *bool `json:"enabled"`
	}
	return json.Unmarshal(feature.Raw, &written) == nil && written.Enabled != nil && !*written.Enabled
}

// deploymentWarnings names the fields of a deployment as a whole that are accepted and have no effect.
func deploymentWarnings(spec *v1beta1.DynamoGraphDeploymentSpec) []string {
	var warnings []string
	if spec.ProviderOverride != nil {
		warnings = overrideWarnings(spec.ProviderOverride, field.NewPath("spec"), overrides.OfDeployment,
			spec.TopologyConstraint != nil)
	}
	return warnings
}

// TransferWarnings says why workers will not learn in which domain they are. The topology is the one that
// kvTransferPolicy names.
func (c Candidate) TransferWarnings(topology Topology) []string {
	policy := pods.KVTransferPolicyOf(c.Hub)
	switch {
	case policy == nil || topology.Name == "" || topology.LabelOf(policy.Domain) != "":
		return nil
	case topology.Problem != "":
		return []string{fmt.Sprintf(
			"spec.experimental.kvTransferPolicy.clusterTopologyName: %s; until then no pod gets the label %s, "+
				"and workers do not know where they stand", topology.Problem, pods.TopologyLabel(policy))}
	case slices.Contains(topology.Domains, policy.Domain):
		return []string{fmt.Sprintf(
			"spec.experimental.kvTransferPolicy.domain: no node label names the domains of %s, so that no pod gets the "+
				"label %s, and workers do not know where they stand", policy.Domain, pods.TopologyLabel(policy))}
	default:
		return []string{fmt.Sprintf(
			"spec.experimental.kvTransferPolicy.domain: %q is not a level of %s %q; available domains: %s; until it "+
				"is no pod gets the label %s, and workers do not know where they stand",
			policy.Domain, topology.Kind, topology.Name, strings.Join(topology.Domains, ", "),
			pods.TopologyLabel(policy))}
	}
}

// obeyed are the annotations of this group on a deployment that have an effect.
var obeyed = []string{
	v1beta1.AnnotationQueue, v1beta1.AnnotationVLLMExecutor, v1beta1.AnnotationDiscoveryBackend,
	v1beta1.AnnotationDiscoveryMode,
	v1beta1.AnnotationEnableMetrics,
	// Another operator writes here which version of it made the object. It asks for nothing.
	"nvidia.com/dynamo-operator-origin-version",
}

// annotationWarnings warns of annotations of this group that nothing reads, and of values that an annotation does not
// know.
func annotationWarnings(annotations map[string]string) []string {
	var warnings []string
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		group, _, _ := strings.Cut(key, "/")
		ours := group == v1beta1.GroupName || strings.HasSuffix(group, "."+v1beta1.GroupName)
		if ours && !slices.Contains(obeyed, key) {
			warnings = append(warnings, fmt.Sprintf("metadata.annotations[%s]: has no effect: nothing here reads it",
				key))
		}
	}
	for key, known := range map[string][]string{
		v1beta1.AnnotationDiscoveryBackend: {"kubernetes", "etcd"},
		v1beta1.AnnotationDiscoveryMode:    {"pod", "container"},
	} {
		if value, set := annotations[key]; set && !slices.Contains(known, value) {
			warnings = append(warnings,
				fmt.Sprintf("metadata.annotations[%s]: %q is taken for %s; there are %s", key, value, known[0],
					strings.Join(known, " and ")))
		}
	}
	slices.Sort(warnings)
	return warnings
}
