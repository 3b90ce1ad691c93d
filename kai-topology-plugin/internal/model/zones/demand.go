package zones

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"

	"packtree.dev/kai-topology-plugin/internal/model/nodes"
)

// Demand is what a pod, or pods that are to share one zone, ask of zones. It is never changed.
type Demand struct {
	// containers are the containers that request anything that a kubelet aligns, in the order of admission.
	containers []part
	// whole is one part, the pod as a whole. Pods in one zone have only that.
	whole []part
	// one is set for pods in one zone: zone, if that is set.
	one  bool
	zone string
}

// part is what a kubelet takes from one mask of zones.
type part struct {
	// ends is set for an init container: what it takes is there for later containers of its pod.
	ends    bool
	amounts []amount
}

// amount is at most one more than most. Devices come first, then all by name.
type amount struct {
	name   string
	device bool
	value  int64
}

// DemandOf returns nil for a pod that asks for nothing that a kubelet aligns.
func DemandOf(pod *corev1.Pod) *Demand {
	containers := partsOf(pod)
	if len(containers) == 0 {
		return nil
	}
	d := &Demand{containers: containers, whole: containers}
	if len(containers) > 1 || containers[0].ends {
		d.whole = []part{{amounts: sum(containers)}}
	}
	return d
}

// InOneZone is the demand of one or more pods that all need the same zone; never nil.
func InOneZone(pods ...*corev1.Pod) *Demand {
	var all []part
	for _, pod := range pods {
		all = append(all, part{amounts: sum(partsOf(pod))})
	}
	whole := []part{{amounts: sum(all)}}
	return &Demand{containers: whole, whole: whole, one: true}
}

// In is InOneZone for a given zone by name (others of the group are there already).
func (d *Demand) In(zone string) *Demand {
	return &Demand{containers: d.whole, whole: d.whole, one: true, zone: zone}
}

// String is equal for demands that are alike, and is words for a sentence: "2 nvidia.com/gpu and 16 cpu in one NUMA
// zone".
func (d *Demand) String() string {
	words := make([]string, len(d.containers))
	for i := range d.containers {
		words[i] = d.containers[i].String()
	}
	where := " aligned by NUMA zone"
	if d.one {
		where = " in one NUMA zone"
	}
	if d.zone != "" {
		where = " in NUMA zone " + d.zone
	}
	return strings.Join(words, ", then ") + where
}

func (p *part) String() string {
	words := make([]string, len(p.amounts))
	for i, amount := range p.amounts {
		quantity := resource.NewQuantity(amount.value, resource.DecimalSI)
		if amount.name == string(corev1.ResourceCPU) {
			quantity = resource.NewMilliQuantity(amount.value, resource.DecimalSI)
		} else if isMemory(corev1.ResourceName(amount.name)) {
			quantity.Format = resource.BinarySI
		}
		words[i] = quantity.String() + " " + amount.name
	}
	text := "nothing"
	if last := len(words) - 1; last >= 0 {
		text = strings.Join(append(words[:max(last-1, 0)], strings.Join(words[max(last-1, 0):], " and ")), ", ")
	}
	if p.ends {
		text = "at first " + text
	}
	return text
}

// partsOf returns the containers of a pod that ask for anything aligned, init containers first. A kubelet pins no CPUs
// and memory to pods with resources of their own, unless an alpha feature of Kubernetes is on.
func partsOf(pod *corev1.Pod) (parts []part) {
	pinned := qos.GetPodQOS(pod) == corev1.PodQOSGuaranteed && !resourcehelper.IsPodLevelResourcesSet(pod)
	for i := range pod.Spec.InitContainers {
		container := &pod.Spec.InitContainers[i]
		sidecar := container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
		if amounts := aligned(container, pinned); len(amounts) > 0 {
			parts = append(parts, part{ends: !sidecar, amounts: amounts})
		}
	}
	for i := range pod.Spec.Containers {
		if amounts := aligned(&pod.Spec.Containers[i], pinned); len(amounts) > 0 {
			parts = append(parts, part{amounts: amounts})
		}
	}
	return parts
}

// aligned returns what the kubelet's managers of devices and, for pods that are pinned, of CPUs and memory look at.
func aligned(container *corev1.Container, pinned bool) []amount {
	amounts := make([]amount, 0, len(container.Resources.Requests))
	for name, quantity := range container.Resources.Requests {
		value, device := valueOf(name, quantity), nodes.IsDevice(name)
		whole := name == corev1.ResourceCPU && (value%1000 == 0 || value > most)
		if value > 0 && (device || pinned && (whole || isMemory(name))) {
			amounts = append(amounts, amount{string(name), device, value})
		}
	}
	slices.SortFunc(amounts, compare)
	return amounts
}

func compare(a, b amount) int {
	if a.device != b.device {
		if a.device {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.name, b.name)
}

// sum is what containers take together: the most that any that ends takes beside those before it that stay, or what all
// that stay take.
func sum(parts []part) []amount {
	if len(parts) == 1 {
		return parts[0].amounts
	}
	var total, peak []amount
	for i := range parts {
		for _, asked := range parts[i].amounts {
			staying := of(&total, asked)
			if parts[i].ends {
				atOnce := of(&peak, asked)
				*atOnce = max(*atOnce, min(*staying+asked.value, most+1))
			} else {
				*staying = min(*staying+asked.value, most+1)
			}
		}
	}
	for _, high := range peak {
		value := of(&total, high)
		*value = max(*value, high.value)
	}
	slices.SortFunc(total, compare)
	return total
}

// of returns the amount of the same resource, which it adds if it is missing.
func of(amounts *[]amount, like amount) *int64 {
	for i := range *amounts {
		if (*amounts)[i].name == like.name {
			return &(*amounts)[i].value
		}
	}
	*amounts = append(*amounts, amount{name: like.name, device: like.device})
	return &(*amounts)[len(*amounts)-1].value
}
