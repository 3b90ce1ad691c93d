package main

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// cluster has the objects that decide which pods may talk to which.
type cluster struct {
	pods       []corev1.Pod
	namespaces []corev1.Namespace
	policies   []networkingv1.NetworkPolicy
}

// table is a script for nft that replaces the table of a node. A pod that a policy selects for a direction has a
// chain for it. Packets leave the chain if a rule of any such policy allows them; packets that reach its end are
// dropped. Packets from the node itself, such as a kubelet's probes, do not pass these chains.
func table(node string, now cluster) (string, error) {
	var hook, chains strings.Builder
	for i := range now.pods {
		pod := &now.pods[i]
		if pod.Spec.NodeName != node || !reachable(pod) {
			continue
		}
		for _, direction := range []networkingv1.PolicyType{networkingv1.PolicyTypeEgress,
			networkingv1.PolicyTypeIngress} {
			lets, selected, err := now.rules(pod, direction)
			if err != nil {
				return "", err
			}
			if !selected {
				continue
			}
			own, name := "daddr", strings.ToLower(string(direction))+"-"+strings.ReplaceAll(pod.Status.PodIP, ".", "-")
			if direction == networkingv1.PolicyTypeEgress {
				own = "saddr"
			}
			fmt.Fprintf(&hook, "    ip %s %s jump %s\n", own, pod.Status.PodIP, name)
			fmt.Fprintf(&chains, "  chain %s {\n", name)
			for _, let := range lets {
				fmt.Fprintf(&chains, "    %sreturn\n", let)
			}
			chains.WriteString("    drop\n  }\n")
		}
	}
	const name = "table inet packtree-policies"
	// The first line makes the table, so that the second has one to delete.
	return name + "\ndelete " + name + "\n" + name + " {\n" + chains.String() +
		"  chain forward {\n    type filter hook forward priority 0; policy accept;\n    ct state " +
		"established,related " +
		"accept\n" + hook.String() + "  }\n}\n", nil
}

// reachable reports whether a pod has an address of its own at the moment.
func reachable(pod *corev1.Pod) bool {
	return pod.Status.PodIP != "" && !pod.Spec.HostNetwork && pod.Status.Phase != corev1.PodSucceeded &&
		pod.Status.Phase != corev1.PodFailed
}

// rules are the conditions under which a packet is allowed to or from a pod, and whether any policy selects the pod for
// that direction.
func (c cluster) rules(pod *corev1.Pod, direction networkingv1.PolicyType) (lets []string, selected bool, err error) {
	for i := range c.policies {
		policy := &c.policies[i]
		if policy.Namespace != pod.Namespace || !slices.Contains(policy.Spec.PolicyTypes, direction) {
			continue
		}
		matches, err := selects(&policy.Spec.PodSelector, pod.Labels)
		if err != nil {
			return nil, false, fmt.Errorf("NetworkPolicy %s/%s: %w", policy.Namespace, policy.Name, err)
		}
		if !matches {
			continue
		}
		selected = true
		if direction == networkingv1.PolicyTypeIngress {
			for _, rule := range policy.Spec.Ingress {
				lets, err = c.lets(lets, pod, policy.Namespace, "saddr", rule.From, rule.Ports)
			}
		} else {
			for _, rule := range policy.Spec.Egress {
				lets, err = c.lets(lets, nil, policy.Namespace, "daddr", rule.To, rule.Ports)
			}
		}
		if err != nil {
			return nil, false, fmt.Errorf("NetworkPolicy %s/%s: %w", policy.Namespace, policy.Name, err)
		}
	}
	return lets, selected, nil
}

// lets adds the conditions of one rule: its peers, if it names any, and its ports, if it names any. Server is the pod
// that has the named ports; nil if that is the peer.
func (c cluster) lets(
	lets []string, server *corev1.Pod, namespace, side string, peers []networkingv1.NetworkPolicyPeer,
	ports []networkingv1.NetworkPolicyPort,
) ([]string, error) {
	from := []string{""}
	if len(peers) > 0 {
		from = nil
		for _, peer := range peers {
			found, err := c.addresses(namespace, peer)
			if err != nil {
				return nil, err
			}
			for _, address := range found {
				from = append(from, fmt.Sprintf("ip %s %s ", side, address))
			}
		}
	}
	through := []string{""}
	if len(ports) > 0 {
		through = nil
		for _, port := range ports {
			words, err := portWords(server, port)
			if err != nil {
				return nil, err
			}
			through = append(through, words...)
		}
	}
	for _, one := range from {
		for _, port := range through {
			lets = append(lets, one+port)
		}
	}
	return lets, nil
}

// addresses of a peer, as nft compares them.
func (c cluster) addresses(namespace string, peer networkingv1.NetworkPolicyPeer) ([]string, error) {
	if block := peer.IPBlock; block != nil {
		if len(block.Except) > 0 {
			return nil, fmt.Errorf("block %s has exceptions, which the charts do not use", block.CIDR)
		}
		return []string{block.CIDR}, nil
	}
	var found []string
	for i := range c.namespaces {
		space := &c.namespaces[i]
		if peer.NamespaceSelector == nil && space.Name != namespace {
			continue
		}
		if matches, err := selects(peer.NamespaceSelector, space.Labels); err != nil || !matches {
			if err != nil {
				return nil, err
			}
			continue
		}
		for j := range c.pods {
			pod := &c.pods[j]
			if pod.Namespace != space.Name || !reachable(pod) {
				continue
			}
			matches, err := selects(peer.PodSelector, pod.Labels)
			if err != nil {
				return nil, err
			}
			if matches {
				found = append(found, pod.Status.PodIP)
			}
		}
	}
	return found, nil
}

// selects reports whether a selector matches. None matches everything.
func selects(selector *metav1.LabelSelector, set map[string]string) (bool, error) {
	if selector == nil {
		return true, nil
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(labels.Set(set)), err
}

// portWords are a port as nft compares it; none if the server has no port with that name.
func portWords(server *corev1.Pod, port networkingv1.NetworkPolicyPort) ([]string, error) {
	protocol := "tcp"
	if port.Protocol != nil {
		protocol = strings.ToLower(string(*port.Protocol))
	}
	switch {
	case port.Port == nil:
		return []string{"meta l4proto " + protocol + " "}, nil
	case port.Port.Type == intstr.Int && port.EndPort != nil:
		return []string{fmt.Sprintf("%s dport %d-%d ", protocol, port.Port.IntVal, *port.EndPort)}, nil
	case port.Port.Type == intstr.Int:
		return []string{fmt.Sprintf("%s dport %d ", protocol, port.Port.IntVal)}, nil
	case server == nil:
		return nil, fmt.Errorf("port %q of a peer is a name, which the charts do not use", port.Port.StrVal)
	}
	var words []string
	for _, container := range server.Spec.Containers {
		for _, open := range container.Ports {
			if open.Name == port.Port.StrVal && strings.EqualFold(string(open.Protocol), protocol) {
				words = append(words, fmt.Sprintf("%s dport %d ", protocol, open.ContainerPort))
			}
		}
	}
	return words, nil
}
