package endure

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/devcluster"
	grove "packtree.dev/shared/api/grove/v1alpha1"
)

// doing is an act: it begins, and returns what ends it, if anything does.
type doing func(ctx context.Context, c *Campaign, random *rand.Rand) (undo func(context.Context) error, err error)

// acts by name. An act of weight 10 is as frequent as ten of weight 1.
var acts = map[string]struct {
	weight int
	do     doing
}{
	"workload comes":            {40, come},
	"workload is scaled":        {12, edit(true)},
	"workload is rolled out":    {8, edit(false)},
	"workload ends":             {40, end},
	"pod is deleted":            {8, deletePod},
	"namespace is deleted":      {1, deleteNamespace},
	"quota refuses":             {2, refuse},
	"program is killed":         {8, killProgram},
	"program is paused":         {4, pauseProgram},
	"program is doubled":        {3, doubleProgram},
	"etcd is killed":            {2, killControlPlane("etcd")},
	"API server is killed":      {2, killControlPlane("kube-apiserver")},
	"watches drop":              {8, dropWatches},
	"Topology is deleted":       {2, deleteTopology},
	"ClusterTopology is edited": {2, editTopology},
	"node is cordoned":          {6, nodeChanges(cordon(true), cordon(false))},
	"node dies":                 {6, nodeChanges(die, revive)},
	"node changes its rack":     {6, nodeChanges(moveAway, moveBack)},
	"node flaps":                {4, flap},
	"node is deleted":           {6, deleteNode},
}

type undo = func(context.Context) error

func weights() map[string]int {
	all := map[string]int{}
	for name, act := range acts {
		all[name] = act.weight
	}
	return all
}

// patience is how long an act insists on a request.
const patience = 5 * time.Minute

// perform does an act, and undoes it after its time. What has begun is undone.
func (c *Campaign) perform(ctx context.Context, act Act) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	undo, err := acts[act.Name].do(ctx, c, rand.New(rand.NewPCG(act.Pick, 0)))
	if err != nil || undo == nil {
		return client.IgnoreNotFound(err)
	}
	time.Sleep(act.For)
	return undo(ctx)
}

// alone reserves a target for an act, and returns false if another act has it.
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

func (c *Campaign) did(what, format string, arguments ...any) {
	c.count(what)
	c.say(what+": "+format, arguments...)
}

func come(ctx context.Context, c *Campaign, random *rand.Rand) (undo, error) {
	c.mu.Lock()
	c.number++
	number := c.number
	c.mu.Unlock()
	w, err := kinds[random.IntN(len(kinds))].write(number, namespaces[random.IntN(len(namespaces))], random)
	if err != nil {
		return nil, err
	}
	for _, object := range w.objects {
		err := insist(ctx, func() error { return c.Create(ctx, object.DeepCopy()) })
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("creating %s: %w", object.GetName(), err)
		}
	}
	c.mu.Lock()
	c.workloads = append(c.workloads, w)
	c.mu.Unlock()
	c.did("workloads made", "%s %s", w.objects[0].GetNamespace(), w.objects[0].GetName())
	return nil, nil
}

// crowd is how many workloads there are at least, after the first ones: more than have room.
const crowd = 20

// take chooses a workload that has come, and forgets it if it is to end; nil if there is none.
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

// edit scales a workload, or rolls it out.
func edit(scale bool) doing {
	return func(ctx context.Context, c *Campaign, random *rand.Rand) (undo, error) {
		w := c.take(random, false)
		if w == nil || !scale && w.rollout == "" {
			return nil, nil
		}
		path, what, value := w.scale, "workloads scaled", strconv.Itoa(1+random.IntN(5))
		if !scale {
			path, what, value = w.rollout, "workloads rolled out", fmt.Sprintf("%q", fmt.Sprintf("image:%d", random.IntN(1000)))
		}
		c.did(what, "%s %s to %s", w.objects[0].GetNamespace(), w.objects[0].GetName(), value)
		return nil, insist(ctx, func() error { return w.edit(ctx, c.Client, path, value) })
	}
}

func end(ctx context.Context, c *Campaign, random *rand.Rand) (undo, error) {
	w := c.take(random, true)
	if w == nil {
		return nil, nil
	}
	c.did("workloads ended", "%s %s", w.objects[0].GetNamespace(), w.objects[0].GetName())
	return nil, insist(ctx, func() error { return c.Remove(ctx, w.objects...) })
}

// deletePod deletes a pod that its owner replaces at once, which a Job does not.
func deletePod(ctx context.Context, c *Campaign, random *rand.Rand) (undo, error) {
	var pods corev1.PodList
	err := insist(ctx, func() error { return c.List(ctx, &pods, client.MatchingLabelsSelector{Selector: notOfJobs}) })
	if err != nil || len(pods.Items) == 0 {
		return nil, err
	}
	pod := &pods.Items[random.IntN(len(pods.Items))]
	c.did("pods deleted", "%s", name(pod))
	return nil, insist(ctx, func() error { return c.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}) })
}

func deleteNamespace(ctx context.Context, c *Campaign, random *rand.Rand) (undo, error) {
	namespace := namespaces[random.IntN(len(namespaces))]
	if !c.alone(namespace) {
		return nil, nil
	}
	c.did("namespaces deleted", "%s", namespace)
	deleted := func() *corev1.Namespace { return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}} }
	return func(ctx context.Context) error {
		defer c.free(namespace)
		// The name is taken until the old namespace is gone.
		return insist(ctx, func() error {
			if err := c.Create(ctx, deleted()); err != nil {
				return fmt.Errorf("the old namespace: %v", err)
			}
			return nil
		})
	}, insist(ctx, func() error { return c.Delete(ctx, deleted()) })
}

