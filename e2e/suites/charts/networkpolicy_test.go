package charts_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestNetworkPoliciesComeOnRequest(t *testing.T) {
	if names := namesOf(withoutKinds(t, "packtree"), "NetworkPolicy"); len(names) > 0 {
		t.Errorf("NetworkPolicies %v are installed unasked", names)
	}
}

// TestEveryPortThatIsServedIsReached compares the policy with the container and the Service: a port of theirs that the
// policy lacks is closed.
func TestEveryPortThatIsServedIsReached(t *testing.T) {
	for _, chart := range charts["packtree"].deployments {
		t.Run(chart, func(t *testing.T) {
			objects := withoutKinds(t, chart, "networkPolicy.enabled=true")
			policy, deployment := policyIn(t, objects), typed[appsv1.Deployment](t, objects, "Deployment")[0]
			assert.Empty(t, cmp.Diff(deployment.Spec.Selector.MatchLabels, policy.Spec.PodSelector.MatchLabels),
				"the policy is for other pods (-deployment +policy)")
			if len(policy.Spec.PolicyTypes) != 2 {
				t.Errorf("the policy is about %v", policy.Spec.PolicyTypes)
			}
			served := map[string]bool{}
			for _, port := range deployment.Spec.Template.Spec.Containers[0].Ports {
				served[port.Name] = true
			}
			assert.Empty(t, cmp.Diff(slices.Sorted(maps.Keys(served)),
				slices.Sorted(maps.Keys(peersByPort(policy.Spec.Ingress)))), "ports (-container +policy)")
			for _, service := range typed[corev1.Service](t, objects, "Service") {
				for _, port := range service.Spec.Ports {
					if !served[port.TargetPort.String()] {
						t.Errorf("the Service leads to port %s, which the container does not have",
							port.TargetPort.String())
					}
				}
			}
		})
	}
}

func policyIn(t *testing.T, objects []*unstructured.Unstructured) networkingv1.NetworkPolicy {
	t.Helper()
	policies := typed[networkingv1.NetworkPolicy](t, objects, "NetworkPolicy")
	if len(policies) != 1 {
		t.Fatalf("%d policies", len(policies))
	}
	return policies[0]
}

// peersByPort are the peers that may reach each port; nil is all.
func peersByPort(rules []networkingv1.NetworkPolicyIngressRule) map[string][]networkingv1.NetworkPolicyPeer {
	peers := map[string][]networkingv1.NetworkPolicyPeer{}
	for _, rule := range rules {
		for _, port := range rule.Ports {
			peers[port.Port.String()] = rule.From
		}
	}
	return peers
}

// Neither the API server nor kubelets are pods, so only metrics can be restricted to some readers.
func TestMetricsCanBeKeptToSome(t *testing.T) {
	for _, chart := range withWebhooks {
		t.Run(chart, func(t *testing.T) {
			policy := policyIn(t,
				withoutKinds(t, chart, "networkPolicy.enabled=true",
					"networkPolicy.metricsFrom[0].podSelector.matchLabels.app=prometheus"))
			for port, peers := range peersByPort(policy.Spec.Ingress) {
				kept := len(peers) == 1 && peers[0].PodSelector != nil &&
					peers[0].PodSelector.MatchLabels["app"] == "prometheus"
				if kept != (port == "metrics") || !kept && peers != nil {
					t.Errorf("port %s is for %v", port, peers)
				}
			}
		})
	}
}

func TestPodsCallTheAPIServerAlone(t *testing.T) {
	for _, chart := range charts["packtree"].deployments {
		t.Run(chart, func(t *testing.T) {
			called := func(set ...string) map[string][]string {
				found := map[string][]string{}
				for _, rule := range policyIn(t,
					withoutKinds(t, chart, append(set, "networkPolicy.enabled=true")...)).Spec.Egress {
					for _, port := range rule.Ports {
						name := string(*port.Protocol) + " " + port.Port.String()
						found[name] = []string{}
						for _, peer := range rule.To {
							found[name] = append(found[name], peer.IPBlock.CIDR)
						}
					}
				}
				return found
			}
			anywhere := []string{}
			want := map[string][]string{"TCP 443": anywhere, "TCP 6443": anywhere, "TCP 53": anywhere,
				"UDP 53": anywhere}
			assert.Empty(t, cmp.Diff(want, called()), "by default (-want +got)")
			want = map[string][]string{"TCP 8443": {"10.0.0.1/32"}}
			got := called("networkPolicy.apiServer.cidrs={10.0.0.1/32}", "networkPolicy.apiServer.ports={8443}",
				"networkPolicy.dns=false")
			assert.Empty(t, cmp.Diff(want, got), "when configured where the API server is (-want +got)")
		})
	}
}
