package main_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/manifests"

	"packtree.dev/grove-operator/internal/configuration"
)

// lines are findings in printed form.
func lines(findings []manifests.Finding) string {
	var printed []string
	for _, finding := range findings {
		printed = append(printed, finding.String())
	}
	return strings.Join(printed, "\n")
}

const header = "apiVersion: operator.config.grove.io/v1alpha1\nkind: OperatorConfiguration\n"

func TestParseFillsInDefaults(t *testing.T) {
	config, findings := configuration.Parse("f", []byte(header+"server: {metrics: {}, healthProbes: {port: 1234}}"))
	require.Empty(t, findings, lines(findings))
	startup := config.StartupOrder
	resources := fmt.Sprint(startup.Resources.Requests.Cpu(), startup.Resources.Limits.Cpu(),
		startup.Resources.Requests.Memory(), startup.Resources.Limits.Memory())
	got := []any{
		config.RuntimeClientConnection.QPS, config.RuntimeClientConnection.Burst,
		config.LeaderElection.LeaseDuration.Duration.String(),
		config.Server.Webhooks.Port, config.Server.HealthProbes.Port, config.Server.Metrics.Port,
		string(config.Server.Webhooks.CertProvisionMode),
		*config.Controllers.PodGang.ConcurrentSyncs, *config.Controllers.PodClique.ConcurrentSyncs,
		string(config.LogLevel),
		string(config.LogFormat), *config.DefaultSchedulerName, startup.Image, resources,
	}
	want := []any{float32(100), int32(120), "15s", int32(9443), int32(1234), int32(8080), "auto", int32(2), int32(4),
		"info", "json", "kai-scheduler", configuration.DefaultStartupImage, "50m 50m 64Mi 64Mi"}
	assert.Empty(t, cmp.Diff(want, got), "defaults (-want +got)")
}

// TestTheStartupImageIsOfThisRelease: the chart names the image by its own version, and so must the program without a
// chart.
func TestTheStartupImageIsOfThisRelease(t *testing.T) {
	chart, err := os.ReadFile("../../../charts/grove-operator/Chart.yaml")
	require.NoError(t, err)
	_, tag, _ := strings.Cut(configuration.DefaultStartupImage, ":")
	assert.Contains(t, string(chart), fmt.Sprintf("appVersion: %q", tag))
}

func TestWhatIsWrittenEmptyStaysEmpty(t *testing.T) {
	config, findings := configuration.Parse("f",
		[]byte(header+"startupOrder: {resources: {}}\ndefaultSchedulerName: ''"))
	assert.Empty(t, findings, lines(findings))
	assert.Nil(t, config.StartupOrder.Resources.Requests)
	assert.Nil(t, config.StartupOrder.Resources.Limits)
	assert.Empty(t, *config.DefaultSchedulerName)
}

func TestParseNamesWhatIsWrong(t *testing.T) {
	on := func(levels string) string {
		return "topologyAwareScheduling: {enabled: true, levels: [" + levels + "]}"
	}
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"no kind": {"logLevel: info",
			[]string{"f[1]: OperatorConfiguration: apiVersion: is", "f[1]: OperatorConfiguration: kind: is"}},
		"an unknown field": {header + "topologyAwareSheduling: {enabled: true}",
			[]string{`topologyAwareSheduling: unknown field, did you mean "topologyAwareScheduling"?`}},
		"an unknown field deep down": {header + "server: {webhooks: {prt: 1}}",
			[]string{`server.webhooks.prt: unknown field, did you mean "port"?`}},
		"a field twice": {header + "logLevel: info\nlogLevel: debug", []string{`key "logLevel" already set`}},
		"a wrong type":  {header + "server: {webhooks: {port: high}}", []string{"server.webhooks.port"}},
		"no levels": {header + on(""),
			[]string{"topologyAwareScheduling.levels: Required value: topology awareness needs at least one level"}},
		"no level at all": {header + on("host"), []string{"topologyAwareScheduling.levels[0]: "}},
		"unknown domain": {header + on("{domain: racks, key: a/b}"),
			[]string{`topologyAwareScheduling.levels[0].domain: Invalid value: "racks": must be one of region, zone, ` +
				`datacenter, block, rack, host, numa; did you mean "rack"?`}},
		"duplicate domain and key": {
			header + on("{domain: rack, key: a/b}, {domain: rack, key: a/b}"),
			[]string{"topologyAwareScheduling.levels[1].domain: Duplicate",
				"topologyAwareScheduling.levels[1].key: Duplicate"},
		},
		"a key that is no label key": {header + on("{domain: rack, key: a b}"),
			[]string{"topologyAwareScheduling.levels[0].key: Invalid"}},
		"a key that is empty": {header + on("{domain: rack}"),
			[]string{"topologyAwareScheduling.levels[0].key: Invalid"}},
		"eight levels": {
			header +
				on(
					"{domain: numa, key: a/7}, {domain: region, key: a/1}, {domain: zone, key: a/2}, {domain: datacenter, key: "+
						"a/3}, {domain: block, key: a/4}, {domain: rack, key: a/5}, {domain: host, key: a/6}, {domain: zone, key: a/8}"),
			[]string{"topologyAwareScheduling.levels[7].domain: Duplicate"},
		},
		"a level below single hosts": {
			header + on("{domain: host, key: a/host}, {domain: rack, key: kubernetes.io/hostname}"),
			[]string{"topologyAwareScheduling.levels[1].key: Invalid",
				"no level can be below it but numa, and host is"},
		},
		"an init container that no pod could have": {
			header +
				"startupOrder: {image: 'a b', imagePullPolicy: Sometimes, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}",
			[]string{"startupOrder.image: Invalid", "startupOrder.imagePullPolicy: Unsupported",
				"startupOrder.resources.requests[cpu]: Invalid"},
		},
		"everything at once": {
			header + "logLevel: loud\nlogFormat: xml\nruntimeClientConnection: {qps: -1, burst: -1}\n" +
				"leaderElection: {leaseDuration: 1s, renewDeadline: 2s, retryPeriod: 3s, resourceLock: endpoints}\n" +
				"server: {webhooks: {port: 70000, certProvisionMode: magic}, metrics: {port: -1}, healthProbes: {port: " +
				"-1}}\ncontrollers: {podClique: {concurrentSyncs: 0}}\n" +
				"authorizer: {exemptServiceAccountUserNames: ['system:serviceaccount:n:a', alice]}",
			[]string{
				"logLevel: Unsupported", "logFormat: Unsupported", "runtimeClientConnection.qps: Invalid",
				"runtimeClientConnection.burst: Invalid",
				"leaderElection.leaseDuration: Invalid", "leaderElection.renewDeadline: Invalid",
				"leaderElection.resourceLock: Unsupported",
				"server.webhooks.port: Invalid", "server.webhooks.certProvisionMode: Unsupported",
				"server.metrics.port: Invalid",
				"authorizer.exemptServiceAccountUserNames[1]: Invalid",
				"server.healthProbes.port: Invalid", "controllers.podClique.concurrentSyncs: Invalid",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, findings := configuration.Parse("f", []byte(c.text))
			require.NotEmpty(t, findings, "accepted")
			for _, want := range c.want {
				assert.Contains(t, lines(findings), want)
			}
		})
	}
}
