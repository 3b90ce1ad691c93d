package charts_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

const viewer = "kai-topology-plugin-view"

// TestThePageIsServedOnRequest: the page runs under an account with the rights of ClusterRole packtree-viewer, and no
// others.
func TestThePageIsServedOnRequest(t *testing.T) {
	for _, name := range namesOf(withoutKinds(t, "kai-topology-plugin"), "Deployment") {
		if name == viewer {
			t.Error("it is served unasked")
		}
	}
	objects := withoutKinds(t, "kai-topology-plugin", "view.enabled=true", "view.port=9999", "view.healthPort=9998",
		"networkPolicy.enabled=true", "replicas=0")
	var roles []string
	for _, binding := range typed[rbacv1.ClusterRoleBinding](t, objects, "ClusterRoleBinding") {
		if binding.Subjects[0].Name == viewer {
			roles = append(roles, binding.RoleRef.Name)
		}
	}
	for _, binding := range typed[rbacv1.RoleBinding](t, objects, "RoleBinding") {
		if binding.Subjects[0].Name == viewer {
			roles = append(roles, "in "+binding.Namespace+": "+binding.RoleRef.Name)
		}
	}
	if diff := cmp.Diff([]string{"packtree-viewer"}, roles); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
	for _, role := range typed[rbacv1.ClusterRole](t, objects, "ClusterRole") {
		for _, rule := range role.Rules {
			for _, verb := range rule.Verbs {
				if role.Name == "packtree-viewer" && !slices.Contains([]string{"get", "list", "watch"}, verb) {
					t.Errorf("whoever looks may %s %v", verb, rule.Resources)
				}
			}
		}
	}

	deployments := typed[appsv1.Deployment](t, objects, "Deployment")
	page := deployments[slices.IndexFunc(deployments, func(d appsv1.Deployment) bool { return d.Name == viewer })]
	scheduler := deployments[slices.IndexFunc(deployments,
		func(d appsv1.Deployment) bool { return d.Name == "kai-topology-plugin" })]
	pod := page.Spec.Template.Spec
	want := []string{"packtree", "view", "--no-browser", "--port=9999", "--health-port=9998"}
	if diff := cmp.Diff(want, pod.Containers[0].Args); diff != "" || pod.ServiceAccountName != viewer {
		t.Errorf("account %s, arguments (-want +got):\n%s", pod.ServiceAccountName, diff)
	}
	if ports := pod.Containers[0].Ports; len(ports) != 1 || ports[0].Name != "health" || ports[0].ContainerPort != 9998 {
		t.Errorf("others could reach ports %v", ports)
	}
	alive, ready := pod.Containers[0].LivenessProbe.HTTPGet, pod.Containers[0].ReadinessProbe.HTTPGet
	if alive.Path != "/healthz" || ready.Path != "/readyz" || alive.Port.String() != "health" || ready.Port != alive.Port {
		t.Errorf("probes %v and %v", alive, ready)
	}
	policies := typed[networkingv1.NetworkPolicy](t, objects, "NetworkPolicy")
	policy := policies[slices.IndexFunc(policies, func(p networkingv1.NetworkPolicy) bool { return p.Name == viewer })]
	if diff := cmp.Diff(page.Spec.Selector.MatchLabels, policy.Spec.PodSelector.MatchLabels); diff != "" {
		t.Errorf("its policy is for other pods (-deployment +policy):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"health"}, slices.Collect(maps.Keys(peersByPort(policy.Spec.Ingress)))); diff != "" {
		t.Errorf("its policy opens ports (-want +got):\n%s", diff)
	}
	// It asks the API server, as the scheduler does, and nobody else.
	at := slices.IndexFunc(policies, func(p networkingv1.NetworkPolicy) bool { return p.Name == scheduler.Name })
	if diff := cmp.Diff(policies[at].Spec.Egress, policy.Spec.Egress); diff != "" || len(policy.Spec.PolicyTypes) != 2 {
		t.Errorf("its policy is about %v and lets it reach (-scheduler +page):\n%s", policy.Spec.PolicyTypes, diff)
	}
	// Otherwise Services, policies and budgets of the scheduler would select it as well.
	matches := true
	for key, value := range scheduler.Spec.Selector.MatchLabels {
		matches = matches && page.Spec.Template.Labels[key] == value
	}
	if matches {
		t.Error("its pods are taken for the scheduler's")
	}
}

// TestThePageIsRestricted lets the API server validate its pod, as those of all programs.
func TestThePageIsRestricted(t *testing.T) {
	cluster := emptyCluster(t)
	template := podTemplates(t, withoutKinds(t, "kai-topology-plugin", "view.enabled=true"))[viewer]
	cluster.judges(t, viewer, template)
	container := template.Spec.Containers[0]
	if context := container.SecurityContext; !*context.ReadOnlyRootFilesystem {
		t.Error("it can write its root file system")
	}
	if container.Resources.Limits.Memory().IsZero() || container.Resources.Requests.Cpu().IsZero() {
		t.Errorf("it has resources %v", container.Resources)
	}
}

func TestThePageNeedsItsRole(t *testing.T) {
	_, said, err := helm(t, os.DevNull, "template", "release", chartPath(t, "kai-topology-plugin"),
		"--set", "view.enabled=true,viewerRole.create=false")
	if err == nil || !strings.Contains(said, "set viewerRole.create to true") {
		t.Errorf("error %v, and it says %q", err, said)
	}
}
