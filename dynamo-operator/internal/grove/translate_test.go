package grove_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/dynamo-operator/internal/grove"
	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Whatever the deployment, its PodCliqueSet follows Grove's rules, and its constraints are in the right places.
func TestEveryTranslationIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		deployment := drawDeployment(t)
		before := deployment.DeepCopy()
		set := podCliqueSet(t, translate(t, deployment))
		require.True(t, equalSpecs(before, deployment), "the deployment was changed")
		groups := map[string]grovev1alpha1.PodCliqueScalingGroupConfig{}
		member := map[string]string{}
		for _, group := range set.Spec.Template.PodCliqueScalingGroups {
			groups[group.Name] = group
			for _, clique := range group.CliqueNames {
				member[clique] = group.Name
			}
			check(t, *group.MinAvailable <= *group.Replicas, "group %s has %d of %d available", group.Name,
				*group.MinAvailable, *group.Replicas)
		}
		for _, clique := range set.Spec.Template.Cliques {
			group := member[clique.Name]
			check(t, len(set.Name)+len(group)+len(clique.Name) <= 45, "names %s, %s, %s are too long together",
				set.Name, group, clique.Name)
			check(t, clique.Spec.RoleName == clique.Name, "role %s of %s", clique.Spec.RoleName, clique.Name)
			check(t, *clique.Spec.MinAvailable >= 1 && *clique.Spec.MinAvailable <= clique.Spec.Replicas,
				"%s has %d of %d available", clique.Name, *clique.Spec.MinAvailable, clique.Spec.Replicas)
			check(t, group == "" || clique.TopologyConstraint == nil, "%s in a group has a constraint of its own",
				clique.Name)
			check(t, len(clique.Labels[v1beta1.LabelSelector]) <= 63, "label too long")
			check(t, clique.Spec.PodSpec.Containers[0].Name == "main", "main is not the first container")
		}
		for i := range deployment.Spec.Components {
			checkComponent(t, &deployment.Spec.Components[i], set, groups)
		}
		wanted := v1beta1.SpecTopologyConstraint{}
		if deployment.Spec.TopologyConstraint != nil {
			wanted = *deployment.Spec.TopologyConstraint
		}
		checkConstraint(t, "set", set.Spec.Template.TopologyConstraint, wanted.PackDomain, wanted.PreferredDomain)
	})
}

func checkComponent(
	t *rapid.T, component *v1beta1.ComponentSpec, set *grovev1alpha1.PodCliqueSet,
	groups map[string]grovev1alpha1.PodCliqueScalingGroupConfig,
) {
	name := names.Component(component.Name)
	wanted := v1beta1.TopologyConstraint{}
	if component.TopologyConstraint != nil {
		wanted = *component.TopologyConstraint
	}
	if component.Multinode != nil {
		checkConstraint(t, name, groups[name].TopologyConstraint, wanted.PackDomain, wanted.PreferredDomain)
		pods := int32(0)
		for _, clique := range set.Spec.Template.Cliques {
			if clique.Name == name+"-ldr" || clique.Name == name+"-wkr" {
				pods += clique.Spec.Replicas
			}
		}
		check(t, pods == component.Multinode.NodeCount, "%s has %d pods, want %d", name, pods,
			component.Multinode.NodeCount)
		return
	}
	for _, clique := range set.Spec.Template.Cliques {
		if clique.Name == name {
			checkConstraint(t, name, clique.TopologyConstraint, wanted.PackDomain, wanted.PreferredDomain)
			return
		}
	}
	t.Fatalf("no clique for %s", name)
}

func checkConstraint(
	t *rapid.T, where string, got *grovev1alpha1.TopologyConstraint, required, preferred v1beta1.TopologyDomain,
) {
	check(t, string(got.RequiredDomain()) == string(required) && string(got.PreferredDomain()) == string(preferred),
		"%s is packed by %s, %s; want %s, %s", where, got.RequiredDomain(), got.PreferredDomain(), required, preferred)
	check(t, got == nil || got.PackDomain == "" || got.Pack == nil, "%s: both packDomain and pack", where)
}

