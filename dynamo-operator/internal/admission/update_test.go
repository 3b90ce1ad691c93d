package admission_test

import "testing"

func TestUpdate(t *testing.T) {
	for name, c := range map[string]struct {
		oldSpec, oldServices, spec, services string
		want                                 []string
	}{
		"replicas may change": {
			oldServices: "[{name: A, replicas: 1}]", services: "[{name: A, replicas: 5}]",
		},
		"a constraint that the topology lost is not judged again": {
			oldSpec: "topologyConstraint: {packDomain: region}", oldServices: "[{name: A}]",
			spec: "topologyConstraint: {packDomain: region}", services: "[{name: A, replicas: 2}]",
		},
		"the deployment's constraint cannot be added": {
			oldServices: "[{name: A}]", spec: "topologyConstraint: {packDomain: rack}", services: "[{name: A}]",
			want: []string{
				"spec.topologyConstraint: Forbidden: cannot be added: immutable: delete the deployment and create it again",
			},
		},
		"the deployment's constraint cannot be removed": {
			oldSpec: "topologyConstraint: {packDomain: rack}", oldServices: "[{name: A}]", services: "[{name: A}]",
			want: []string{
				"spec.topologyConstraint: Forbidden: cannot be removed: immutable: delete the deployment and create it again",
			},
		},
		"nor can anything in it change": {
			oldSpec: "topologyConstraint: {packDomain: rack}", oldServices: "[{name: A}]",
			spec:     "topologyConstraint: {packDomain: zone, topologyProfile: aws, preferredDomain: host}",
			services: "[{name: A}]",
			want: []string{
				`spec.topologyConstraint.topologyProfile: Invalid value: "aws": was ""; immutable: delete the deployment and create it again`,
				`spec.topologyConstraint.packDomain: Invalid value: "zone": was "rack"; immutable: delete the deployment and create it again`,
				`spec.topologyConstraint.preferredDomain: Invalid value: "host": was ""; immutable: delete the deployment and create it again`,
			},
		},
		"a service's constraint is as fixed, wherever the service stands in the list": {
			oldServices: "[{name: A, topologyConstraint: {packDomain: rack}}, {name: B}]",
			services:    "[{name: B, topologyConstraint: {packDomain: rack}}, {name: A}]",
			want: []string{
				`spec.services[0].topologyConstraint: Forbidden: cannot be added: immutable: delete the deployment and create it again (service "B")`,
				`spec.services[1].topologyConstraint: Forbidden: cannot be removed: immutable: delete the deployment and create it again (service "A")`,
			},
		},
		"the set of services is fixed": {
			oldServices: "[{name: A}]", services: "[{name: B}]",
			want: []string{
				`spec.services[0].name: Forbidden: service "B" cannot be added: the set of services is immutable: delete the deployment and create it again`,
				`spec.services: Forbidden: service "A" cannot be removed: the set of services is immutable: delete the deployment and create it again; replicas: 0 stops it`,
			},
		},
		"single node stays single node": {
			oldServices: "[{name: A}]", services: "[{name: A, multinode: {nodeCount: 2}}]",
			want: []string{
				`spec.services[0].multinode: Forbidden: cannot be added: immutable: delete the deployment and create it again (service "A")`,
			},
		},
		"nodes of a replica, minimum and framework stay": {
			oldSpec: "backendFramework: vllm", oldServices: "[{name: A, replicas: 4, multinode: {nodeCount: 2}}]",
			spec:     "backendFramework: sglang",
			services: "[{name: A, replicas: 4, minAvailable: 2, multinode: {nodeCount: 4}}]",
			want: []string{
				`spec.backendFramework: Invalid value: "sglang": was "vllm"; immutable: delete the deployment and create it again`,
				`spec.services[0].multinode.nodeCount: Invalid value: 4: was "2"; immutable: delete the deployment and create it again (service "A")`,
				`spec.services[0].minAvailable: Invalid value: 2: was "1"; immutable: delete the deployment and create it again (service "A")`,
			},
		},
		"nor do pods of several nodes turn to or from a framework that starts them in another order": {
			oldServices: "[{name: A, multinode: {nodeCount: 2}, extraPodSpec: {mainContainer: {image: i, command: [python3, " +
				"-m, dynamo.trtllm]}}}, {name: B, extraPodSpec: {mainContainer: {image: i, command: [python3, -m, " +
				"dynamo.trtllm]}}}]",
			services: "[{name: A, multinode: {nodeCount: 2}, extraPodSpec: {mainContainer: {image: i, command: [python3, -m, " +
				"dynamo.sglang]}}}, {name: B, extraPodSpec: {mainContainer: {image: i, command: [python3, -m, dynamo.sglang]}}}]",
			want: []string{
				`spec.services[0].extraPodSpec.mainContainer: Invalid value: "sglang": starts another framework, was "trtllm"; immutable: delete the deployment and create it again (service "A")`,
			},
		},
		"writing out a default is no change": {
			oldServices: "[{name: A}]", services: "[{name: A, minAvailable: 1}]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			errs := alpha(t, c.spec, c.services).ValidateUpdate(alpha(t, c.oldSpec, c.oldServices))
			compare(t, c.want, errs.ToAggregate())
		})
	}
}