func refuse(ctx context.Context, c *Campaign, random *rand.Rand) (undo, error) {
	namespace := namespaces[random.IntN(len(namespaces))]
	if !c.alone("quota " + namespace) {
		return nil, nil
	}
	c.did("quotas", "%s", namespace)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "tight", Namespace: namespace},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("8")}}}
	return func(ctx context.Context) error {
		defer c.free("quota " + namespace)
		return client.IgnoreNotFound(insist(ctx, func() error { return c.Delete(ctx, quota.DeepCopy()) }))
	}, insist(ctx, func() error { return c.Create(ctx, quota.DeepCopy()) })
}

func dropWatches(_ context.Context, c *Campaign, random *rand.Rand) (undo, error) {
	program := devcluster.Components[random.IntN(len(devcluster.Components))]
	c.did("watches dropped", "%s", program)
	c.proxies[program].DropWatches()
	return nil, nil
}

// deleteTopology deletes the Topology, which comes back: its levels cannot be changed in place.
func deleteTopology(ctx context.Context, c *Campaign, _ *rand.Rand) (undo, error) {
	if !c.alone(topologyName) {
		return nil, nil
	}
	c.did("Topologies deleted", topologyName)
	return func(ctx context.Context) error {
		defer c.free(topologyName)
		return insist(ctx, func() error { return c.Create(ctx, topology()) })
	}, insist(ctx, func() error { return c.Delete(ctx, topology()) })
}

// editedName is a ClusterTopology of these levels, which for a while has none below the rack.
const editedName = "edited"

var levels = []grove.TopologyLevel{{Domain: "block", Key: blockLabel}, {Domain: "rack", Key: rackLabel},
	{Domain: "host", Key: corev1.LabelHostname}}

func editTopology(ctx context.Context, c *Campaign, _ *rand.Rand) (undo, error) {
	if !c.alone(editedName) {
		return nil, nil
	}
	c.did("ClusterTopologies edited", editedName)
	has := func(levels []grove.TopologyLevel) func(context.Context) error {
		return func(ctx context.Context) error {
			return insist(ctx, func() error {
				edited := &grove.ClusterTopology{ObjectMeta: metav1.ObjectMeta{Name: editedName}}
				before := client.MergeFrom(edited.DeepCopy())
				edited.Spec.Levels = levels
				return c.Patch(ctx, edited, before)
			})
		}
	}
	return func(ctx context.Context) error {
		defer c.free(editedName)
		return has(levels)(ctx)
	}, has(levels[:2])(ctx)
}

func killProgram(ctx context.Context, c *Campaign, random *rand.Rand) (undo, error) {
	program := devcluster.Components[random.IntN(len(devcluster.Components))]
	if !c.alone(program) {
		return nil, nil
	}
	c.did("programs killed", "%s", program)
	return func(ctx context.Context) error {
		defer c.free(program)
		return c.run(ctx, program)
	}, c.Machine.Kill(program)
}

// pauseProgram stops a program for a while, often longer than its lease.
func pauseProgram(_ context.Context, c *Campaign, random *rand.Rand) (undo, error) {
	program := devcluster.Components[random.IntN(len(devcluster.Components))]
	pid := c.Machine.PID(program)
	if pid == 0 || !c.alone(program) {
		return nil, nil
	}
	c.did("programs paused", "%s", program)
	return func(context.Context) error {
		defer c.free(program)
		return syscall.Kill(pid, syscall.SIGCONT)
	}, syscall.Kill(pid, syscall.SIGSTOP)
}

func doubleProgram(ctx context.Context, c *Campaign, random *rand.Rand) (undo, error) {
	program := devcluster.Components[random.IntN(len(devcluster.Components))]
	if !c.alone("second " + program) {
		return nil, nil
	}
	c.machine.Lock()
	second, err := c.Machine.Double(ctx, program)
	c.machine.Unlock()
	if err != nil {
		c.free("second " + program)
		return nil, err
	}
	c.did("programs doubled", "%s", program)
	return func(context.Context) error {
		defer c.free("second " + program)
		return c.Machine.Kill(second)
	}, nil
}

// killControlPlane holds the machine until the killed program works again, since no other program starts without it.
func killControlPlane(program string) doing {
	return func(ctx context.Context, c *Campaign, _ *rand.Rand) (undo, error) {
		c.machine.Lock()
		defer c.machine.Unlock()
		c.did("control plane killed", "%s", program)
		if err := c.Machine.Kill(program); err != nil {
			return nil, err
		}
		<-c.Machine.Ended(program)
		return nil, c.Machine.Start(ctx, program)
	}
}

// run starts a program unless it runs.
func (c *Campaign) run(ctx context.Context, program string) error {
	c.machine.Lock()
	defer c.machine.Unlock()
	return insist(ctx, func() error {
		if c.Machine.PID(program) != 0 {
			return nil
		}
		return c.Machine.Start(ctx, program)
	})
}

// repair has every program run, in case one has ended by itself.
func (c *Campaign) repair(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	plane := []string{"etcd", "kube-apiserver", "kube-controller-manager", "kwok"}
	for _, program := range append(plane, devcluster.Components...) {
		if err := c.run(ctx, program); err != nil {
			return err
		}
	}
	return nil
}
