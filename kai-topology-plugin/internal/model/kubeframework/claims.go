package kubeframework

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	volumehelpers "k8s.io/component-helpers/storage/volume"
	fwk "k8s.io/kube-scheduler/framework"
)

// Claims says what the claims of pods are to the filters of a profile: not their names, but what they ask for, and
// what they are tied to.
type Claims struct {
	resources *Resources
	cluster   claimLister
}

// claimLister is what a profile's framework knows of claims.
type claimLister interface {
	SharedInformerFactory() informers.SharedInformerFactory
	SharedDRAManager() fwk.SharedDRAManager
	SnapshotSharedLister() fwk.SharedLister
}

// NewClaims returns the claims as the filters behind some resources see them.
func NewClaims(resources *Resources) *Claims {
	cluster, _ := resources.filters.(claimLister)
	return &Claims{resources: resources, cluster: cluster}
}

// ClaimTraits are what filters look at in a claim. Pods with equal traits of claims are alike.
type ClaimTraits struct {
	// Name is set where it matters which claim it is: one that several pods use, or that is on its way to be bound.
	Name    string `json:",omitempty"`
	Missing bool   `json:",omitempty"`
	// Volume and Bound are of a PersistentVolumeClaim, Devices and Allocated of a ResourceClaim.
	Volume    *volumeRequest                `json:",omitempty"`
	Bound     *boundVolume                  `json:",omitempty"`
	Devices   *resourcev1.ResourceClaimSpec `json:",omitempty"`
	Allocated *corev1.NodeSelector          `json:",omitempty"`
}

type volumeRequest struct {
	Class, Selector, Mode string
	Access                []corev1.PersistentVolumeAccessMode
	Storage               string
	// Node is the one that was chosen for a volume that is being made.
	Node string `json:",omitempty"`
}

type boundVolume struct {
	Affinity *corev1.VolumeNodeAffinity
	// Labels tie a volume to zones. Driver is the CSI driver with the limit of volumes per node.
	Labels map[string]string
	Driver string
	// Source is set for volumes of the drivers that Kubernetes once had built in.
	Source *corev1.PersistentVolumeSource `json:",omitempty"`
}

// Of returns the traits of a pod's claims. Shared are those for which the name counts.
func (c *Claims) Of(pod *corev1.Pod, shared ClaimNames) []ClaimTraits {
	var traits []ClaimTraits
	if c.cluster == nil {
		return nil
	}
	for i := range pod.Spec.Volumes {
		if name := volumeClaim(pod, &pod.Spec.Volumes[i]); name != "" && c.resources.readsVolumes() {
			traits = append(traits, c.volume(pod.Namespace, name, shared))
		}
	}
	if len(pod.Spec.ResourceClaims) > 0 && c.resources.readsDevices() {
		for i := range pod.Spec.ResourceClaims {
			traits = append(traits, c.devices(pod, deviceClaim(pod, &pod.Spec.ResourceClaims[i]), shared))
		}
	}
	return traits
}

// volumeClaim is the name of the claim that a volume comes from, "" if from none.
func volumeClaim(pod *corev1.Pod, volume *corev1.Volume) string {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return volume.PersistentVolumeClaim.ClaimName
	case volume.Ephemeral != nil:
		return pod.Name + "-" + volume.Name
	}
	return ""
}

// deviceClaim is the name of the claim that a pod uses, "" if it was not made yet.
func deviceClaim(pod *corev1.Pod, claim *corev1.PodResourceClaim) string {
	if claim.ResourceClaimName != nil {
		return *claim.ResourceClaimName
	}
	for _, made := range pod.Status.ResourceClaimStatuses {
		if made.Name == claim.Name && made.ResourceClaimName != nil {
			return *made.ResourceClaimName
		}
	}
	return ""
}

