package main

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

func pod(namespace, name, node, address string) corev1.Pod {
	made := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
		Labels: map[string]string{"app": name}}}
	made.Spec.NodeName, made.Status.PodIP = node, address
	made.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{
		{Name: "metrics", ContainerPort: 8080, Protocol: corev1.ProtocolTCP},
		{Name: "metrics", ContainerPort: 53, Protocol: corev1.ProtocolUDP},
	}}}
	return made
}

// now has two pods of a release on a node, one of another namespace and one on the node's own network.
func now(t *testing.T, policies ...string) cluster {
	t.Helper()
	host := pod("release", "host", "n1", "10.0.0.9")
	host.Spec.HostNetwork = true
	ended := pod("release", "ended", "n1", "10.0.0.8")
	ended.Status.Phase = corev1.PodSucceeded
	made := cluster{
		pods: []corev1.Pod{pod("release", "a", "n1", "10.0.0.1"), pod("release", "b", "n1", "10.0.0.2"),
			pod("monitoring", "reader", "n2", "10.0.1.1"), host, ended},
		namespaces: []corev1.Namespace{
			{ObjectMeta: metav1.ObjectMeta{Name: "release"}},
			{ObjectMeta: metav1.ObjectMeta{Name: "monitoring",
				Labels: map[string]string{"kubernetes.io/metadata.name": "monitoring"}}},
		},
	}
	for _, spec := range policies {
		policy := networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "release", Name: "p"}}
		if err := yaml.UnmarshalStrict([]byte(spec), &policy.Spec); err != nil {
			t.Fatal(err)
		}
		made.policies = append(made.policies, policy)
	}
	return made
}

// chain returns the lines of a chain; nil if there is none.
func chain(t *testing.T, table, name string) []string {
	t.Helper()
	_, rest, found := strings.Cut(table, "chain "+name+" {\n")
	if !found {
		return nil
	}
	body, _, _ := strings.Cut(rest, "  }\n")
	var lines []string
	for line := range strings.Lines(body) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

func TestTable(t *testing.T) {
	for claim, test := range map[string]struct {
		policies        []string
		ingress, egress []string
	}{
		"without policies nothing is dropped": {},
		"a port by its name, for everybody": {
			[]string{
				`{podSelector: {matchLabels: {app: a}}, policyTypes: [Ingress], ingress: [{ports: [{port: metrics, protocol: TCP}]}]}`,
			}, []string{"tcp dport 8080 return", "drop"}, nil,
		},
		"a name that the pod does not have": {
			[]string{`{podSelector: {matchLabels: {app: a}}, policyTypes: [Ingress], ingress: [{ports: [{port: other}]}]}`},
			[]string{"drop"}, nil,
		},
		"pods of another namespace": {
			[]string{
				`{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}], ports: [{port: 1, protocol: UDP}, {port: 2, endPort: 3}]}]}`,
			},
			[]string{"ip saddr 10.0.1.1 udp dport 1 return", "ip saddr 10.0.1.1 tcp dport 2-3 return", "drop"}, nil,
		},
		"pods of its own namespace": {
			[]string{`{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {matchLabels: {app: b}}}]}]}`},
			[]string{"ip saddr 10.0.0.2 return", "drop"}, nil,
		},
		"peers of whom there are none": {
			[]string{`{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {matchLabels: {app: z}}}]}]}`},
			[]string{"drop"}, nil,
		},
		"all that comes in": {[]string{`{podSelector: {}, policyTypes: [Ingress], ingress: [{}]}`},
			[]string{"return", "drop"}, nil},
		"nothing that goes out": {[]string{`{podSelector: {}, policyTypes: [Egress]}`}, nil, []string{"drop"}},
		"addresses and ports of the API server": {
			[]string{
				`{podSelector: {matchLabels: {app: a}}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 10.9.0.0/16}}], ports: [{port: 6443, protocol: TCP}]}, {ports: [{port: 53, protocol: UDP}]}]}`,
			},
			nil, []string{"ip daddr 10.9.0.0/16 tcp dport 6443 return", "udp dport 53 return", "drop"},
		},
		"what any policy lets is let": {
			[]string{`{podSelector: {}, policyTypes: [Ingress]}`,
				`{podSelector: {}, policyTypes: [Ingress], ingress: [{ports: [{protocol: TCP}]}]}`},
			[]string{"meta l4proto tcp return", "drop"}, nil,
		},
		"a policy for other pods": {[]string{`{podSelector: {matchLabels: {app: z}}, policyTypes: [Ingress, Egress]}`},
			nil, nil},
	} {
		t.Run(claim, func(t *testing.T) {
			got, err := table("n1", now(t, test.policies...))
			if err != nil {
				t.Fatal(err)
			}
			if lines := chain(t, got, "ingress-10-0-0-1"); !slices.Equal(lines, test.ingress) {
				t.Errorf("what comes in: %q, want %q", lines, test.ingress)
			}
			if lines := chain(t, got, "egress-10-0-0-1"); !slices.Equal(lines, test.egress) {
				t.Errorf("what goes out: %q, want %q", lines, test.egress)
			}
			for address, direction := range map[string]bool{"ip daddr 10.0.0.1 jump ingress-10-0-0-1": test.ingress != nil,
				"ip saddr 10.0.0.1 jump egress-10-0-0-1": test.egress != nil} {
				if slices.Contains(chain(t, got, "forward"), address) != direction {
					t.Errorf("%q is in the hook: %t\n%s", address, !direction, got)
				}
			}
			for _, other := range []string{"10-0-0-8", "10-0-0-9", "10-0-1-1"} {
				if strings.Contains(got, other) {
					t.Errorf("%s has a chain, and its pod is not one of this node's own network:\n%s", other, got)
				}
			}
		})
	}
}

func TestWhatIsNotKnownIsSaid(t *testing.T) {
	for claim, policy := range map[string]string{
		"exceptions":                `{podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]}]}`,
		"names of others' ports":    `{podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: metrics}]}]}`,
		"a selector that is no one": `{podSelector: {matchExpressions: [{key: a, operator: Maybe}]}, policyTypes: [Ingress]}`,
	} {
		t.Run(claim, func(t *testing.T) {
			if got, err := table("n1", now(t, policy)); err == nil ||
				!strings.Contains(err.Error(), "NetworkPolicy release/p") {
				t.Errorf("error %v\n%s", err, got)
			}
		})
	}
}
