package charts_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// others are the modules with kinds that the charts use on request. Their definitions are in their Go modules, which
// are pinned as in go.sum.
var others = []struct {
	module, sum, folder string
	files               []string
}{
	{
		"github.com/cert-manager/cert-manager@v1.21.2", "h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68=",
		"deploy/crds",
		[]string{"cert-manager.io_certificates.yaml", "cert-manager.io_issuers.yaml"},
	},
	{
		"github.com/prometheus-operator/prometheus-operator@v0.85.0", "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
		"example/prometheus-operator-crd",
		[]string{"monitoring.coreos.com_prometheusrules.yaml", "monitoring.coreos.com_servicemonitors.yaml"},
	},
}

// TestInstallWithEverything switches on everything that is off by default, validated by cert-manager's and the
// Prometheus operator's own kinds.
func TestInstallWithEverything(t *testing.T) {
	cluster := emptyCluster(t)
	for _, other := range others {
		folder := filepath.Join(downloaded(t, other.module, other.sum), filepath.FromSlash(other.folder))
		for _, file := range other.files {
			cluster.define(t, filepath.Join(folder, file))
		}
	}
	all := charts["packtree"].deployments
	everything := []string{
		"--namespace", namespace, "--values", filepath.Join(chartPath(t, "packtree"), "values-ha.yaml"),
		"--set", forEach("packtree",
			"monitoring.serviceMonitor.enabled=true,monitoring.serviceMonitor.interval=30s,monitoring.serviceMonitor.labels.a=b,"+
				"monitoring.alerts.enabled=true,monitoring.dashboard.enabled=true,networkPolicy.enabled=true", all),
		"--set", forEach("packtree", "webhook.certMode=cert-manager", withWebhooks),
		"--set",
		"kai-topology-plugin.monitoring.readers[0].name=prometheus,kai-topology-plugin.monitoring.readers[0].namespace=monitoring",
		"--set", "grove-operator.config.authorizer.enabled=true",
	}
	// Helm drops unknown fields silently.
	for _, object := range renderedBy(t, "packtree", everything...) {
		if group := object.GroupVersionKind().Group; group != "cert-manager.io" && group != "monitoring.coreos.com" {
			continue
		}
		strict := client.WithFieldValidation(cluster.client, metav1.FieldValidationStrict)
		if err := strict.Create(t.Context(), object, client.DryRunAll); err != nil {
			t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	mustHelm(t, cluster.kubeconfig, append([]string{"install", "packtree", chartPath(t, "packtree")}, everything...)...)
	cluster.deployments(t, all)
	for kind, want := range map[string]int{
		"monitoring.coreos.com/v1/ServiceMonitor": 4, "monitoring.coreos.com/v1/PrometheusRule": 4,
		"networking.k8s.io/v1/NetworkPolicy": 4,
		"policy/v1/PodDisruptionBudget":      4, "cert-manager.io/v1/Certificate": 6, "cert-manager.io/v1/Issuer": 6,
	} {
		parts := strings.Split(kind, "/")
		found := &metav1.PartialObjectMetadataList{
			TypeMeta: metav1.TypeMeta{APIVersion: parts[0] + "/" + parts[1], Kind: parts[2] + "List"},
		}
		require.NoError(t, cluster.client.List(t.Context(), found, client.InNamespace(namespace)))
		if len(found.Items) != want {
			t.Errorf("%d of %s, want %d", len(found.Items), kind, want)
		}
	}
	mustHelm(t, cluster.kubeconfig, "uninstall", "packtree", "--namespace", namespace)
}

// downloaded is the folder of a Go module.
func downloaded(t *testing.T, module, sum string) string {
	t.Helper()
	command := exec.Command("go", "mod", "download", "-json", module)
	command.Dir, command.Env = t.TempDir(), append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := command.Output()
	var got struct{ Dir, Sum, Error string }
	if problem := json.Unmarshal(out, &got); err != nil || problem != nil {
		t.Fatalf("downloading %s: %v: %s", module, errors.Join(err, problem), out)
	}
	if got.Sum != sum {
		t.Fatalf("%s has the sum %s, want %s", module, got.Sum, sum)
	}
	return got.Dir
}

// define installs the definition of a kind and waits until it is served.
func (i installation) define(t *testing.T, file string) {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	var definition apiextensionsv1.CustomResourceDefinition
	require.NoError(t, yaml.Unmarshal(content, &definition))
	require.NoError(t, i.client.Create(t.Context(), &definition))
	version := definition.Spec.Versions[0].Name
	list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{
		APIVersion: definition.Spec.Group + "/" + version, Kind: definition.Spec.Names.ListKind,
	}}
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		err := i.client.List(t.Context(), list)
		if err == nil {
			return
		}
		if !meta.IsNoMatchError(err) && time.Now().After(end) {
			t.Fatalf("%s is not served: %v", definition.Name, err)
		}
	}
}
