package zones_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/zones"
)

func benchmarked(b *testing.B) (*zones.Node, []*corev1.Pod) {
	n := node(b, "single-numa-node container", "4 gpu, 64 cpu, 512Gi memory", "4 gpu, 64 cpu, 512Gi memory")
	pods := make([]*corev1.Pod, 8)
	for i := range pods {
		pods[i] = pod(fmt.Sprint(i), "1 gpu, 8 cpu, 64Gi memory")
		pods[i].Status.QOSClass = corev1.PodQOSGuaranteed
	}
	return n, created(pods...)
}

// BenchmarkRoom asks for the room of one container on a node of two zones, half full.
func BenchmarkRoom(b *testing.B) {
	n, pods := benchmarked(b)
	u, demand := n.Usage(pods[:4], nil), zones.DemandOf(pods[4])
	b.ReportAllocs()
	for b.Loop() {
		if u.Room(demand, 64) != 4 {
			b.Fatal("not four")
		}
	}
}

// BenchmarkRoomOfContainers is BenchmarkRoom for two containers, which are tried pod by pod.
func BenchmarkRoomOfContainers(b *testing.B) {
	n, pods := benchmarked(b)
	u, demand := n.Usage(pods[:4], nil), zones.DemandOf(pod("p", "1 gpu", "1 gpu"))
	b.ReportAllocs()
	for b.Loop() {
		if u.Room(demand, 64) != 2 {
			b.Fatal("not two")
		}
	}
}

// BenchmarkUsage counts eight pods on a node.
func BenchmarkUsage(b *testing.B) {
	n, pods := benchmarked(b)
	b.ReportAllocs()
	for b.Loop() {
		n.Usage(pods, nil)
	}
}

// BenchmarkUsageKnown counts eight pods with known zones.
func BenchmarkUsageKnown(b *testing.B) {
	n, pods := benchmarked(b)
	u := n.Usage(pods, nil)
	b.ReportAllocs()
	for b.Loop() {
		n.Usage(pods, u.HeldBy)
	}
}

// BenchmarkNever judges an empty node.
func BenchmarkNever(b *testing.B) {
	n, pods := benchmarked(b)
	demand := zones.InOneZone(pods[:2]...)
	b.ReportAllocs()
	for b.Loop() {
		if n.Never(demand) != "" {
			b.Fatal("never")
		}
	}
}
