package admission_test

import "testing"

func TestComponentGroups(t *testing.T) {
	const again = "immutable: delete the deployment and create it again"
	for name, c := range map[string]struct {
		groups, services string
		spec             string
		want             []string
	}{
		"two prefill and one decode in one rack, eight times": {
			groups:   "{name: serve, replicas: 8, topologyConstraint: {packDomain: rack}, components: [{name: A}, {name: B}]}",
			services: "[{name: A, replicas: 2}, {name: B, multinode: {nodeCount: 2}}, {name: F}]",
		},
		"a member's own constraint, narrower": {
			groups:   "{name: serve, topologyConstraint: {packDomain: rack}, components: [{name: A}]}",
			services: "[{name: A, replicas: 2, topologyConstraint: {packDomain: host}}]",
		},
		"a member's own constraint, broader": {
			groups:   "{name: serve, topologyConstraint: {packDomain: rack}, components: [{name: A}]}",
			services: "[{name: A, replicas: 2, topologyConstraint: {packDomain: zone}}]",
			want: []string{
				`spec.services[0].topologyConstraint.packDomain: Invalid value: "zone": broader than the component group's packDomain "rack": choose rack, host or numa (service "A")`,
			},
		},
		"a group broader than the deployment": {
			spec:     "topologyConstraint: {packDomain: host}\n  ",
			groups:   "{name: serve, topologyConstraint: {packDomain: rack}, components: [{name: A}]}",
			services: "[{name: A}]",
			want: []string{
				`spec.experimental.componentGroups[0].topologyConstraint.packDomain: Invalid value: "rack": broader than the deployment's packDomain "host": choose host or numa`,
			},
		},
		"a constraint that says nothing": {
			groups:   "{name: g, topologyConstraint: {}, components: [{name: A}]}",
			services: "[{name: A}]",
			want: []string{
				`spec.experimental.componentGroups[0].topologyConstraint.packDomain: Required value: a topologyConstraint has a packDomain or a preferredDomain`,
			},
		},
		"a level that the topology does not have": {
			groups: "{name: serve, topologyConstraint: {packDomain: numa}, topologySpread: [{domain: region, even: true, whenUnsatisfiable: ScheduleAnyway}], " +
				"components: [{name: A}]}",
			services: "[{name: A}]",
			want: []string{
				`spec.experimental.componentGroups[0].topologyConstraint.packDomain: Invalid value: "numa": not a level of ClusterTopology "grove-topology"; available domains: zone, block, rack, host`,
				`spec.experimental.componentGroups[0].topologySpread[0].domain: Invalid value: "region": not a level of ClusterTopology "grove-topology"; available domains: zone, block, rack, host`,
			},
		},
		"numbers out of their bounds": {
			groups: "{name: serve, replicas: -1, minAvailable: 0, components: [{name: A}]}, {name: two, replicas: 2, " +
				"minAvailable: 3, components: [{name: B}]}",
			services: "[{name: A}, {name: B}]",
			want: []string{
				`spec.experimental.componentGroups[0].replicas: Invalid value: -1: must be 0 or more`,
				`spec.experimental.componentGroups[0].minAvailable: Invalid value: 0: must be 1 or more`,
				`spec.experimental.componentGroups[1].replicas: Invalid value: 2: must be 0 or at least minAvailable, which is 3`,
			},
		},
		"names": {
			groups:   "{name: a_b, components: [{name: A}]}, {name: b, components: [{name: B}]}, {name: c, components: []}",
			services: "[{name: A}, {name: B}]",
			want: []string{
				`spec.experimental.componentGroups[0].name: Invalid value: "a_b": in lower case: a lowercase RFC 1123 label must…`,
				`spec.experimental.componentGroups[1].name: Invalid value: "b": service "B" has that name, and what is scaled is called by it: rename one`,
				`spec.experimental.componentGroups[2].components: Required value: a component group has at least one service`,
			},
		},
		"members": {
			groups:   "{name: one, components: [{name: A}, {name: A}, {name: worke}]}, {name: two, components: [{name: A}]}",
			services: "[{name: A}, {name: worker}]",
			want: []string{
				`spec.experimental.componentGroups[0].components[1].name: Duplicate value: "A"`,
				`spec.experimental.componentGroups[0].components[2].name: Invalid value: "worke": no service has this name; there are A, worker; did you mean "worker"?`,
				`spec.experimental.componentGroups[1].components[0].name: Invalid value: "A": is in component group "one" already, and can be in one only`,
			},
		},
		"what a member leaves to its group": {
			groups: "{name: g, components: [{name: A}, {name: B}, {name: C}]}",
			services: "[{name: A, scalingAdapter: {enabled: true}}, {name: B, replicas: 0}, {name: C, multinode: {nodeCount: " +
				"2}, topologyConstraint: {packDomain: rack}, topologySpread: [{domain: rack, even: true, whenUnsatisfiable: ScheduleAnyway}]}]",
			want: []string{
				`spec.services[0].scalingAdapter: Forbidden: it scales with component group "g": set scalingAdapter there (service "A")`,
				`spec.services[1].replicas: Invalid value: 0: are those in each copy of component group "g", at least 1; replicas: 0 of the group stops it (service "B")`,
				`spec.services[2].topologyConstraint: Forbidden: leader and workers in a copy are held together by the constraint of component group "g": set it there (service "C")`,
				`spec.services[2].topologySpread: Forbidden: copies are spread, as component group "g" says: set it there (service "C")`,
			},
		},
		"a member among others": {
			spec: "topologySpread: [{domain: rack, among: [A, F], maxPerDomain: 1}, {domain: rack, among: [g, F], " +
				"maxPerDomain: 1}]\n  ",
			groups:   "{name: g, replicas: 2, components: [{name: A}]}",
			services: "[{name: A}, {name: F}]",
			want: []string{
				`spec.topologySpread[0].among[0]: Invalid value: "A": scales with component group "g": name that`,
			},
		},
		"more pods than a deployment may have": {
			groups:   "{name: g, replicas: 1000, components: [{name: A}]}",
			services: "[{name: A, replicas: 101}]",
			want: []string{
				`spec.services[0].replicas: Invalid value: 101: 101000 of the deployment's 101000 pods, and it may have 100000; use more than one deployment (service "A")`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			candidate := alpha(t, c.spec+"experimental: {componentGroups: ["+c.groups+"]}", c.services)
			compare(t, c.want, candidate.ValidateCreate(levels).ToAggregate())
		})
	}
	with := func(groups string) string { return "experimental: {componentGroups: [" + groups + "]}" }
	for name, c := range map[string]struct {
		oldGroups, oldServices, groups, services string
		want                                     []string
	}{
		"its replicas and spread may change": {
			oldGroups: "{name: g, components: [{name: A}]}", oldServices: "[{name: A}]",
			groups:   "{name: g, replicas: 3, topologySpread: [{domain: rack, even: true, whenUnsatisfiable: ScheduleAnyway}], components: [{name: A}]}",
			services: "[{name: A}]",
		},
		"the ratio may not": {
			oldGroups: "{name: g, components: [{name: A}]}", oldServices: "[{name: A}]",
			groups: "{name: g, components: [{name: A}]}", services: "[{name: A, replicas: 2}]",
			want: []string{
				`spec.services[0].replicas: Invalid value: 2: was 1 in each copy of component group "g", which cannot change: scale the group, or ` + again + ` (service "A")`,
			},
		},
		"nor who is in which, nor minimum and constraint": {
			oldGroups:   "{name: g, replicas: 2, topologyConstraint: {packDomain: rack}, components: [{name: A}]}",
			oldServices: "[{name: A}, {name: B}]",
			groups: "{name: g, replicas: 2, minAvailable: 2, topologyConstraint: {packDomain: zone}, components: " +
				"[{name: A}, {name: B}]}", services: "[{name: A}, {name: B}]",
			want: []string{
				`spec.experimental.componentGroups: Forbidden: service "B" was in no component group: ` + again,
				`spec.experimental.componentGroups[0].minAvailable: Invalid value: 2: was "1"; ` + again,
				`spec.experimental.componentGroups[0].topologyConstraint.packDomain: Invalid value: "zone": was "rack"; ` + again,
			},
		},
		"nor that there is one": {
			oldGroups: "{name: g, components: [{name: A}]}", oldServices: "[{name: A}]", services: "[{name: A}]",
			want: []string{`spec.experimental.componentGroups: Forbidden: service "A" was in component group "g": ` +
				again},
		},
	} {
		t.Run(name, func(t *testing.T) {
			errs := alpha(t, with(c.groups), c.services).ValidateUpdate(alpha(t, with(c.oldGroups), c.oldServices))
			compare(t, c.want, errs.ToAggregate())
		})
	}
}
