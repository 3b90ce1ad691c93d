package deployments

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

const root = "/state/components/grove-operator"

// deployment has the given lines as further fields of the container and of the pod.
func deployment(t *testing.T, container, pod string) *appsv1.Deployment {
	t.Helper()
	text := `
metadata: {name: grove-operator, namespace: packtree-system}
spec:
  template:
    spec:
      serviceAccountName: grove
` + indent(6, pod) + `
      containers:
        - name: grove-operator
          args: [--config=/etc/grove-operator/config.yaml, --log-level=info, /etc/grove-operator]
` + indent(10, container)
	d := &appsv1.Deployment{}
	if err := yaml.UnmarshalStrict([]byte(text), d); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return d
}

func indent(by int, text string) string {
	prefix := strings.Repeat(" ", by)
	return prefix + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+prefix)
}

const probe = `
ports: [{name: health, containerPort: 8081}]
readinessProbe: {httpGet: {path: /readyz, port: health}}
`

func TestADeploymentBecomesACommand(t *testing.T) {
	got, err := Translate(deployment(t, probe+`
env:
  - {name: PLAIN, value: as it is}
  - {name: NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
  - {name: ACCOUNT, valueFrom: {fieldRef: {fieldPath: spec.serviceAccountName}}}
volumeMounts:
  - {name: config, mountPath: /etc/grove-operator}
  - {name: cert, mountPath: `+root+`/certs}
  - {name: scratch, mountPath: /tmp}
`, `
volumes:
  - {name: config, configMap: {name: grove-config}}
  - {name: cert, secret: {secretName: grove-cert}}
  - {name: scratch, emptyDir: {}}
`), root)
	require.NoError(t, err)
	want := Process{
		Args: []string{"--config=" + root + "/etc/grove-operator/config.yaml", "--log-level=info", root +
			"/etc/grove-operator"},
		Env:            []string{"PLAIN=as it is", "NAMESPACE=packtree-system", "ACCOUNT=grove"},
		ServiceAccount: "grove",
		Health:         "http://127.0.0.1:8081/readyz",
		Mounts: []Mount{
			{Directory: root + "/etc/grove-operator", ConfigMap: "grove-config"},
			{Directory: root + "/certs", Secret: "grove-cert"},
			{Directory: root + "/tmp"},
		},
	}
	assert.Empty(t, cmp.Diff(want, got))
}

func TestOnlyThePathItselfIsRelocated(t *testing.T) {
	args := []string{"--a=/etc/x", "--b=/etc/x/y=z", "--c=/etc/xy", "--d=http://h/etc/x", "/etc/x/f", "--e"}
	want := []string{"--a=/new", "--b=/new/y=z", "--c=/etc/xy", "--d=http://h/etc/x", "/new/f", "--e"}
	assert.Empty(t, cmp.Diff(want, relocate(args, "/etc/x", "/new")))
}

func TestHealthIsTheReadinessProbe(t *testing.T) {
	for probe, want := range map[string]string{
		`readinessProbe: {httpGet: {path: /readyz, port: 10259, scheme: HTTPS}}`: "https://127.0.0.1:10259/readyz",
		`readinessProbe: {httpGet: {path: /readyz, port: 80}}`:                   "http://127.0.0.1:80/readyz",
	} {
		got, err := Translate(deployment(t, probe, ""), root)
		if err != nil || got.Health != want {
			t.Errorf("%s: got %q, %v; want %q", probe, got.Health, err, want)
		}
	}
}

func TestWhatOnlyAPodCanHaveIsRefused(t *testing.T) {
	const mounted = "volumeMounts: [{name: v, mountPath: /v}]"
	for name, c := range map[string]struct{ container, pod, want string }{
		"an init container": {probe, "initContainers: [{name: i}]", "1 init containers"},
		"a host path": {probe + mounted, "volumes: [{name: v, hostPath: {path: /}}]",
			"volume v is neither"},
		"a part of a ConfigMap": {probe + mounted,
			"volumes: [{name: v, configMap: {name: c, items: [{key: a, path: b}]}}]", "volume v is neither"},
		"a part of a mount": {probe + "volumeMounts: [{name: v, mountPath: /v, subPath: s}]",
			"volumes: [{name: v, emptyDir: {}}]", "subPath"},
		"a volume that is not": {probe + mounted, "volumes: []", "no volume v"},
		"an address of the pod": {probe + "env: [{name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]",
			"", "variable IP"},
		"no readiness probe":          {"ports: []", "", "no readiness probe"},
		"a probe without a port":      {"readinessProbe: {httpGet: {path: /, port: health}}", "", `no port "health"`},
		"a probe that runs a command": {"readinessProbe: {exec: {command: [x]}}", "", "no readiness probe"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Translate(deployment(t, c.container, c.pod), root)
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "Deployment grove-operator") {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}
