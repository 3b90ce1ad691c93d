package apply_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"packtree.dev/shared/freeport"
	"packtree.dev/shared/servingcerts"
)

// patience bounds waits that take a second or two.
const patience = 3 * time.Minute

// program serves webhooks for the API server, without a mounted Secret.
type program struct {
	*testing.T
	client.Client

	address string
	secret  *corev1.Secret
	caller  *admissionregistrationv1.ValidatingWebhookConfiguration
}

func startProgram(t *testing.T) *program {
	t.Helper()
	log.SetLogger(zap.New(zap.WriteTo(t.Output()), zap.UseDevMode(true)))
	port, err := freeport.Port()
	require.NoError(t, err)
	p := &program{T: t, address: fmt.Sprintf("127.0.0.1:%d", port)}
	served := servingcerts.NewServed()
	p.Client, err = client.New(config, client.Options{})
	require.NoError(t, err)
	p.install()
	mgr, err := ctrl.NewManager(p.account(), ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(
			webhook.Options{Host: "127.0.0.1", Port: port, TLSOpts: []func(*tls.Config){served.Configure}}),
	})
	require.NoError(t, err)
	ready, err := servingcerts.Start(mgr, servingcerts.Options{
		Mode: servingcerts.Auto, Served: served, Secret: client.ObjectKeyFromObject(p.secret), Service: "program",
		Webhooks: []rotator.WebhookInfo{{Name: p.caller.Name, Type: rotator.Validating}},
	})
	require.NoError(t, err)
	p.run(mgr)
	select {
	case <-ready:
	case <-time.After(patience):
		t.Fatal("there is no certificate")
	}
	// A program registers its webhooks now; here this makes the manager start the server.
	mgr.GetWebhookServer()
	return p
}

// install does what the chart does: it makes an empty Secret, and the configurations by which the API server finds
// webhooks.
func (p *program) install() {
	p.Helper()
	url := "https://" + p.address + "/validate"
	none := admissionregistrationv1.SideEffectClassNone
	p.secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "program-webhook-cert"}}
	p.caller = &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "program"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "program.packtree.dev", SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url},
		}},
	}
	for _, object := range []client.Object{p.secret, p.caller} {
		require.NoError(p, p.Create(p.Context(), object))
	}
}

// account gives a user the rights that the chart gives the program, and returns that user's configuration.
func (p *program) account() *rest.Config {
	p.Helper()
	name := metav1.ObjectMeta{Namespace: p.secret.Namespace, Name: "program"}
	for _, object := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name.Name}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{admissionregistrationv1.GroupName}, Verbs: []string{"get", "list", "watch", "update"},
			Resources: []string{"validatingwebhookconfigurations"},
		}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: name.Name}},
			RoleRef:  rbacv1.RoleRef{Kind: "ClusterRole", Name: name.Name}},
		&rbacv1.Role{ObjectMeta: name, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{p.secret.Name},
			Verbs: []string{"list", "watch", "update"},
		}}},
		&rbacv1.RoleBinding{ObjectMeta: name, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: name.Name}},
			RoleRef: rbacv1.RoleRef{Kind: "Role", Name: name.Name}},
	} {
		require.NoError(p, p.Create(p.Context(), object))
	}
	as := rest.CopyConfig(config)
	as.Impersonate.UserName = name.Name
	return as
}

func (p *program) run(mgr ctrl.Manager) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	p.Cleanup(func() {
		stop()
		assert.NoError(p, <-ended)
	})
}

// shown returns the program's certificate, for clients that trust the same authority as the API server.
func (p *program) shown() (string, error) {
	if err := p.Get(p.Context(), client.ObjectKeyFromObject(p.caller), p.caller); err != nil {
		return "", err
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(p.caller.Webhooks[0].ClientConfig.CABundle) {
		return "", errors.New("the API server trusts no authority yet")
	}
	connection, err := tls.Dial("tcp", p.address, &tls.Config{RootCAs: authorities, ServerName: "program.default.svc"})
	if err != nil {
		return "", err
	}
	defer func() { _ = connection.Close() }()
	return string(connection.ConnectionState().PeerCertificates[0].Raw), nil
}

func (p *program) eventually(what string, holds func() error) {
	p.Helper()
	var last error
	err := wait.PollUntilContextTimeout(p.Context(), 50*time.Millisecond, patience, true,
		func(context.Context) (bool, error) {
			last = holds()
			return last == nil, nil
		})
	require.NoError(p, err, "%s: %v", what, last)
}

// edit changes the data of the Secret.
func (p *program) edit(change func(data map[string][]byte)) {
	p.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { // The program may write it too.
		if err := p.Get(p.Context(), client.ObjectKeyFromObject(p.secret), p.secret); err != nil {
			return err
		}
		change(p.secret.Data)
		return p.Update(p.Context(), p.secret)
	})
	require.NoError(p, err)
}

func TestTheProgramServesWhatItsSecretSays(t *testing.T) {
	p := startProgram(t)
	var former string
	p.eventually("the API server can call the program", func() (err error) {
		former, err = p.shown()
		return err
	})
	for what, change := range map[string]func(map[string][]byte){
		"nothing is left of it":   func(data map[string][]byte) { clear(data) },
		"it does not fit its key": func(data map[string][]byte) { data[corev1.TLSPrivateKeyKey] = []byte("nonsense") },
		"it is not one, nor is its key": func(data map[string][]byte) {
			data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey] = []byte("a"), []byte("b")
		},
	} {
		p.edit(change)
		p.eventually(what+": another one is made and served", func() error {
			next, err := p.shown()
			switch {
			case err != nil:
				return err
			case next == former:
				return errors.New("the certificate is the former one still")
			}
			former = next
			return nil
		})
	}
}

func TestWithoutACertificateNobodyIsAnswered(t *testing.T) {
	config := &tls.Config{}
	servingcerts.NewServed().Configure(config)
	_, err := config.GetCertificate(nil)
	assert.EqualError(t, err, "there is no certificate yet")
}

func TestAnUnknownModeIsRefused(t *testing.T) {
	_, err := servingcerts.Start(nil, servingcerts.Options{Mode: "sometimes"})
	assert.EqualError(t, err, `certificate mode "sometimes": must be "auto" or "manual"`)
}
