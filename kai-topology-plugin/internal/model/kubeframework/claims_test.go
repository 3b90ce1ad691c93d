package kubeframework_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

type manager = fwk.SharedDRAManager

// cluster is what a profile with all filters knows of claims.
type cluster struct {
	kubeframework.Filters
	manager
	fwk.ResourceClaimTracker

	informers informers.SharedInformerFactory
	snapshot  fwk.SharedLister
	devices   map[string]*resourcev1.ResourceClaim
	pending   types.UID
}

func (c *cluster) ListPlugins() *config.Plugins {
	return &config.Plugins{
		Filter: config.PluginSet{Enabled: []config.Plugin{{Name: names.VolumeBinding}, {Name: names.DynamicResources}}},
	}
}
func (c *cluster) SharedInformerFactory() informers.SharedInformerFactory { return c.informers }
func (c *cluster) SharedDRAManager() fwk.SharedDRAManager                 { return c }
func (c *cluster) SnapshotSharedLister() fwk.SharedLister                 { return c.snapshot }
func (c *cluster) ResourceClaims() fwk.ResourceClaimTracker               { return c }

func (c *cluster) Get(_, name string) (*resourcev1.ResourceClaim, error) {
	if claim := c.devices[name]; claim != nil {
		return claim, nil
	}
	return nil, errors.New("no such claim")
}

func (c *cluster) GetPendingAllocation(claim types.UID) *resourcev1.AllocationResult {
	if claim == c.pending {
		return &resourcev1.AllocationResult{}
	}
	return nil
}

func volumeClaim(name string, changes ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	claim.Spec.StorageClassName = ptr.To("fast")
	for _, change := range changes {
		change(claim)
	}
	return claim
}

func boundTo(volume string) func(*corev1.PersistentVolumeClaim) {
	return func(claim *corev1.PersistentVolumeClaim) {
		claim.Spec.VolumeName, claim.Annotations = volume, map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	}
}

func volumeIn(name, zone string) *corev1.PersistentVolume {
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "csi", VolumeHandle: name}
	volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{
		Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{zone}},
			},
		}}}}
	return volume
}

func deviceClaim(class string, changes ...func(*resourcev1.ResourceClaim)) *resourcev1.ResourceClaim {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{
		{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class}},
	}
	for _, change := range changes {
		change(claim)
	}
	return claim
}

func allocatedOn(node string) func(*resourcev1.ResourceClaim) {
	return func(claim *resourcev1.ResourceClaim) {
		claim.Status.Allocation = &resourcev1.AllocationResult{
			NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchFields: []corev1.NodeSelectorRequirement{
					{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
				},
			}}}}
	}
}

func storing(name string, volumes ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	for _, volume := range volumes {
		source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: volume}}
		if volume == "" {
			source = corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "v", VolumeSource: source})
	}
	return pod
}

// wired is a pod with a claim from a template; without a name the claim does not exist yet.
func wired(name, claim string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "d", ResourceClaimTemplateName: ptr.To("t")}}
	if claim != "" {
		pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "d", ResourceClaimName: &claim}}
	}
	return pod
}

func naming(pod *corev1.Pod, claim string) *corev1.Pod {
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "d", ResourceClaimName: &claim}}
	return pod
}

