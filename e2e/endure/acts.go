package endure

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"syscall"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/devcluster"
	grove "packtree.dev/shared/api/grove/v1alpha1"
)

// action is what an act does to one target, at most one at a time, and how it is undone. Both are repeated until the
// API server has decided.
type action struct {
	// counted is its line in the report.
	counted, target string
	do, undo        func(context.Context) error
}

// acts choose a action. An act of weight 10 is as frequent as ten of weight 1.
var acts = map[string]struct {
	weight int
	choose func(c *Campaign, random *rand.Rand) action
}{
	"workload comes":            {40, (*Campaign).come},
	"workload is scaled":        {12, (*Campaign).scale},
	"workload is rolled out":    {8, (*Campaign).rollout},
	"workload ends":             {40, (*Campaign).end},
	"pod is deleted":            {8, (*Campaign).deletePod},
	"namespace is deleted":      {1, (*Campaign).deleteNamespace},
	"quota refuses":             {2, (*Campaign).refuse},
	"program is killed":         {8, (*Campaign).kill},
	"program is paused":         {4, (*Campaign).pause},
	"program is doubled":        {3, (*Campaign).double},
	"control plane is killed":   {4, (*Campaign).killControlPlane},
	"watches drop":              {8, (*Campaign).dropWatches},
	"Topology is deleted":       {2, (*Campaign).deleteTopology},
	"ClusterTopology is edited": {2, (*Campaign).editTopology},
	"node is cordoned":          {6, changeNode(cordon, 0)},
	"node dies":                 {6, changeNode(die, 0)},
	"node flaps":                {6, changeNode(die, 2)},
	"node changes its rack":     {6, changeNode(moveAway, 0)},
	"node is deleted":           {6, (*Campaign).deleteNode},
}

func weights() map[string]int {
	all := map[string]int{}
	for name, act := range acts {
		all[name] = act.weight
	}
	return all
}

// patience is how long an act is tried.
const patience = 5 * time.Minute

// perform does an act, and undoes it after its time, however the campaign ends.
func (c *Campaign) perform(ctx context.Context, act Act) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*patience)
	defer cancel()
	chosen := acts[act.Name].choose(c, rand.New(rand.NewPCG(act.Pick, 0)))
	if chosen.do == nil || !c.alone(chosen.target) {
		return nil
	}
	defer c.free(chosen.target)
	c.count(chosen.counted)
	c.say("%s: %s", act.Name, chosen.target)
	err := insist(ctx, chosen.do)
	if chosen.undo != nil {
		pause(ctx, act.For)
		err = errors.Join(err, insist(ctx, chosen.undo))
	}
	if apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func one[T any](of []T, random *rand.Rand) T { return of[random.IntN(len(of))] }

func (c *Campaign) creates(object client.Object) func(context.Context) error {
	return func(ctx context.Context) error { return c.Create(ctx, object.DeepCopyObject().(client.Object)) }
}

func (c *Campaign) deletes(object client.Object) func(context.Context) error {
	return func(ctx context.Context) error { return c.Delete(ctx, object.DeepCopyObject().(client.Object)) }
}

func (c *Campaign) come(random *rand.Rand) action {
	c.mu.Lock()
	c.number++
	number := c.number
	c.mu.Unlock()
	w, err := one(kinds, random).write(number, one(namespaces, random), random)
	return action{"workloads made", fmt.Sprintf("number %d", number), func(ctx context.Context) error {
		for i := 0; err == nil && i < len(w.objects); i++ {
			if err := c.Create(ctx, w.objects[i].DeepCopy()); err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("creating %s: %w", name(w.objects[i]), err)
			}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.workloads = append(c.workloads, w)
		return err
	}, nil}
}

// crowd is how many workloads there are at least, after the first ones: more than have room.
const crowd = 20

// take chooses a workload that has come, and forgets it if it ends; nil if there is none.
func (c *Campaign) take(random *rand.Rand, ends bool) *workload {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.workloads) == 0 || ends && len(c.workloads) < crowd {
		return nil
	}
	i := random.IntN(len(c.workloads))
	w := c.workloads[i]
	if ends {
		c.workloads = append(c.workloads[:i:i], c.workloads[i+1:]...)
	}
	return w
}