func check(t *rapid.T, ok bool, format string, args ...any) {
	if !ok {
		t.Fatalf(format, args...)
	}
}

func drawDeployment(t *rapid.T) *v1beta1.DynamoGraphDeployment {
	domain := rapid.SampledFrom([]v1beta1.TopologyDomain{"", "zone", "rack", "host"})
	var components []v1beta1.ComponentSpec
	for i := range rapid.IntRange(1, 4).Draw(t, "components") {
		component := v1beta1.ComponentSpec{
			Name:     fmt.Sprintf("Comp%s%d", strings.Repeat("x", rapid.IntRange(0, 10).Draw(t, "length")), i),
			Type:     rapid.SampledFrom([]string{"", "frontend", "worker", "planner"}).Draw(t, "type"),
			Replicas: new(rapid.Int32Range(0, 4).Draw(t, "replicas")),
		}
		component.MinAvailable = new(rapid.Int32Range(1, max(1, *component.Replicas)).Draw(t, "minimum"))
		component.PodTemplate.Spec.Containers = append([]corev1.Container{{Name: "side"}}, mainContainer()...)
		if rapid.Bool().Draw(t, "multinode") {
			component.Multinode = &v1beta1.Multinode{NodeCount: rapid.Int32Range(2, 5).Draw(t, "nodes")}
		}
		if packed, preferred := domain.Draw(t, "packed"), domain.Draw(t, "preferred"); packed != "" || preferred != "" {
			component.TopologyConstraint = &v1beta1.TopologyConstraint{PackDomain: packed, PreferredDomain: preferred}
		}
		components = append(components, component)
	}
	made := deployment(components)
	made.Name = rapid.StringMatching(`[a-z][a-z0-9]{0,60}`).Draw(t, "name")
	if packed := domain.Draw(t, "all packed"); packed != "" {
		made.Spec.TopologyConstraint = &v1beta1.SpecTopologyConstraint{PackDomain: packed,
			PreferredDomain: domain.Draw(t, "all preferred")}
	}
	return made
}

func TestARestartMarksThePodsOfItsComponentsOnly(t *testing.T) {
	made := deployment([]v1beta1.ComponentSpec{
		{Name: "A", PodTemplate: template()}, {Name: "B", PodTemplate: template()},
	})
	made.Spec.Restart = &v1beta1.Restart{ID: "second"}
	standing := grove.Standing{Deployment: made,
		PodCliqueSet: podCliqueSet(t,
			objects(t)(grove.Translate(made, grove.Options{},
				grove.Live{Restarts: map[string]string{"A": "first", "B": "first"}})))}
	got := map[string]string{}
	for _, clique := range podCliqueSet(t, objects(t)(standing.Objects([]string{"B"}))).Spec.Template.Cliques {
		got[clique.Name] = clique.Annotations[v1beta1.AnnotationRestart]
	}
	assert.Equal(t, map[string]string{"a": "first", "b": "second"}, got)
}

func podCliqueSet(t interface{ Fatal(...any) }, objects []client.Object) *grovev1alpha1.PodCliqueSet {
	for _, object := range objects {
		if set, ok := object.(*grovev1alpha1.PodCliqueSet); ok {
			return set
		}
	}
	t.Fatal("no PodCliqueSet")
	return nil
}

func constrained() *v1beta1.DynamoGraphDeployment {
	made := deployment(nil)
	made.Spec.TopologyConstraint = &v1beta1.SpecTopologyConstraint{PackDomain: "rack"}
	return made
}

func deployment(components []v1beta1.ComponentSpec) *v1beta1.DynamoGraphDeployment {
	return &v1beta1.DynamoGraphDeployment{
		ObjectMeta: metav1.ObjectMeta{Name: "d", Namespace: "ns", UID: "uid"},
		Spec:       v1beta1.DynamoGraphDeploymentSpec{Components: components},
	}
}

func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: mainContainer()}}
}

func mainContainer() []corev1.Container {
	return []corev1.Container{{Name: "main", Image: "i"}}
}

func equalSpecs(a, b *v1beta1.DynamoGraphDeployment) bool {
	return equality.Semantic.DeepEqual(a, b)
}
