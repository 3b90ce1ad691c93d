package life_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	external "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metrics "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/e2e/suites/internal/suite"
)

const (
	cpuMetrics   = "/apis/metrics.k8s.io/v1beta1"
	queueMetrics = "/apis/external.metrics.k8s.io/v1beta1"
)

// loads is the source from which autoscalers read the load of pods, instead of metrics-server and an adapter: an API
// that the API server aggregates, with numbers that the suite sets. The autoscalers themselves are Kubernetes' own.
type loads struct {
	server *httptest.Server

	mu sync.Mutex
	// cpu are the milliseconds of work a second that the ready pods of a PodClique share, or the copies of a scaling
	// group; each pod of a copy does the same amount.
	cpu map[string]int64
	// queue is how many requests wait for a namespace.
	queue map[string]int64
}

func serveLoads() *loads {
	l := &loads{cpu: map[string]int64{}, queue: map[string]int64{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+cpuMetrics, answers(func(*http.Request) (any, error) {
		return resources("metrics.k8s.io/v1beta1",
			metav1.APIResource{Name: "pods", Kind: "PodMetrics", Namespaced: true, Verbs: []string{"get", "list"}}), nil
	}))
	mux.HandleFunc("GET "+cpuMetrics+"/namespaces/{namespace}/pods", answers(l.ofPods))
	mux.HandleFunc("GET "+queueMetrics, answers(func(*http.Request) (any, error) {
		return resources("external.metrics.k8s.io/v1beta1",
			metav1.APIResource{Name: "waiting", Kind: "ExternalMetricValueList", Namespaced: true,
				Verbs: []string{"get"}}), nil
	}))
	mux.HandleFunc("GET "+queueMetrics+"/namespaces/{namespace}/waiting", answers(l.ofQueue))
	l.server = httptest.NewTLSServer(mux)
	return l
}

func answers(answer func(*http.Request) (any, error)) http.HandlerFunc {
	return func(writer http.ResponseWriter, request *http.Request) {
		content, err := answer(request)
		if err != nil {
			http.Error(writer, err.Error(), http.StatusInternalServerError)
			return
		}
		writer.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(writer).Encode(content); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

func resources(version string, served metav1.APIResource) *metav1.APIResourceList {
	return &metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: version,
		APIResources: []metav1.APIResource{served},
	}
}

// ofPods shares the load of each PodClique among its ready pods.
func (l *loads) ofPods(request *http.Request) (any, error) {
	selector, err := labels.Parse(request.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, err
	}
	var pods corev1.PodList
	err = cluster.List(request.Context(), &pods, client.InNamespace(request.PathValue("namespace")),
		client.MatchingLabelsSelector{Selector: selector})
	if err != nil {
		return nil, err
	}
	all := make([]*corev1.Pod, len(pods.Items))
	for i := range pods.Items {
		all[i] = &pods.Items[i]
	}
	ready := sharersOf(all)
	list := &metrics.PodMetricsList{
		TypeMeta: metav1.TypeMeta{APIVersion: metrics.SchemeGroupVersion.String(), Kind: "PodMetricsList"},
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, pod := range all {
		if !suite.IsReady(pod) || pod.DeletionTimestamp != nil {
			continue
		}
		load, _ := loadOf(pod)
		used := *resource.NewMilliQuantity(l.cpu[load]/int64(len(ready[load])), resource.DecimalSI)
		list.Items = append(list.Items, metrics.PodMetrics{
			ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, Labels: pod.Labels},
			Timestamp:  metav1.Now(), Window: metav1.Duration{Duration: time.Second},
			Containers: []metrics.ContainerMetrics{
				{Name: pod.Spec.Containers[0].Name, Usage: corev1.ResourceList{corev1.ResourceCPU: used}},
			},
		})
	}
	return list, nil
}

// loadOf names the load of a pod, and its share: that of a pod of a PodClique, or of a copy of a scaling group.
func loadOf(pod *corev1.Pod) (load, sharer string) {
	if group, ok := pod.Labels["grove.io/podcliquescalinggroup"]; ok {
		return group, pod.Labels["grove.io/podcliquescalinggroup-replica-index"]
	}
	return pod.Labels["grove.io/podclique"], pod.Name
}

// sharersOf are the pods or copies that share each load: those with a ready pod.
func sharersOf(pods []*corev1.Pod) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for _, pod := range pods {
		if !suite.IsReady(pod) || pod.DeletionTimestamp != nil {
			continue
		}
		load, sharer := loadOf(pod)
		if all[load] == nil {
			all[load] = map[string]bool{}
		}
		all[load][sharer] = true
	}
	return all
}

func (l *loads) ofQueue(request *http.Request) (any, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &external.ExternalMetricValueList{
		TypeMeta: metav1.TypeMeta{APIVersion: external.SchemeGroupVersion.String(), Kind: "ExternalMetricValueList"},
		Items: []external.ExternalMetricValue{{
			MetricName: "waiting", Timestamp: metav1.Now(),
			Value: *resource.NewQuantity(l.queue[request.PathValue("namespace")], resource.DecimalSI),
		}},
	}, nil
}

// objects make the API server aggregate the API. There is no network behind Services, and a name is resolved on the API
// server's machine.
func (l *loads) objects() ([]*unstructured.Unstructured, error) {
	host, port, err := net.SplitHostPort(l.server.Listener.Addr().String())
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseInt(port, 10, 64)
	if err != nil {
		return nil, err
	}
	service := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": "loads", "namespace": metav1.NamespaceDefault},
		"spec":     map[string]any{"type": "ExternalName", "externalName": host},
	}}
	objects := []*unstructured.Unstructured{service}
	for _, group := range []string{"metrics.k8s.io", "external.metrics.k8s.io"} {
		objects = append(objects, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
			"metadata": map[string]any{"name": "v1beta1." + group},
			"spec": map[string]any{
				"group": group, "version": "v1beta1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100),
				"insecureSkipTLSVerify": true,
				"service": map[string]any{"name": "loads", "namespace": metav1.NamespaceDefault,
					"port": number},
			},
		}})
	}
	return objects, nil
}

// aggregate adds the API to the cluster's, and end removes it: an aggregated API that does not answer delays the
// deletion of every namespace.
func (l *loads) aggregate(ctx context.Context) error {
	objects, err := l.objects()
	if err != nil {
		return err
	}
	return cluster.Apply(ctx, objects...)
}

func (l *loads) end(ctx context.Context) error {
	objects, err := l.objects()
	if err == nil {
		err = cluster.Remove(ctx, objects...)
	}
	if err != nil {
		return fmt.Errorf("taking the loads away: %w", err)
	}
	l.server.Close()
	return nil
}
