package endure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/apiproxy"
	"packtree.dev/e2e/devcluster"
	grove "packtree.dev/shared/api/grove/v1alpha1"
)

// faults happen as often as their weight says at rate 1.
var faults = map[string]act{
	"program is killed":         {8, (*Campaign).kill},
	"program is paused":         {4, (*Campaign).pause},
	"program is doubled":        {3, (*Campaign).double},
	"control plane is killed":   {4, (*Campaign).killControlPlane},
	"watches drop":              {8, (*Campaign).dropWatches},
	"certificate is renewed":    {3, (*Campaign).renew},
	"CRD is upgraded":           {3, (*Campaign).upgrade},
	"admission refuses":         {3, (*Campaign).forbid},
	"Topology is deleted":       {2, (*Campaign).deleteTopology},
	"ClusterTopology is edited": {2, (*Campaign).editTopology},
	"node is cordoned":          {6, changeNode(cordon, 0)},
	"node dies":                 {6, changeNode(die, 0)},
	"node flaps":                {6, changeNode(die, 2)},
	"node changes its rack":     {6, changeNode(moveAway, 0)},
	"node is deleted":           {6, (*Campaign).deleteNode},
}

// failing is the share of requests of our programs that fail at rate 1, and most at any rate.
const (
	failing = 0.12
	most    = 0.4
)

var callFates = map[apiproxy.Fate]string{apiproxy.Refused: "API calls refused",
	apiproxy.Unanswered: "API calls without an answer", apiproxy.Silent: "API calls broken off",
	apiproxy.Delayed: "API calls delayed"}

var watchFates = map[apiproxy.Fate]string{apiproxy.Refused: "watches refused", apiproxy.Delayed: "watches that lag",
	apiproxy.Expired: "watches of a version that is too old", apiproxy.Silent: "watches dropped"}

// fate is decided for each request of our programs. Requests for leases and for the kinds of the API fail less often,
// or no program would lead or start, and watches more often, since there are few.
func (c *Campaign) fate(random *rand.Rand, request *http.Request) apiproxy.Fate {
	c.mu.Lock()
	defer c.mu.Unlock()
	chance, fates, path := random.Float64(), callFates, request.URL.Path
	depth := strings.Count(path, "/")
	switch {
	case strings.Contains(path, "/leases/"), depth <= 2, depth == 3 && strings.HasPrefix(path, "/apis/"):
		chance *= 4
	case apiproxy.IsWatch(request):
		chance, fates = chance/2, watchFates
	}
	if !c.troubled || chance >= min(failing*float64(c.Rate), most) {
		return apiproxy.Made
	}
	fate := slices.Sorted(maps.Keys(fates))[random.IntN(len(fates))]
	c.counts[fates[fate]]++
	return fate
}

func (c *Campaign) dropWatches(random *rand.Rand) action {
	program := one(devcluster.Components, random)
	return action{"drops of watches", "watches of " + program, func(context.Context) error {
		for range c.proxies[program].DropWatches() {
			c.count("watches dropped")
		}
		return nil
	}, nil}
}

// renew gives the webhooks of a program another certificate.
func (c *Campaign) renew(random *rand.Rand) action {
	program := one([]string{"dynamo-operator", "grove-operator", "podgrouper"}, random)
	return action{"certificates renewed", "certificate of " + program,
		func(ctx context.Context) error { return c.Machine.Renew(ctx, program) }, nil}
}

// upgrade applies a CRD again, with another description.
func (c *Campaign) upgrade(random *rand.Rand) action {
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	crd.SetName(one([]string{"podgroups.scheduling.run.ai", "podcliques.grove.io", "podcliquesets.grove.io",
		"podgangs.scheduler.grove.io", "dynamographdeployments.nvidia.com", "topologies.kai.scheduler"}, random))
	patch := fmt.Appendf(nil, `[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/description","value":"%d"}]`,
		random.IntN(1000))
	return action{"CRDs upgraded", crd.GetName(), func(ctx context.Context) error {
		return c.Patch(ctx, crd.DeepCopy(), client.RawPatch(types.JSONPatchType, patch))
	}, nil}
}

// refusal is a policy that refuses what our programs write to a resource.
const refusal = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: endure}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [%s]}]
  matchConditions: [{name: ours, expression: "request.userInfo.username.startsWith('system:serviceaccount:packtree')"}]
  validations: [{expression: "false", message: the campaign refuses}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: endure}
