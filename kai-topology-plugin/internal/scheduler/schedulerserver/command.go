// Package schedulerserver is kube-scheduler with our plugin in its registry.
package schedulerserver

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/component-base/metrics"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of client-go
	_ "k8s.io/component-base/metrics/prometheus/version"  // metric kubernetes_build_info
	"k8s.io/component-base/term"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/scheduler/gangfailures"
	"packtree.dev/kai-topology-plugin/internal/scheduler/plugin"
	"packtree.dev/shared/version"
)

// Command returns the root command, to which the program adds the offline subcommands. Without a subcommand it runs the
// scheduler until the process gets a signal to stop.
func Command() *cobra.Command {
	quietNominations()
	opts := options.NewOptions()
	command := &cobra.Command{
		Use:   "kai-topology-plugin",
		Short: "kube-scheduler that binds gangs all or nothing, packed into topology domains",
		Long: `kai-topology-plugin is kube-scheduler with one more plugin: pods that belong to a PodGroup are planned
together, bound all or nothing, and stand in the topology domains that the PodGroup asks for. Pods without a PodGroup
are scheduled as kube-scheduler does. It takes the flags and the configuration file of kube-scheduler.

Subcommands:
  place           decide PodGroups from manifests, without a cluster
  check           verify an answer of place against the manifests alone
  simulate        run a stream of gangs in virtual time
  support-bundle  dump a cluster for place, without the commands and environments of pods`,
		Example: "  kai-topology-plugin --config config.yaml --kubeconfig kubeconfig\n  cat *.yaml | " +
			"kai-topology-plugin place -f - -o tree",
		Version:      version.String(),
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(command.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return run(ctx, command, opts)
		},
	}
	command.SetContext(context.Background())
	bindFlags(command, opts)
	return command
}

// bindFlags gives the root command, and only it, the flags of kube-scheduler.
func bindFlags(command *cobra.Command, opts *options.Options) {
	command.SetGlobalNormalizationFunc(cliflag.WordSepNormalizeFunc)
	global := opts.Flags.FlagSet("global")
	globalflag.AddGlobalFlags(global, command.Name(), logs.SkipLoggingConfigurationFlags())
	// Ours comes first: a library of kube-scheduler would put in one that prints the version of Kubernetes.
	global.Bool("version", false, "print the version and quit")
	for _, flags := range opts.Flags.FlagSets {
		command.Flags().AddFlagSet(flags)
	}
	columns, _, err := term.TerminalSize(command.OutOrStdout())
	if err != nil {
		columns = 0 // Not a terminal: flags are not wrapped.
	}
	usage, help := command.UsageFunc(), command.HelpFunc()
	cliflag.SetUsageAndHelpFunc(command, *opts.Flags, columns)
	sectionedUsage, sectionedHelp := command.UsageFunc(), command.HelpFunc()
	command.SetUsageFunc(func(c *cobra.Command) error {
		if c.HasParent() {
			return usage(c)
		}
		return sectionedUsage(c)
	})
	command.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c.HasParent() {
			help(c, args)
			return
		}
		sectionedHelp(c, args)
	})
}

func run(ctx context.Context, command *cobra.Command, opts *options.Options) error {
	logs.InitLogs()
	defer logs.FlushLogs()
	if err := suitAPIServer(ctx, opts, command.Flags()); err != nil {
		return err
	}
	if err := opts.ComponentGlobalsRegistry.Set(); err != nil {
		return err
	}
	gates := opts.ComponentGlobalsRegistry.FeatureGateFor(basecompatibility.DefaultKubeComponent)
	if err := logsapi.ValidateAndApply(opts.Logs, gates); err != nil {
		return err
	}
	if features := opts.ComponentGlobalsRegistry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent); features.
		EmulationVersion().LessThan(features.BinaryVersion()) {
		klog.InfoS("Has the features of an older Kubernetes: that of the API server, or of --emulated-version",
			"kubernetes", features.EmulationVersion())
	}
	cliflag.PrintFlags(command.Flags())

	remove, err := preferKubeconfigFlag(opts)
	if err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(opts.Metrics, metrics.NewOptions()) {
		// Else kube-scheduler looks into a file without a name, and complains that it is empty.
		opts.Metrics = nil
	}
	leading := make(chan struct{})
	var conditions *gangfailures.Conditions
	factory, marks, queue := plugin.Factory(leading, func(pod *corev1.Pod, condition *corev1.PodCondition) {
		conditions.Set(pod, condition)
	})
	config, scheduler, err := app.Setup(ctx, opts, app.WithPlugin(plugin.Name, factory))
	remove()
	if err != nil {
		return err
	}
	scheduler.SchedulingQueue = queue(scheduler.SchedulingQueue)
	announceFirstPod(scheduler, leading)
	conditions = gangfailures.NewConditions(config.Client, config.InformerFactory.Core().V1().Pods().Lister())
	go conditions.Run(ctx)
	scheduler.FailureHandler = gangfailures.Handler(scheduler.FailureHandler, conditions, marks)
	err = app.Run(ctx, config, scheduler)
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil // Stopped on request, which kube-scheduler reports as an error.
	}
	return err
}

// announceFirstPod closes leading when the scheduler first asks for a pod. It does so only as the leader, and there is
// no other sign of its election.
func announceFirstPod(scheduler *scheduler.Scheduler, leading chan<- struct{}) {
	next, announce := scheduler.NextPod, sync.OnceFunc(func() { close(leading) })
	scheduler.NextPod = func(logger klog.Logger) (*framework.QueuedPodInfo, error) {
		announce()
		return next(logger)
	}
}
