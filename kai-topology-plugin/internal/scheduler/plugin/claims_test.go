package plugin

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

func TestClaimsThatTieAPod(t *testing.T) {
	volumeClaims := cache.NewIndexer(cache.MetaNamespaceKeyFunc,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	volumes := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for name, volume := range map[string]string{"shared": "anywhere", "local": "somewhere", "unbound": "",
		"lost": "gone"} {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		claim.Spec.VolumeName = volume
		require.NoError(t, volumeClaims.Add(claim))
	}
	somewhere := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "somewhere"}}
	somewhere.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{}
	for _, volume := range []*corev1.PersistentVolume{somewhere, {ObjectMeta: metav1.ObjectMeta{Name: "anywhere"}}} {
		require.NoError(t, volumes.Add(volume))
	}
	known := claims{corelisters.NewPersistentVolumeClaimLister(volumeClaims),
		corelisters.NewPersistentVolumeLister(volumes)}
	claimed := func(name string) corev1.VolumeSource {
		return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
	}
	for name, c := range map[string]struct {
		volume  *corev1.VolumeSource
		devices bool
		want    string
	}{
		"no claim":                           {},
		"a volume that is on every node":     {volume: &corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		"a volume that can be used anywhere": {volume: new(claimed("shared"))},
		"one that can be used somewhere":     {volume: new(claimed("local")), want: "volume claim local"},
		"one that is yet to be found":        {volume: new(claimed("unbound")), want: "volume claim unbound"},
		"one that is gone":                   {volume: new(claimed("lost")), want: "volume claim lost"},
		"a claim that is not there":          {volume: new(claimed("none")), want: "volume claim none"},
		"a volume that is made with the pod": {volume: &corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}},
			want: "volume v"},
		"devices, whatever the volume": {volume: new(claimed("shared")), devices: true, want: "device claim d"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}
			if c.volume != nil {
				pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: *c.volume}}
			}
			if c.devices {
				pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "d"}}
			}
			assert.Equal(t, c.want, known.tied(pod))
		})
	}
}
