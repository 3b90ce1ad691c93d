package kubectlpacktree

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"packtree.dev/kai-topology-plugin/internal/cli/live"
	"packtree.dev/shared/apiservertest"
)

func TestAgainstAPIServer(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "kubectl packtree against a real API server")
}

var (
	ctx     context.Context
	admin   client.Client
	cluster *apiservertest.Cluster
)

var _ = BeforeSuite(func() {
	var cancel context.CancelFunc
	ctx, cancel = context.WithCancel(context.Background())
	DeferCleanup(cancel)
	var err error
	cluster, err = apiservertest.Start(envtest.WebhookInstallOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(cluster.Stop)
	log.SetLogger(GinkgoLogr)
	admin, err = client.New(cluster.Config, client.Options{Scheme: clientgoscheme.Scheme})
	Expect(err).NotTo(HaveOccurred())
	Expect(admin.Create(ctx, chartRole())).To(Succeed())
})

// template matches what helm fills in.
var template = regexp.MustCompile(`(?m)^.*{{.*}}.*\n`)

// chartRole returns the ClusterRole that the chart installs.
func chartRole() *rbacv1.ClusterRole {
	GinkgoHelper()
	written, err := os.ReadFile("../../../../charts/kai-topology-plugin/templates/viewer.yaml")
	Expect(err).NotTo(HaveOccurred())
	documents := utilyaml.NewYAMLToJSONDecoder(bytes.NewReader(template.ReplaceAll(written, nil)))
	role := &rbacv1.ClusterRole{}
	Expect(documents.Decode(role)).To(Succeed())
	Expect(role.Name).To(Equal(live.ViewerRole))
	for _, rule := range role.Rules {
		Expect(rule.Verbs).To(HaveEach(BeElementOf("get", "list", "watch")), "the plugin only reads")
	}
	return role
}

// userWith returns the kubeconfig of a new user with only these rights.
func userWith(name string, rules ...rbacv1.PolicyRule) (kubeconfig string) {
	GinkgoHelper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "of-" + name}, Rules: rules}
	Expect(admin.Create(ctx, role)).To(Succeed())
	return userOf(name, role.Name)
}

func userOf(name, role string) (kubeconfig string) {
	GinkgoHelper()
	Expect(admin.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	})).To(Succeed())
	untilMay(name, role)
	user, err := cluster.Environment.AddUser(envtest.User{Name: name}, nil)
	Expect(err).NotTo(HaveOccurred())
	access, err := user.KubeConfig()
	Expect(err).NotTo(HaveOccurred())
	kubeconfig = filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(os.WriteFile(kubeconfig, access, 0o600)).To(Succeed())
	return kubeconfig
}

// untilMay waits until a user may do what a role allows: the API server hears a moment later what it has stored.
func untilMay(user, role string) {
	GinkgoHelper()
	var allows rbacv1.ClusterRole
	Expect(admin.Get(ctx, client.ObjectKey{Name: role}, &allows)).To(Succeed())
	for _, rule := range allows.Rules {
		for _, resource := range rule.Resources {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
					Group: rule.APIGroups[0], Resource: resource, Verb: rule.Verbs[0],
				},
			}}
			Eventually(func() (bool, error) {
				asked := review.DeepCopy()
				err := admin.Create(ctx, asked)
				return asked.Status.Allowed, err
			}).WithTimeout(patience).Should(BeTrue(), "%s may %s %s", user, rule.Verbs[0], resource)
		}
	}
}

// packtree runs the plugin.
func packtree(kubeconfig string, args ...string) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	command := Command()
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetOut(&out)
	command.SetErr(&errs)
	command.SetArgs(append(args, "--kubeconfig", kubeconfig, "--cache-dir",
		filepath.Join(filepath.Dir(kubeconfig), "cache")))
	err = command.ExecuteContext(ctx)
	return out.String(), errs.String(), err
}