func (c *Campaign) scale(random *rand.Rand) action {
	w := c.take(random, false)
	if w == nil {
		return action{}
	}
	replicas := strconv.Itoa(1 + random.IntN(5))
	return action{"workloads scaled", name(w.objects[0]) + " to " + replicas,
		func(ctx context.Context) error { return w.edit(ctx, c.Client, w.scale, replicas) }, nil}
}

func (c *Campaign) rollout(random *rand.Rand) action {
	w := c.take(random, false)
	if w == nil || w.rollout == "" {
		return action{}
	}
	image := fmt.Sprintf(`"image:%d"`, random.IntN(1000))
	return action{"workloads rolled out", name(w.objects[0]) + " to " + image,
		func(ctx context.Context) error { return w.edit(ctx, c.Client, w.rollout, image) }, nil}
}

func (c *Campaign) end(random *rand.Rand) action {
	w := c.take(random, true)
	if w == nil {
		return action{}
	}
	return action{"workloads ended", name(w.objects[0]),
		func(ctx context.Context) error { return c.Remove(ctx, w.objects...) }, nil}
}

// deletePod deletes a pod that its owner replaces at once, which a Job does not.
func (c *Campaign) deletePod(random *rand.Rand) action {
	chance := random.Int()
	return action{"pods deleted", fmt.Sprintf("pod %d", chance), func(ctx context.Context) error {
		var pods corev1.PodList
		if err := c.List(ctx, &pods); err != nil || len(pods.Items) == 0 {
			return err
		}
		pod := &pods.Items[chance%len(pods.Items)]
		if _, of := pod.Labels[batchv1.JobNameLabel]; of {
			return nil
		}
		return c.Delete(ctx, pod, client.Preconditions{UID: &pod.UID})
	}, nil}
}

func (c *Campaign) deleteNamespace(random *rand.Rand) action {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: one(namespaces, random)}}
	return action{"namespaces deleted", namespace.Name, c.deletes(namespace), func(ctx context.Context) error {
		_ = c.creates(namespace)(ctx)
		read := &corev1.Namespace{}
		if err := c.Get(ctx, client.ObjectKeyFromObject(namespace), read); err != nil || read.DeletionTimestamp != nil {
			return fmt.Errorf("namespace %s has not come back", namespace.Name) // No answer: it is tried again.
		}
		return nil
	}}
}

func (c *Campaign) refuse(random *rand.Rand) action {
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "tight", Namespace: one(namespaces, random)}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("8")}
	return action{"quotas", "quota of " + quota.Namespace, c.creates(quota), c.deletes(quota)}
}

func (c *Campaign) dropWatches(random *rand.Rand) action {
	program := one(devcluster.Components, random)
	return action{"watches dropped", "watches of " + program,
		func(context.Context) error { c.proxies[program].DropWatches(); return nil }, nil}
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
		c.machine.Lock()
		defer c.machine.Unlock()
		return c.Machine.Double(ctx, program, program+"-2")
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

// run starts a program unless it runs.
func (c *Campaign) run(ctx context.Context, program string) error {
	c.machine.Lock()
	defer c.machine.Unlock()
	if c.Machine.PID(program) != 0 {
		return nil
	}
	return c.Machine.Start(ctx, program)
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

// alone reserves a target for a action, and returns false if another one has it.
func (c *Campaign) alone(target string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.busy[target]
	c.busy[target] = true
	return !was
}

func (c *Campaign) free(target string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.busy, target)
}

// insist repeats a request until the API server has decided about it: it may be away, or a webhook.
func insist(ctx context.Context, send func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := send(ctx)
		if err == nil || slices.Contains(decided, apierrors.ReasonForError(err)) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
}

// decided are the reasons of refusals.
var decided = []metav1.StatusReason{metav1.StatusReasonNotFound, metav1.StatusReasonAlreadyExists,
	metav1.StatusReasonConflict, metav1.StatusReasonInvalid, metav1.StatusReasonForbidden, metav1.StatusReasonBadRequest}

// pause waits for a time, or until there is nothing more to wait for.
func pause(ctx context.Context, length time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(length):
	}
}
