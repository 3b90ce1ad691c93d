package endure

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// churn is what users do. It is as frequent at every rate of faults.
var churn = map[string]act{
	"workload comes":         {40, (*Campaign).come},
	"workload is scaled":     {12, (*Campaign).scale},
	"workload is rolled out": {8, (*Campaign).rollout},
	"workload ends":          {40, (*Campaign).end},
	"pod is deleted":         {8, (*Campaign).deletePod},
	"namespace is deleted":   {1, (*Campaign).deleteNamespace},
	"quota refuses":          {2, (*Campaign).refuse},
}

func (c *Campaign) come(random *rand.Rand) action {
	c.mu.Lock()
	c.number++
	number := c.number
	c.mu.Unlock()
	kind := one(kinds, random)
	namespace := one(namespaces, random)
	if kind.unlimited && namespace == limited {
		namespace = namespaces[0]
	}
	w, err := kind.write(number, namespace, random)
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

func (c *Campaign) refuse(*rand.Rand) action {
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "tight", Namespace: limited}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("8")}
	return action{"quotas", "quota of " + quota.Namespace, c.creates(quota), c.deletes(quota)}
}
