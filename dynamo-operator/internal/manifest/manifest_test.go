package manifest_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/dynamo-operator/internal/manifest"
)

func TestCovers(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Service)
		want   bool
	}{
		"the same":                           {func(*corev1.Service) {}, true},
		"what others have added":             {func(s *corev1.Service) { s.Spec.ClusterIP = "10.0.0.1"; s.Labels["other"] = "x" }, true},
		"a value that drifted":               {func(s *corev1.Service) { s.Spec.Selector["a"] = "c" }, false},
		"a value that is gone":               {func(s *corev1.Service) { s.Labels = nil }, false},
		"a default inside a list":            {func(s *corev1.Service) { s.Spec.Ports[0].NodePort = 30000 }, true},
		"an item that drifted":               {func(s *corev1.Service) { s.Spec.Ports[0].Port = 81 }, false},
		"an item too many":                   {func(s *corev1.Service) { s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Port: 1}) }, false},
		"an observed status is not compared": {func(s *corev1.Service) { s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "1.2.3.4"}} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			wanted, err := manifest.Of(service())
			if err != nil {
				t.Fatal(err)
			}
			standing := service()
			standing.TypeMeta = metav1.TypeMeta{} // As a cache hands it out.
			c.change(standing)
			if got, err := manifest.Covers(standing, wanted); got != c.want || err != nil {
				t.Errorf("got %v, %v; want %v", got, err, c.want)
			}
		})
	}
}

func TestQuantitiesAreComparedByValue(t *testing.T) {
	claim := func(size string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
			Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
			}},
		}
	}
	wanted, err := manifest.Of(claim("1024Gi"))
	if err != nil {
		t.Fatal(err)
	}
	if same, err := manifest.Covers(claim("1Ti"), wanted); !same || err != nil {
		t.Errorf("got %v, %v", same, err)
	}
}

func service() *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: "s", Labels: map[string]string{"l": "v"}},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"a": "b"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
}
