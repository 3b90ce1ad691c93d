package contract

import (
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
)

// Observed reads the same facts from objects that Of expects.
func Observed(all []client.Object) Objects {
	hostnames := map[string]string{}
	for _, object := range all {
		if pod, isPod := object.(*corev1.Pod); isPod {
			hostnames[pod.Name] = pod.Spec.Hostname
		}
	}
	observed := Objects{}
	for _, object := range all {
		kind, name, facts := facts(object, hostnames)
		made := Object{Labels: map[string]string{}, Finalizers: object.GetFinalizers(), Facts: facts}
		for key, value := range object.GetLabels() {
			if key == "grove.io/pod-template-hash" && value != "" {
				value = "*"
			}
			made.Labels[key] = value
		}
		if owner := metav1.GetControllerOf(object); owner != nil {
			made.Owner = owner.Kind + "/" + owner.Name
		}
		observed[kind+"/"+name] = made
	}
	return observed
}

func facts(object client.Object, hostnames map[string]string) (kind, name string, facts map[string]string) {
	switch object := object.(type) {
	case *corev1.ServiceAccount:
		return "ServiceAccount", object.Name, nil
	case *rbacv1.Role:
		var rules []string
		for _, rule := range object.Rules {
			rules = append(rules,
				strings.Join(rule.APIGroups, ",")+"/"+strings.Join(rule.Resources, ",")+" "+strings.Join(
					rule.Verbs, ","))
		}
		return "Role", object.Name, map[string]string{"rules": fact(rules)}
	case *rbacv1.RoleBinding:
		var accounts []string
		for _, subject := range object.Subjects {
			accounts = append(accounts, subject.Name)
		}
		slices.Sort(accounts)
		return "RoleBinding", object.Name, map[string]string{"role": fact(object.RoleRef.Name),
			"accounts": fact(accounts)}
	case *corev1.Service:
		return "Service", object.Name, map[string]string{
			"clusterIP":                fact(object.Spec.ClusterIP),
			"publishNotReadyAddresses": fact(object.Spec.PublishNotReadyAddresses),
			"selector":                 fact(object.Spec.Selector),
		}
	case *autoscalingv2.HorizontalPodAutoscaler:
		return "HorizontalPodAutoscaler", object.Name, map[string]string{
			"target":   fact(object.Spec.ScaleTargetRef.Kind + "/" + object.Spec.ScaleTargetRef.Name),
			"replicas": fact([]int32{*object.Spec.MinReplicas, object.Spec.MaxReplicas}),
		}
	case *grovev1alpha1.PodCliqueScalingGroup:
		return "PodCliqueScalingGroup", object.Name, map[string]string{
			"replicas": fact(object.Spec.Replicas), "minAvailable": fact(object.Spec.MinAvailable),
			"cliqueNames": fact(object.Spec.CliqueNames),
		}
	case *grovev1alpha1.PodClique:
		return "PodClique", object.Name, map[string]string{
			"replicas": fact(object.Spec.Replicas), "minAvailable": fact(object.Spec.MinAvailable),
			"roleName":    fact(object.Spec.RoleName),
			"startsAfter": fact(object.Spec.StartsAfter), "images": images(&object.Spec.PodSpec),
		}
	case *schedulerv1alpha1.PodGang:
		return "PodGang", object.Name, gangFacts(object, hostnames)
	case *corev1.Pod:
		return "Pod", object.Spec.Hostname, podFacts(object)
	}
	return "unexpected", object.GetName(), nil
}

// keys writes a PodGang's constraint as constraint does.
func keys(of *schedulerv1alpha1.TopologyConstraint) string {
	if of == nil {
		return ""
	}
	keys := map[string]string{}
	if pack := of.PackConstraint; pack != nil && pack.Required != nil {
		keys["required"] = *pack.Required
	}
	if pack := of.PackConstraint; pack != nil && pack.Preferred != nil {
		keys["preferred"] = *pack.Preferred
	}
	return fact(keys)
}

func gangFacts(gang *schedulerv1alpha1.PodGang, hostnames map[string]string) map[string]string {
	groups, configs := map[string]string{}, map[string]string{}
	for _, group := range gang.Spec.PodGroups {
		pods := []string{}
		for _, reference := range group.PodReferences {
			if reference.Namespace == gang.Namespace {
				pods = append(pods, hostnames[reference.Name])
			}
		}
		slices.Sort(pods)
		groups[group.Name] = fact([]string{fact(pods), fact(group.MinReplicas), keys(group.TopologyConstraint)})
	}
	for _, config := range gang.Spec.TopologyConstraintGroupConfigs {
		configs[config.Name] = fact(
			[]string{keys(config.TopologyConstraint), fact(slices.Sorted(slices.Values(config.PodGroupNames)))})
	}
	return map[string]string{
		"constraint": fact(keys(gang.Spec.TopologyConstraint)), "priorityClass": fact(gang.Spec.PriorityClassName),
		"topology": fact(gang.Annotations["grove.io/topology-name"]), "groups": fact(groups),
		"groupConfigs": fact(configs),
	}
}

func podFacts(pod *corev1.Pod) map[string]string {
	facts := map[string]string{
		"subdomain": fact(pod.Spec.Subdomain), "annotations": fact(pod.Annotations),
		"scheduler": fact(pod.Spec.SchedulerName), "priorityClass": fact(pod.Spec.PriorityClassName),
		"serviceAccount": fact(pod.Spec.ServiceAccountName),
	}
	gates := []string{}
	for _, gate := range pod.Spec.SchedulingGates {
		gates = append(gates, gate.Name)
	}
	slices.Sort(gates)
	facts["gates"] = fact(gates)
	parents := []string{}
	for i, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if i == 0 && container.Name == "grove-startup" {
			for _, argument := range container.Args {
				parents = append(parents, strings.TrimPrefix(argument, "--after="))
			}
			continue
		}
		facts["container "+container.Name] = fact(slices.Concat([]string{container.Image}, environment(container.Env)))
	}
	slices.Sort(parents)
	facts["startsAfterPods"] = fact(parents)
	return facts
}
