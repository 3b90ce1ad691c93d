package grove_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/shared/api/dynamo/v1beta1"
)

// A pod may have ports that a Service cannot have: without a name, or twice.
func TestAServiceHasEachPortOnce(t *testing.T) {
	for name, c := range map[string]struct {
		ports []corev1.ContainerPort
		want  []string
	}{
		"named": {
			[]corev1.ContainerPort{{Name: "grpc", ContainerPort: 50051}}, []string{"grpc 50051/TCP to grpc"},
		},
		"without a name": {
			[]corev1.ContainerPort{{ContainerPort: 80}, {ContainerPort: 81}},
			[]string{"port-80 80/TCP to 80", "port-81 81/TCP to 81"},
		},
		"one number for two protocols": {
			[]corev1.ContainerPort{{ContainerPort: 53}, {ContainerPort: 53, Protocol: "UDP"}},
			[]string{"port-53 53/TCP to 53", "port-53-udp 53/UDP to 53"},
		},
		"one number of the host and of the pod": {
			[]corev1.ContainerPort{{Name: "web", ContainerPort: 80},
				{Name: "again", ContainerPort: 80, Protocol: "TCP", HostPort: 8080}},
			[]string{"web 80/TCP to web"},
		},
		"one name for two numbers": {
			[]corev1.ContainerPort{{Name: "web", ContainerPort: 80}, {Name: "web", ContainerPort: 81}},
			[]string{"web 80/TCP to web"},
		},
		"none, but the one at which the runtime would answer": {nil, []string{"system 9090/TCP to 9090"}},
	} {
		t.Run(name, func(t *testing.T) {
			component := v1beta1.ComponentSpec{Name: "A", PodTemplate: template()}
			component.PodTemplate.Spec.Containers[0].Ports = c.ports
			var got []string
			for _, object := range translate(t, deployment([]v1beta1.ComponentSpec{component})) {
				if service, ok := object.(*corev1.Service); ok {
					for _, port := range service.Spec.Ports {
						got = append(got, fmt.Sprintf("%s %d/%s to %s", port.Name, port.Port, port.Protocol,
							port.TargetPort.String()))
					}
				}
			}
			assert.Empty(t, cmp.Diff(c.want, got), "(-want +got)")
		})
	}
}