func TestClaimsAreAlikeUnlessAFilterTellsThemApart(t *testing.T) {
	standing := storing("standing", "used")
	standing.Spec.NodeName = "n"
	world := &cluster{pending: "in flight"}
	world.snapshot = cache.NewSnapshot([]*corev1.Pod{standing}, []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n"}}})
	world.devices = map[string]*resourcev1.ResourceClaim{
		"a": deviceClaim("gpu"), "b": deviceClaim("gpu"), "other class": deviceClaim("nic"),
		"here": deviceClaim("gpu", allocatedOn("n")), "here too": deviceClaim("gpu", allocatedOn("n")),
		"there": deviceClaim("gpu", allocatedOn("m")),
		"anywhere": deviceClaim("gpu",
			func(claim *resourcev1.ResourceClaim) { claim.Status.Allocation = &resourcev1.AllocationResult{} }),
		"reserved": deviceClaim("gpu", func(claim *resourcev1.ResourceClaim) {
			claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Name: "somebody"}}
		}),
		"in flight": deviceClaim("gpu", func(claim *resourcev1.ResourceClaim) { claim.UID = "in flight" }),
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	world.informers = informers.NewSharedInformerFactory(fake.NewClientset([]runtime.Object{
		volumeClaim("a"), volumeClaim("b"), volumeClaim("used"), volumeClaim("used too"), volumeClaim("p-v"),
		volumeClaim("q-v"),
		volumeClaim("slow", func(claim *corev1.PersistentVolumeClaim) { claim.Spec.StorageClassName = ptr.To("slow") }),
		volumeClaim("selected", func(claim *corev1.PersistentVolumeClaim) {
			claim.Annotations = map[string]string{"volume.kubernetes.io/selected-node": "n"}
		}),
		volumeClaim("bound", boundTo("v1")), volumeClaim("bound too", boundTo("v2")),
		volumeClaim("bound there", boundTo("v3")),
		volumeClaim("half bound", func(claim *corev1.PersistentVolumeClaim) { claim.Spec.VolumeName = "v1" }),
		volumeIn("v1", "z1"), volumeIn("v2", "z1"), volumeIn("v3", "z2"),
	}...), 0)
	world.informers.Core().V1().PersistentVolumeClaims().Informer()
	world.informers.Core().V1().PersistentVolumes().Informer()
	world.informers.Start(ctx.Done())
	world.informers.WaitForCacheSync(ctx.Done())
	claims := kubeframework.NewClaims(kubeframework.NewResources(world))
	for name, test := range map[string]struct {
		a, b *corev1.Pod
		same bool
	}{
		"volumes still to be made, of one class":    {storing("p", "a"), storing("q", "b"), true},
		"volumes of two classes":                    {storing("p", "a"), storing("q", "slow"), false},
		"a volume that is being made on a node":     {storing("p", "a"), storing("q", "selected"), false},
		"ephemeral volumes":                         {storing("p", ""), storing("q", ""), true},
		"ephemeral volumes that do not exist":       {storing("x", ""), storing("y", ""), true},
		"a volume and none":                         {storing("p", "a"), storing("q"), false},
		"volumes with one affinity":                 {storing("p", "bound"), storing("q", "bound too"), true},
		"volumes in two zones":                      {storing("p", "bound"), storing("q", "bound there"), false},
		"a volume that exists and one to be made":   {storing("p", "bound"), storing("q", "a"), false},
		"a volume that is about to be bound":        {storing("p", "bound"), storing("q", "half bound"), false},
		"a volume that a running pod uses":          {storing("p", "used"), storing("q", "a"), false},
		"one volume that both use":                  {storing("p", "a"), storing("q", "a"), true},
		"devices still to be allocated":             {wired("p", "a"), wired("q", "b"), true},
		"devices of two classes":                    {wired("p", "a"), wired("q", "other class"), false},
		"claims from a template and by name":        {wired("p", "a"), naming(wired("q", ""), "b"), true},
		"claims that were not made yet":             {wired("p", ""), wired("q", ""), true},
		"a claim and one that was not made yet":     {wired("p", "a"), wired("q", ""), false},
		"devices of one node":                       {wired("p", "here"), wired("q", "here too"), true},
		"devices of two nodes":                      {wired("p", "here"), wired("q", "there"), false},
		"devices that are tied to no node":          {wired("p", "anywhere"), wired("q", "a"), false},
		"devices that somebody uses":                {wired("p", "reserved"), wired("q", "a"), false},
		"devices that are just being allocated":     {wired("p", "in flight"), wired("q", "a"), false},
		"one claim that both use":                   {naming(wired("p", ""), "a"), naming(wired("q", ""), "a"), true},
		"a claim that is shared and one that isn't": {naming(wired("p", ""), "shared"), naming(wired("q", ""), "a"), false},
	} {
		t.Run(name, func(t *testing.T) {
			shared := kubeframework.SharedClaims([]*corev1.Pod{test.a, test.b})
			a, b := text(t, claims.Of(test.a, shared)), text(t, claims.Of(test.b, shared))
			assert.Equal(t, test.same, a == b, "same: %v:\n%s\n%s", a == b, a, b)
		})
	}
}

func text(t *testing.T, traits []kubeframework.ClaimTraits) string {
	t.Helper()
	text, err := json.Marshal(traits)
	require.NoError(t, err)
	return string(text)
}

func TestClaimsThatSeveralPodsUseCountByName(t *testing.T) {
	world := &cluster{devices: map[string]*resourcev1.ResourceClaim{"a": deviceClaim("gpu"), "b": deviceClaim("gpu")}}
	claims := kubeframework.NewClaims(kubeframework.NewResources(world))
	pods := []*corev1.Pod{naming(wired("p", ""), "a"), naming(wired("q", ""), "a"), naming(wired("r", ""), "b")}
	shared := kubeframework.SharedClaims(pods)
	assert.NotEqual(t, text(t, claims.Of(pods[2], shared)), text(t, claims.Of(pods[0], shared)),
		"a claim that two pods share is taken for one that a pod has for itself")
	assert.Equal(t, text(t, claims.Of(pods[1], shared)), text(t, claims.Of(pods[0], shared)),
		"two pods that share a claim differ")
}
