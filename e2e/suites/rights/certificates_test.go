package rights_test

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"packtree.dev/e2e/suites/internal/suite"
)

// allGoes deletes everything, and changes a topology that is no longer used.
func (w *world) allGoes(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	return suite.AllOf(
		w.gone("dgd", "--all"), w.gone("pcs", "--all"), w.gone("job", "--all"), w.gone("pod", "--all"),
		w.Kubectl("patch", "clustertopology", "rights", "--type=json",
			`--patch=[{"op":"remove","path":"/spec/levels/2"}]`),
		w.untilNeeded(func(context.Context, *testing.T, int) {}, "grove-operator: delete topologies",
			"grove-operator: delete role", "grove-operator: delete serviceaccounts"),
		w.gone("clustertopology", "rights"),
	)(ctx, t, config)
}

// keepsItsCertificates makes the programs make their own certificates, and switches topologies off in grove-operator.
// Webhooks are not called: the certificates are for the Services, which lead nowhere on this machine.
func (w *world) keepsItsCertificates(ctx context.Context, t *testing.T, config *envconf.Config) context.Context {
	changed := map[string]map[string]any{scheduler: cluster.Options.Values[scheduler]}
	steps := []step{}
	for _, program := range []string{dynamoOperator, groveOperator, podgrouper} {
		secret := program + "-own-certificate"
		changed[program] = map[string]any{"webhook": values{"certMode": "auto", "secretName": secret, "caBundle": ""}}
		steps = append(steps, w.isTrusted(program, secret))
	}
	changed[groveOperator]["config"] = values{"topologyAwareScheduling": values{"enabled": false}}
	stop := w.refreshes(ctx, dynamoOperator, groveOperator, podgrouper)
	defer stop()
	w.Must(ctx, t, cluster.Machine.Upgrade(ctx, changed))
	return suite.AllOf(steps...)(ctx, t, config)
}

// refreshes updates the programs' mounted Secrets, as kubelets do, until it is stopped.
func (w *world) refreshes(ctx context.Context, programs ...string) (stop func()) {
	refreshing, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for refreshing.Err() == nil {
			for _, program := range programs {
				// Between two releases there may be nothing to mount; the next try follows at once.
				_ = cluster.Machine.Refresh(refreshing, program)
			}
			select {
			case <-refreshing.Done():
			case <-time.After(time.Second):
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// isTrusted waits until the API server has the authority of the certificate that a program has made for itself.
func (w *world) isTrusted(program, secret string) step {
	configurations := "validatingwebhookconfiguration"
	if program != podgrouper {
		configurations += ",mutatingwebhookconfiguration"
	}
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		w.Until(ctx, t, program+" has made the API server trust it", func(ctx context.Context) (bool, string, error) {
			authority, err := cluster.Kubectl(ctx, systemNamespace, "get", "secret", secret,
				`-o=jsonpath={.data.ca\.crt}`)
			if err != nil || authority == "" {
				return false, "there is no authority yet", err
			}
			if _, err := base64.StdEncoding.DecodeString(authority); err != nil {
				return false, "", err
			}
			said, err := cluster.Kubectl(ctx, systemNamespace, "get", configurations,
				"--selector=app.kubernetes.io/name="+program,
				`-o=jsonpath={range .items[*]}{range .webhooks[*]}{.clientConfig.caBundle}{"\n"}{end}{end}`)
			if err != nil {
				return false, "", err
			}
			lines := strings.Fields(said)
			for _, line := range lines {
				if line != authority {
					return false, "a webhook has another authority", nil
				}
			}
			return len(lines) > 0, "no webhook has an authority", nil
		})
		return ctx
	}
}