spec: {policyName: endure, validationActions: [Deny]}
`

func (c *Campaign) forbid(random *rand.Rand) action {
	resource := one([]string{"pods", "pods/binding", "podgroups", "podgroups/status", "podgangs", "podcliques"}, random)
	policy, err := parse(fmt.Sprintf(refusal, resource))
	return action{"writes forbidden by admission", "admission", func(ctx context.Context) error {
		for i := 0; err == nil && i < len(policy); i++ {
			if err := c.Create(ctx, policy[i].DeepCopy()); err != nil {
				return err
			}
		}
		return err
	}, func(ctx context.Context) error { return c.Remove(ctx, policy...) }}
}

// deleteTopology deletes the Topology, which comes back: its levels cannot be changed in place.
func (c *Campaign) deleteTopology(*rand.Rand) action {
	return action{"Topologies deleted", topologyName, c.deletes(topology()), c.creates(topology())}
}

func (c *Campaign) editTopology(*rand.Rand) action {
	has := func(levels []grove.TopologyLevel) func(context.Context) error {
		return func(ctx context.Context) error {
			edited := clusterTopology(nil)
			before := client.MergeFrom(edited.DeepCopy())
			edited.Spec.Levels = levels
			return c.Patch(ctx, edited, before)
		}
	}
	return action{"ClusterTopologies edited", editedName, has(levels[:2]), has(levels)}
}

func (c *Campaign) kill(random *rand.Rand) action {
	program := one(devcluster.Components, random)
	return action{"programs killed", program, func(context.Context) error { return c.Machine.Kill(program) },
		func(ctx context.Context) error { return c.run(ctx, program) }}
}

// pause stops a program for a while, often longer than its lease.
func (c *Campaign) pause(random *rand.Rand) action {
	program := one(devcluster.Components, random)
	pid := 0
	return action{"programs paused", program, func(context.Context) error {
		if pid = c.Machine.PID(program); pid == 0 {
			return nil
		}
		return syscall.Kill(pid, syscall.SIGSTOP)
	}, func(context.Context) error {
		if pid == 0 || c.Machine.PID(program) != pid {
			return nil
		}
		return syscall.Kill(pid, syscall.SIGCONT)
	}}
}

func (c *Campaign) double(random *rand.Rand) action {
	program := one(devcluster.Components, random)
	return action{"programs doubled", program + "-2", func(ctx context.Context) error {
		return c.starts(ctx, program+"-2", func(ctx context.Context) error {
			return c.Machine.Double(ctx, program, program+"-2")
		})
	}, func(context.Context) error {
		_ = c.Machine.Kill(program + "-2") // It may not have started.
		return nil
	}}
}

// killControlPlane holds the machine until the killed program works again, since no other program starts without it.
func (c *Campaign) killControlPlane(random *rand.Rand) action {
	program := one([]string{"etcd", "kube-apiserver"}, random)
	return action{"control plane killed", program, func(ctx context.Context) error {
		c.machine.Lock()
		defer c.machine.Unlock()
		if err := c.Machine.Kill(program); err != nil {
			return err
		}
		<-c.Machine.Ended(program)
		return c.Machine.Start(ctx, program)
	}, nil}
}

// runAll starts programs, one after the other, unless they run.
func (c *Campaign) runAll(ctx context.Context, programs ...string) error {
	for _, program := range programs {
		if err := insist(ctx, func(ctx context.Context) error { return c.run(ctx, program) }); err != nil {
			return err
		}
	}
	return nil
}

// run starts a program unless it runs.
func (c *Campaign) run(ctx context.Context, program string) error {
	return c.starts(ctx, program, func(ctx context.Context) error { return c.Machine.Start(ctx, program) })
}

// starts has a program start unless it runs. It does not wait until the program works: it may be killed before, and
// others start.
func (c *Campaign) starts(ctx context.Context, program string, start func(context.Context) error) error {
	c.machine.Lock()
	defer c.machine.Unlock()
	if c.Machine.PID(program) != 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return start(ctx)
}

// dead is the taint of a node that has died: its pods are evicted, as after the five minutes of a real node.
var dead = []corev1.Taint{{Key: "endure.packtree.dev/dead", Effect: corev1.TaintEffectNoExecute}}

func cordon(n *corev1.Node)   { n.Spec.Unschedulable = true }
func die(n *corev1.Node)      { n.Spec.Taints = dead }
func moveAway(n *corev1.Node) { n.Labels[rackLabel] = "rack-of-" + n.Name }

// changeNode changes a node for a while, or some times for a moment.
func changeNode(change func(*corev1.Node), flaps int) func(*Campaign, *rand.Rand) action {
	return func(c *Campaign, random *rand.Rand) action {
		original := node(random.IntN(racks * nodesPerRack))
		has := func(ctx context.Context, change func(*corev1.Node)) error {
			read := &corev1.Node{}
			if err := c.Get(ctx, client.ObjectKeyFromObject(original), read); err != nil {
				return err
			}
			before := client.MergeFrom(read.DeepCopy())
			change(read)
			return c.Patch(ctx, read, before)
		}
		back := func(ctx context.Context) error {
			return has(ctx, func(n *corev1.Node) {
				n.Spec.Unschedulable, n.Spec.Taints, n.Labels = false, nil, original.Labels
			})
		}
		return action{"node faults", original.Name, func(ctx context.Context) (err error) {
			for range flaps {
				err = errors.Join(err, has(ctx, change))
				pause(ctx, time.Second)
				err = errors.Join(err, back(ctx))
			}
			return errors.Join(err, has(ctx, change))
		}, back}
	}
}

// deleteNode deletes a node, which comes back under its name, whether or not its pods are gone.
func (c *Campaign) deleteNode(random *rand.Rand) action {
	original := node(random.IntN(racks * nodesPerRack))
	return action{"node faults", original.Name, c.deletes(original), c.creates(original)}
}