func (c *Claims) volume(namespace, name string, shared ClaimNames) ClaimTraits {
	volumes := c.cluster.SharedInformerFactory().Core().V1()
	claim, err := volumes.PersistentVolumeClaims().Lister().PersistentVolumeClaims(namespace).Get(name)
	if err != nil {
		return ClaimTraits{Missing: true}
	}
	traits := ClaimTraits{Volume: requestOf(claim)}
	if shared.volumes.Has(namespace+"/"+name) || claim.DeletionTimestamp != nil || c.usedByPods(namespace+"/"+name) {
		traits.Name = name
		return traits
	}
	if claim.Spec.VolumeName == "" {
		return traits
	}
	volume, err := volumes.PersistentVolumes().Lister().Get(claim.Spec.VolumeName)
	if err != nil || claim.Annotations[volumehelpers.AnnBindCompleted] == "" {
		traits.Name = name
		return traits
	}
	traits.Bound = boundTo(volume)
	return traits
}

func (c *Claims) usedByPods(key string) bool {
	lister := c.cluster.SnapshotSharedLister()
	return lister != nil && lister.StorageInfos().IsPVCUsedByPods(key)
}

func requestOf(claim *corev1.PersistentVolumeClaim) *volumeRequest {
	request := &volumeRequest{
		Class: volumehelpers.GetPersistentVolumeClaimClass(claim), Access: claim.Spec.AccessModes,
		Storage: claim.Spec.Resources.Requests.Storage().String(),
		Node:    claim.Annotations[volumehelpers.AnnSelectedNode],
	}
	if claim.Spec.Selector != nil {
		request.Selector = claim.Spec.Selector.String()
	}
	if claim.Spec.VolumeMode != nil {
		request.Mode = string(*claim.Spec.VolumeMode)
	}
	return request
}

// zoneLabels are the labels that the filter for zones of volumes reads.
var zoneLabels = []string{
	corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone,
	corev1.LabelFailureDomainBetaRegion,
}

func boundTo(volume *corev1.PersistentVolume) *boundVolume {
	source := &volume.Spec.PersistentVolumeSource
	bound := &boundVolume{Affinity: volume.Spec.NodeAffinity, Labels: map[string]string{}}
	for _, label := range zoneLabels {
		if value, ok := volume.Labels[label]; ok {
			bound.Labels[label] = value
		}
	}
	switch {
	case source.CSI != nil:
		bound.Driver = source.CSI.Driver
	case source.Local != nil, source.HostPath != nil, source.NFS != nil:
	default:
		bound.Source = source
	}
	return bound
}

func (c *Claims) devices(pod *corev1.Pod, name string, shared ClaimNames) ClaimTraits {
	manager := c.cluster.SharedDRAManager()
	if name == "" || manager == nil {
		return ClaimTraits{Missing: true}
	}
	claim, err := manager.ResourceClaims().Get(pod.Namespace, name)
	if err != nil {
		return ClaimTraits{Missing: true}
	}
	traits := ClaimTraits{Devices: &claim.Spec}
	inFlight := manager.ResourceClaims().GetPendingAllocation(claim.UID) != nil
	if shared.devices.Has(pod.Namespace+"/"+name) || claim.DeletionTimestamp != nil || inFlight ||
		len(claim.Status.ReservedFor) > 0 || len(claim.Status.Devices) > 0 {
		traits.Name = name
	}
	if claim.Status.Allocation != nil {
		traits.Allocated = &corev1.NodeSelector{}
		if selector := claim.Status.Allocation.NodeSelector; selector != nil {
			traits.Allocated = selector
		}
	}
	return traits
}

// ClaimNames are claims by namespace and name.
type ClaimNames struct {
	volumes, devices sets.Set[string]
}

// SharedClaims returns the claims that more than one of the pods use.
func SharedClaims(pods []*corev1.Pod) ClaimNames {
	found := ClaimNames{volumes: sets.New[string](), devices: sets.New[string]()}
	seen := ClaimNames{volumes: sets.New[string](), devices: sets.New[string]()}
	for _, pod := range pods {
		for i := range pod.Spec.Volumes {
			note(seen.volumes, found.volumes, pod.Namespace, volumeClaim(pod, &pod.Spec.Volumes[i]))
		}
		for i := range pod.Spec.ResourceClaims {
			note(seen.devices, found.devices, pod.Namespace, deviceClaim(pod, &pod.Spec.ResourceClaims[i]))
		}
	}
	return found
}

func note(seen, twice sets.Set[string], namespace, name string) {
	if name == "" {
		return
	}
	if key := namespace + "/" + name; seen.Has(key) {
		twice.Insert(key)
	} else {
		seen.Insert(key)
	}
}
