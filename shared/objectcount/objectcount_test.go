package objectcount

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var byPhase = Gauge{
	Name: "pods", Help: "Pods by phase.", Label: "phase", Known: []string{"Running", "Failed"},
	List: func() client.ObjectList { return &corev1.PodList{} },
	Stand: func(object runtime.Object) string {
		return string(object.(*corev1.Pod).Status.Phase)
	},
}

func pod(name string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name},
		Status: corev1.PodStatus{Phase: phase}}
}

func leading() <-chan struct{} {
	elected := make(chan struct{})
	close(elected)
	return elected
}

func TestObjectsAreCountedByHowTheyStandNow(t *testing.T) {
	server := fake.NewClientBuilder().WithObjects(pod("a", "Running"), pod("b", "Running"), pod("c", "Pending"),
		pod("d", "")).Build()
	counted := newCollector(byPhase, server, leading())
	expect(t, counted, `pods{phase="Failed"} 0`, `pods{phase="Pending"} 1`, `pods{phase="Running"} 2`)

	require.NoError(t, server.Delete(t.Context(), pod("c", "")))
	expect(t, counted, `pods{phase="Failed"} 0`, `pods{phase="Running"} 2`)
}

func TestWhoeverDoesNotLeadReportsNothing(t *testing.T) {
	server := fake.NewClientBuilder().WithObjects(pod("a", "Running")).Build()
	assert.Zero(t, testutil.CollectAndCount(newCollector(byPhase, server, make(chan struct{}))),
		"series are reported before the program leads")
}

func TestAKindThatCannotBeReadDoesNotBreakTheScrape(t *testing.T) {
	server := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("not installed")
		},
	}).Build()
	assert.Zero(t, testutil.CollectAndCount(newCollector(byPhase, server, leading())),
		"series are reported of what cannot be read")
}

func TestAConditionIsReportedByItsReason(t *testing.T) {
	conditions := []metav1.Condition{{Type: "Ready", Reason: "PodsNotReady"}}
	assert.Equal(t, "PodsNotReady", Reason(conditions, "Ready"))
	assert.Equal(t, Unjudged, Reason(nil, "Ready"), "reason of no condition")
}

func expect(t *testing.T, counted *collector, series ...string) {
	t.Helper()
	text := "# HELP pods Pods by phase.\n# TYPE pods gauge\n" + strings.Join(series, "\n") + "\n"
	assert.NoError(t, testutil.CollectAndCompare(counted, strings.NewReader(text)))
}
