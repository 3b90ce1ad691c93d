package wholepath_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/e2e-framework/pkg/types"
	"sigs.k8s.io/yaml"

	"packtree.dev/e2e/examples"
	"packtree.dev/e2e/live"
	"packtree.dev/e2e/suites/internal/suite"
	dynamov1alpha1 "packtree.dev/shared/api/dynamo/v1alpha1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	grovescheduler "packtree.dev/shared/api/grovescheduler/v1alpha1"
	schedulingv2alpha2 "packtree.dev/shared/api/scheduling/v2alpha2"
)

const badInput = "testdata/badinput"

// refusal is a case's want.yaml.
type refusal struct {
	// Offline is the program that refuses the input under render.
	Offline string `json:"offline"`
	// Says are parts that the refusal must have, both live and offline: the path, and what would be right.
	Says []string `json:"says"`
}

// TestRejected checks objects that the cluster must refuse, and the offline program with the same words.
func TestRejected(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(badInput, "*", "want.yaml"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases in %s: %v", badInput, err)
	}
	for _, file := range cases {
		namespace := envconf.RandomName("rejected", 16)
		directory := filepath.Dir(file)
		want := readRefusal(t, file)
		cluster.Test(t, features.New(filepath.Base(directory)).
			Setup(inNamespace(namespace)).
			Assess("the cluster refuses it with its path", refused(namespace, directory, want)).
			Assess("nothing is half-created", nothingIn(namespace)).
			Assess("the program refuses it offline", refusedOffline(directory, want)))
	}
}

func readRefusal(t *testing.T, file string) refusal {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want refusal
	if err := yaml.UnmarshalStrict(content, &want); err != nil {
		t.Fatal(err)
	}
	return want
}

func refused(namespace, directory string, want refusal) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		err := cluster.Apply(ctx, inputOf(t, directory, namespace)...)
		if err == nil {
			t.Fatalf("the cluster took %s", directory)
		}
		suite.MustSay(t, err.Error(), want.Says...)
		return ctx
	}
}

func nothingIn(namespace string) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		for _, list := range []client.ObjectList{
			&dynamov1alpha1.DynamoGraphDeploymentList{}, &grovev1alpha1.PodCliqueSetList{},
			&grovev1alpha1.PodCliqueList{},
			&grovescheduler.PodGangList{}, &schedulingv2alpha2.PodGroupList{}, &corev1.PodList{}, &corev1.ServiceList{},
		} {
			if err := cluster.List(ctx, list, client.InNamespace(namespace)); err != nil {
				t.Fatal(err)
			}
			raw, err := yaml.Marshal(list)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(raw, []byte("items: []")) && !bytes.Contains(raw, []byte("items: null")) {
				t.Errorf("%T is not empty:\n%s", list, raw)
			}
		}
		return ctx
	}
}

func refusedOffline(directory string, want refusal) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		input := filepath.Join(directory, "input.yaml")
		topology := filepath.Join(repository(t), "docs", "examples", examples.DefaultTopology)
		out, problems, code := program(ctx, t, want.Offline, "render", "-f", input, "-f", topology)
		if code != 1 || out != "" {
			t.Errorf("render must exit 1 and print nothing; it exits %d and prints:\n%s", code, out)
		}
		suite.MustSay(t, problems, append([]string{input + "[1]: "}, want.Says...)...)
		return ctx
	}
}

// TestPodGroupWithoutTopology: others write PodGroups too, so it is accepted, and must report itself what is wrong.
func TestPodGroupWithoutTopology(t *testing.T) {
	namespace := envconf.RandomName("reported", 16)
	objects := inputOf(t, filepath.Join(badInput, "podgroup-names-no-topology"), namespace)
	cluster.Test(t, features.New("podgroup-names-no-topology").
		Setup(inNamespace(namespace)).
		Assess("the cluster takes it", applied(objects)).
		Assess("the PodGroup says what is wrong, and its pod stays pending", saysInvalid(namespace, objects[0])).
		Teardown(removed(namespace, objects)))
}

func saysInvalid(namespace string, group *unstructured.Unstructured) types.StepFunc {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		worldOf(namespace).Until(ctx, t, live.Name(group)+" is Scheduled=False for the reason Invalid",
			func(ctx context.Context) (bool, string, error) {
				scheduled, err := cluster.Condition(ctx, group, schedulingv2alpha2.ConditionScheduled)
				if err != nil || scheduled == nil {
					return false, "it has no condition Scheduled", err
				}
				state := fmt.Sprintf("Scheduled=%s %s: %s", scheduled.Status, scheduled.Reason, scheduled.Message)
				return scheduled.Status == "False" && scheduled.Reason == "Invalid" &&
					strings.Contains(scheduled.Message, "no-such-topology"), state, nil
			})
		standing, err := cluster.Standing(ctx, namespace)
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range standing.Pods {
			if pod.Spec.NodeName != "" {
				t.Errorf("pod %s stands on %s", pod.Name, pod.Spec.NodeName)
			}
		}
		return ctx
	}
}

// TestOperatorConfigurationTypo: an operator that starts with half of its configuration would be worse than none.
func TestOperatorConfigurationTypo(t *testing.T) {
	config := filepath.Join(badInput, "operator-configuration-typo", "config.yaml")
	says := []string{"topologyAwareScheduling.level", `"levels"`}
	for name, arguments := range map[string][]string{
		"the operator does not start": {"--config", config, "--kubeconfig", os.DevNull},
		"the offline program does not start": {"render", "--config", config, "-f",
			filepath.Join(repository(t), "docs", "examples")},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			out, problems, code := program(ctx, t, "grove-operator", arguments...)
			if code < 1 {
				t.Errorf("grove-operator exits %d", code)
			}
			suite.MustSay(t, out+problems, says...)
		})
	}
}

func inputOf(t *testing.T, directory, namespace string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := examples.Objects(filepath.Join(directory, "input.yaml"), namespace)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func repository(t *testing.T) string {
	t.Helper()
	directory, err := examples.Directory()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(directory, "..", "..")
}

// program runs one of the built programs to its end.
func program(ctx context.Context, t *testing.T, name string, arguments ...string) (out, problems string, code int) {
	t.Helper()
	command := exec.CommandContext(ctx, filepath.Join(repository(t), "bin", name), arguments...)
	var written, complaints bytes.Buffer
	command.Stdout, command.Stderr = &written, &complaints
	if err := command.Run(); err != nil && command.ProcessState == nil {
		t.Fatalf("running %s (`make build` makes it): %v", name, err)
	}
	return written.String(), complaints.String(), command.ProcessState.ExitCode()
}
