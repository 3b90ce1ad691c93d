package controller_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"

	"packtree.dev/grove-operator/internal/admission"
	"packtree.dev/grove-operator/internal/testsupport/contract"
)

// randomSets is how many sets are created in parallel, besides as many in which scaled gangs wait for their base gang.
const randomSets = 6

// drawn are the random sets of a seed.
func drawn(seed int) []*grovev1alpha1.PodCliqueSet {
	generator := rapid.Custom(func(t *rapid.T) *grovev1alpha1.PodCliqueSet { return contract.AnySet(t, "") })
	var sets, waiting []*grovev1alpha1.PodCliqueSet
	for ; len(sets) < randomSets || len(waiting) < randomSets; seed++ {
		set := generator.Example(seed)
		if scaledGangWaits(set) {
			waiting = append(waiting, set)
		} else {
			sets = append(sets, set)
		}
	}
	return append(sets[:randomSets], waiting[:randomSets]...)
}

// scaledGangWaits reports whether the only replica of a set has scaled gangs that wait only for their base gang.
func scaledGangWaits(set *grovev1alpha1.PodCliqueSet) bool {
	gated := slices.ContainsFunc(set.Spec.Template.Cliques, func(clique grovev1alpha1.PodCliqueTemplateSpec) bool {
		return len(clique.Spec.PodSpec.SchedulingGates) > 0
	})
	return set.Spec.Replicas == 1 && !gated && slices.ContainsFunc(set.Spec.Template.PodCliqueScalingGroups,
		func(group grovev1alpha1.PodCliqueScalingGroupConfig) bool {
			return group.Replicas != nil && (*group.Replicas > 2 || group.MinAvailable == nil && *group.Replicas > 1)
		})
}

// createdIn are all objects of a namespace that the operator made.
func createdIn(in string) []client.Object {
	GinkgoHelper()
	var all []client.Object
	for _, list := range []client.ObjectList{
		&corev1.ServiceAccountList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{}, &corev1.ServiceList{},
		&autoscalingv2.HorizontalPodAutoscalerList{}, &grovev1alpha1.PodCliqueScalingGroupList{},
		&grovev1alpha1.PodCliqueList{},
		&schedulerv1alpha1.PodGangList{}, &corev1.PodList{},
	} {
		Expect(c.List(ctx, list, client.InNamespace(in))).To(Succeed())
		items, err := meta.ExtractList(list)
		Expect(err).NotTo(HaveOccurred())
		for _, item := range items {
			all = append(all, item.(client.Object))
		}
	}
	return all
}

var _ = Describe("Whatever the set,", func() {
	It("the cluster gets what the contract says, and nothing else", func() {
		for i, name := range contract.PriorityClasses {
			class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: int32(i)}
			Expect(c.Create(ctx, class)).To(Succeed())
			DeferCleanup(func() { Expect(c.Delete(ctx, class)).To(Succeed()) })
		}
		seed := int(GinkgoRandomSeed())
		sets := map[string]*grovev1alpha1.PodCliqueSet{}
		for _, set := range drawn(seed) {
			set.Namespace = namespace()
			sets[set.Namespace] = set
			made := set.DeepCopy()
			admission.SetDefaults(made)
			Expect(c.Create(ctx, made)).To(Succeed())
		}
		for in, set := range sets {
			manifest, err := yaml.Marshal(set)
			Expect(err).NotTo(HaveOccurred())
			want := contract.Of(set)
			differences := func() string { return cmp.Diff(want, contract.Observed(createdIn(in))) }
			Eventually(differences).Should(BeEmpty(), "objects (-contract +cluster) with ginkgo.seed=%d of\n%s",
				seed, manifest)

			By("opening gates of scaled gangs when the minima of their base gang stand, and not before: " + in)
			if !scaledGangWaits(set) {
				continue
			}
			waiting := standAllButOne(in, set.Name+"-0")
			Consistently(differences, "200ms").Should(BeEmpty(), "gates that opened early, of\n%s", manifest)
			bind(waiting)
			open(want)
			Eventually(differences).Should(BeEmpty(), "gates that stay shut, of\n%s", manifest)
			expectInitialized(in)
		}
	})
})

// open removes the operator's gate from all pods.
func open(objects contract.Objects) {
	for _, object := range objects {
		switch object.Facts["gates"] {
		case `["example.com/hold","grove.io/podgang-pending-creation"]`:
			object.Facts["gates"] = `["example.com/hold"]`
		case `["grove.io/podgang-pending-creation"]`:
			object.Facts["gates"] = `[]`
		}
	}
}

// standAllButOne puts all pods that a base gang needs on nodes, except one, which it returns.
func standAllButOne(in, base string) *corev1.Pod {
	GinkgoHelper()
	needed := map[string]int32{}
	for _, group := range get(in, base, &schedulerv1alpha1.PodGang{}).Spec.PodGroups {
		needed[group.Name] = group.MinReplicas
	}
	var chosen []*corev1.Pod
	for _, pod := range podsOf(in, client.MatchingLabels{"grove.io/podgang": base})() {
		if clique := pod.Labels["grove.io/podclique"]; needed[clique] > 0 {
			needed[clique]--
			chosen = append(chosen, &pod)
		}
	}
	for _, pod := range chosen[1:] {
		bind(pod)
	}
	return chosen[0]
}

func bind(pod *corev1.Pod) {
	GinkgoHelper()
	binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "node"}}
	Expect(c.SubResource("binding").Create(ctx, pod, binding)).To(Succeed())
}

// expectInitialized checks that all gangs list their pods.
func expectInitialized(in string) {
	GinkgoHelper()
	Eventually(func() map[string]string {
		var list schedulerv1alpha1.PodGangList
		Expect(c.List(ctx, &list, client.InNamespace(in))).To(Succeed())
		said := map[string]string{}
		for _, gang := range list.Items {
			if condition := meta.FindStatusCondition(gang.Status.Conditions, "Initialized"); condition != nil {
				said[gang.Name] = fmt.Sprint(condition.Status, " ", condition.Reason)
			}
		}
		return said
	}).Should(WithTransform(func(said map[string]string) []string { return slices.Collect(maps.Values(said)) },
		HaveEach("True PodGangPodsCreated")))
}
