package eligibility_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/eligibility"
)

func onPort(address string, number int32) *corev1.Pod {
	return pod(address, func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: number, HostIP: address}}
	})
}

func TestPodsThatCannotShareAPortAskForOneResource(t *testing.T) {
	for name, test := range map[string]struct {
		a, b  *corev1.Pod
		share bool
	}{
		"one port":                               {onPort("", 80), onPort("", 80), false},
		"two ports":                              {onPort("", 80), onPort("", 81), true},
		"one port on two addresses":              {onPort("10.0.0.1", 80), onPort("10.0.0.2", 80), true},
		"one port on one address":                {onPort("10.0.0.1", 80), onPort("10.0.0.1", 80), false},
		"a port on all addresses, and on one":    {onPort("", 80), onPort("10.0.0.1", 80), false},
		"all addresses, in two ways of writing":  {onPort("0.0.0.0", 80), onPort("", 80), false},
		"a port, and another one on an address":  {onPort("", 80), onPort("10.0.0.1", 81), true},
		"a port, and a pod that asks for no one": {onPort("", 80), pod("p"), true},
	} {
		t.Run(name, func(t *testing.T) {
			ports := eligibility.HostPortsOf([]*corev1.Pod{test.a, test.b})
			common := intersection(ports.Asked(test.a), ports.Asked(test.b))
			assert.Equal(t, test.share, len(common) == 0, "asking for %v and %v", ports.Asked(test.a), ports.Asked(test.b))
			// A pod that is there already takes what the other one asks for, in both directions.
			for _, pair := range [][2]*corev1.Pod{{test.a, test.b}, {test.b, test.a}} {
				taken := ports.Taken(eligibility.UsedBy(pair[0]))
				assert.Equal(t, test.share, len(intersection(taken, ports.Asked(pair[1]))) == 0,
					"%v taken of %v", taken, ports.Asked(pair[1]))
			}
		})
	}
}

func intersection(a, b []string) []string {
	var both []string
	for _, x := range a {
		for _, y := range b {
			if x == y {
				both = append(both, x)
			}
		}
	}
	return both
}

func TestHostPortsAsResources(t *testing.T) {
	ports := eligibility.HostPortsOf([]*corev1.Pod{onPort("", 80), onPort("10.0.0.1", 80)})
	want := []string{"host port 80/TCP", "host port 80/TCP on 10.0.0.1"}
	assert.Empty(t, cmp.Diff(want, ports.Resources(), cmpopts.SortSlices(func(a, b string) bool { return a < b })),
		"(-want +got)")
}
