package main

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	quota "packtree.dev/e2e/devcluster/kueue"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/kueue"
)

// queues is the file with both queues, in which gangs wait in turn.
//
//go:embed queues.yaml
var queues string

// queued measures what Kueue adds to the time of a gang: the same gangs come without Kueue, and then with it.
func (b *bench) queued(ctx context.Context) error {
	if err := b.Machine.Start(ctx, ours.program); err != nil {
		return err
	}
	plain, err := b.arrivals(ctx, "plain")
	if err != nil {
		return err
	}
	if err := b.clear(ctx, "plain"); err != nil {
		return err
	}
	if err := b.installKueue(ctx); err != nil {
		return err
	}
	counted, err := b.arrivals(ctx, countedRun)
	if err != nil {
		return err
	}
	added := make([]time.Duration, b.Queued)
	for i := range added {
		added[i] = counted[i] - plain[i]
	}
	b.add("without Kueue", plain)
	b.add("with Kueue", counted)
	b.add("added to a gang by Kueue", added)
	return b.Machine.Stop(ctx, ours.program)
}

// add reports times of gangs.
func (b *bench) add(scenario string, times []time.Duration) {
	slices.Sort(times)
	for name, at := range map[string]int{"median": len(times) / 2, "99 of 100": len(times) * 99 / 100} {
		b.measured(ours, scenario, "ms until bound, "+name, float64(times[at].Milliseconds()))
	}
}

// installKueue has Kueue run, with two queues that together have the GPUs of the cluster.
func (b *bench) installKueue(ctx context.Context) error {
	if err := quota.Install(ctx, b.Machine); err != nil {
		return err
	}
	half := strconv.Itoa(b.Nodes * gpusPerNode / 2)
	content := os.Expand(queues, func(string) string { return half })
	file := filepath.Join(b.Machine.Dir, "queues.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		return err
	}
	_, err := b.Kubectl(ctx, namespace, "apply", "-f", file)
	return err
}

// countedRun is the run in which Kueue counts the gangs.
const countedRun = "counted"

// arrivals has gangs of 2 to 16 pods come, and returns how long each took from the moment in which it could start until
// its last pod was bound. It can start when Kueue has admitted it or, where Kueue does not count, when all its pods are
// created.
func (b *bench) arrivals(ctx context.Context, run string) ([]time.Duration, error) {
	seen := &arrivals{can: map[string]time.Time{}, bound: map[string]time.Time{}, left: map[string]int{}}
	var all []workload
	for i := range b.Queued {
		size := 2 + i%15
		all = append(all, oneDomain(size, size))
		all[i].name = fmt.Sprintf("%s-%03d", run, i)
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	if err := b.observe(watching, run, seen); err != nil {
		return nil, err
	}
	tick := time.NewTicker(b.Every)
	defer tick.Stop()
	err := parallel(ctx, all, func(ctx context.Context, w workload) error {
		<-tick.C
		return b.arrive(ctx, run, w, seen)
	})
	if err != nil {
		return nil, err
	}
	var times []time.Duration
	err = b.until(ctx, "all gangs are bound", func(context.Context) (bool, string, error) {
		times = seen.times()
		return len(times) == len(all), fmt.Sprintf("%d of %d are", len(times), len(all)), nil
	})
	return times, err
}

// arrive creates a gang. In the run that is counted, gangs are in both queues in turn.
func (b *bench) arrive(ctx context.Context, run string, w workload, seen *arrivals) error {
	groups, pods := w.objects(w.name, ours)
	gang := groups[0].GetName()
	groups[0].GetLabels()[runLabel] = run
	for _, pod := range pods {
		pod.Labels[runLabel] = run
		if run == countedRun {
			pod.Labels[kueue.LabelQueue] = []string{"red", "blue"}[len(pods)%2]
			pod.Labels[kueue.LabelGroup] = gang
			pod.Annotations[kueue.AnnotationGroupSize] = strconv.Itoa(len(pods))
			pod.Annotations[kueue.AnnotationRole] = "worker"
		}
	}
	seen.expect(gang, len(pods))
	if err := b.submit(ctx, groups, pods); err != nil {
		return err
	}
	if run != countedRun {
		seen.start(gang)
	}
	return nil
}

// observe records admissions by Kueue and bindings until the context is done.
func (b *bench) observe(ctx context.Context, run string, seen *arrivals) error {
	_, bound := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: b.bindings(run), ObjectType: &corev1.Pod{}, Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(pod any) { seen.bind(pod.(*corev1.Pod).Annotations[scheduling.AnnotationPodGroupName]) },
		},
	})
	go bound.RunWithContext(ctx)
	cache.WaitForCacheSync(ctx.Done(), bound.HasSynced)
	if run != countedRun {
		return nil
	}
	kinds, err := dynamic.NewForConfig(b.Server)
	if err != nil {
		return err
	}
	admitted := dynamicinformer.NewDynamicSharedInformerFactory(kinds, 0)
	if _, err := admitted.ForResource(kueue.Workloads).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, object any) {
			workload := kueue.ReadWorkload(object.(*unstructured.Unstructured))
			if apimeta.IsStatusConditionTrue(workload.Status.Conditions, "Admitted") {
				seen.start(workload.Name)
			}
		},
	}); err != nil {
		return err
	}
	admitted.Start(ctx.Done())
	admitted.WaitForCacheSync(ctx.Done())
	return nil
}

// arrivals are the moments in which gangs could start and were bound, by their names.
type arrivals struct {
	sync.Mutex
	can, bound map[string]time.Time
	// left is how many pods are not bound.
	left map[string]int
}

func (a *arrivals) expect(gang string, pods int) {
	a.Lock()
	defer a.Unlock()
	a.left[gang] = pods
}

// start records that a gang can start, the first time.
func (a *arrivals) start(gang string) {
	a.Lock()
	defer a.Unlock()
	if a.can[gang].IsZero() {
		a.can[gang] = time.Now()
	}
}

func (a *arrivals) bind(gang string) {
	a.Lock()
	defer a.Unlock()
	if a.left[gang]--; a.left[gang] == 0 {
		a.bound[gang] = time.Now()
	}
}

// times are those of the gangs that could start and are bound, in the order of the gangs' names.
func (a *arrivals) times() (times []time.Duration) {
	a.Lock()
	defer a.Unlock()
	for _, gang := range slices.Sorted(maps.Keys(a.bound)) {
		if can, ok := a.can[gang]; ok {
			times = append(times, a.bound[gang].Sub(can))
		}
	}
	return times
}
