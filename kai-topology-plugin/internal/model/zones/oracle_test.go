package zones_test

import (
	"flag"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/model/zones"
)

var cases = flag.Int("cases", 10_000, "nodes and pods that are compared with the model")

// model is the kubelet's rule, written down without any thought of speed: every resource has a list of hints, every
// mask of zones is tried, and a mask is a number.
type model struct {
	single     bool
	size, free []map[string]int64
	// left is what init containers of the pod leave, by mask, and tied the zones of it.
	left map[int]map[string]int64
	tied map[string]int
	// alone and groups are the zones with memory of pods of one zone, and the masks of those of several.
	alone  int
	groups []int
}

// container is what one container asks for.
type container struct {
	init bool
	asks map[string]int64
}

func width(mask int) int { return bits.OnesCount(uint(mask)) }

func total(mask int, zones []map[string]int64, resource string) (sum int64) {
	for zone := range zones {
		if mask>>zone&1 == 1 {
			sum += zones[zone][resource]
		}
	}
	return sum
}

// hints tells the masks that can give an amount and are as narrow as any that could on an empty node.
func (m *model) hints(resource string, amount int64) []bool {
	narrowest, hints := len(m.size), make([]bool, 1<<len(m.size))
	for mask := 1; mask < 1<<len(m.size); mask++ {
		if total(mask, m.size, resource) >= amount {
			narrowest = min(narrowest, width(mask))
		}
		available := total(mask, m.free, resource)
		if resource == "memory" {
			if !m.joins(mask) {
				continue
			}
			available += m.left[mask][resource]
		} else {
			if m.tied[resource]&^mask != 0 {
				continue
			}
			for _, left := range m.left {
				available += left[resource]
			}
		}
		hints[mask] = available >= amount
	}
	for mask := range hints {
		hints[mask] = hints[mask] && width(mask) == narrowest
	}
	return hints
}

// joins reports whether the memory manager has no zone of the mask in use for anything else.
func (m *model) joins(mask int) bool {
	for _, group := range m.groups {
		if group&mask != 0 && group != mask {
			return false
		}
	}
	return width(mask) == 1 || mask&m.alone == 0
}

// admit returns the mask of each container, false if one has none.
func (m *model) admit(containers []container) (masks []int, ok bool) {
	m.left, m.tied = map[int]map[string]int64{}, map[string]int{}
	for _, c := range containers {
		best, hints := 0, [][]bool{}
		for resource, amount := range c.asks {
			hints = append(hints, m.hints(resource, amount))
		}
		for mask := 1; mask < 1<<len(m.size); mask++ {
			fits := !m.single || width(mask) == 1
			for _, preferred := range hints {
				fits = fits && preferred[mask]
			}
			if fits && (best == 0 || width(mask) < width(best)) {
				best = mask
			}
		}
		if best == 0 {
			return nil, false
		}
		masks = append(masks, best)
		m.take(best, c)
	}
	return masks, true
}

// take takes what a container asks for. Nothing says how several zones divide it: all that they have free is counted, and
// nothing of what an init container leaves there once a part of it is used.
func (m *model) take(mask int, c container) {
	for resource, amount := range c.asks {
		more, taken, remains := amount, int64(0), -amount
		for other, left := range m.left {
			if resource == "memory" && other != mask {
				continue
			}
			remains += left[resource]
			reused := min(more, left[resource])
			if more -= reused; !c.init && width(mask) > 1 {
				left[resource] = 0
			} else if !c.init {
				left[resource] -= reused
			}
		}
		for zone := range m.size {
			if mask>>zone&1 == 1 && more > 0 {
				here := more
				if width(mask) > 1 {
					here = m.free[zone][resource]
				}
				m.free[zone][resource] -= here
				taken += here
			}
		}
		if resource == "memory" {
			if width(mask) == 1 {
				m.alone |= mask
			} else {
				m.groups = append(m.groups, mask)
			}
		}
		if c.init {
			m.tied[resource] |= mask
		} else if remains <= 0 {
			delete(m.tied, resource)
		}
		if c.init && taken > 0 {
			if m.left[mask] == nil {
				m.left[mask] = map[string]int64{}
			}
			m.left[mask][resource] += taken
		}
	}
}

// drawn is a node in a random state, with the same in a model.
type drawn struct {
	policy    string
	model     *model
	usage     *zones.Usage
	resources []string
	random    *rand.Rand
}

func draw(t *testing.T, random *rand.Rand) *drawn {
	count := 2 + random.IntN(7)
	if random.IntN(4) > 0 {
		count = 2 + random.IntN(3)
	}
	d := &drawn{random: random, policy: []string{"single-numa-node", "restricted"}[random.IntN(2)]}
	d.model = &model{single: d.policy == "single-numa-node"}
	for _, i := range random.Perm(4)[:1+random.IntN(4)] {
		d.resources = append(d.resources, []string{"nvidia.com/gpu", "rdma/hca", "cpu", "memory"}[i])
	}
	texts, alike := make([]string, count), random.IntN(2) == 0
	for zone := range count {
		d.model.size = append(d.model.size, map[string]int64{})
		d.model.free = append(d.model.free, map[string]int64{})
		for _, resource := range d.resources {
			amount := int64(random.IntN(9))
			if alike {
				amount = 6
			}
			d.model.size[zone][resource], d.model.free[zone][resource] = amount, amount
		}
		texts[zone] = texted(d.model.size[zone])
	}
	n := node(t, d.policy+[]string{" container", " pod"}[random.IntN(2)], texts...)
	d.usage = n.Usage(nil, nil)
	for zone := range count {
		if taken := d.ask(3); random.IntN(3) == 0 {
			for resource, amount := range taken.asks {
				taken.asks[resource] = min(amount, d.model.free[zone][resource])
				if taken.asks[resource] == 0 {
					delete(taken.asks, resource)
				}
			}
			text := texted(taken.asks)
			there := pod("there", text)
			there.Status.QOSClass = corev1.PodQOSGuaranteed
			d.usage.Add(types.UID(fmt.Sprint(zone)), zones.DemandOf(there), in(count, zone, text))
			d.model.left = nil
			d.model.take(1<<zone, taken)
		}
	}
	return d
}

func texted(amounts map[string]int64) string {
	var items []string
	for resource, amount := range amounts {
		items = append(items, fmt.Sprintf("%d %s", amount, resource))
	}
	return strings.Join(items, ", ")
}

// ask draws a container that asks for some of the resources.
func (d *drawn) ask(most int) container {
	c := container{asks: map[string]int64{}}
	for len(c.asks) == 0 {
		for _, resource := range d.resources {
			if d.random.IntN(3) > 0 {
				c.asks[resource] = int64(1 + d.random.IntN(most))
			}
		}
	}
	return c
}

// pod draws a pod. It is marked as guaranteed, whatever it asks for, so that all of it is aligned.
func (d *drawn) pod() (*corev1.Pod, []container) {
	most := []int{4, 8, 20}[d.random.IntN(3)]
	containers := []container{d.ask(most)}
	for d.random.IntN(3) == 0 {
		containers = append(containers, d.ask(most))
	}
	var texts []string
	for i := range containers {
		text := texted(containers[i].asks)
		if i < len(containers)-1 && d.random.IntN(2) == 0 && (i == 0 || containers[i-1].init) {
			containers[i].init, text = true, "init: "+text
		}
		texts = append(texts, text)
	}
	p := pod("p", texts...)
	p.Status.QOSClass = corev1.PodQOSGuaranteed
	return p, containers
}

// whole is the pod as one container: all that stays, or what one that ends takes beside those before it.
func whole(containers []container) []container {
	sum, peak := map[string]int64{}, map[string]int64{}
	for _, c := range containers {
		for resource, amount := range c.asks {
			if c.init {
				peak[resource] = max(peak[resource], sum[resource]+amount)
			} else {
				sum[resource] += amount
			}
		}
	}
	for resource, amount := range peak {
		sum[resource] = max(sum[resource], amount)
	}
	return []container{{asks: sum}}
}

// TestTheRuleAgainstAModel admits random pods one after the other until one is rejected, in Room, in Admit and in the
// model, and compares which zones they take.
func TestTheRuleAgainstAModel(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	admitted, wide := 0, 0
	for i := range *cases {
		d := draw(t, random)
		p, containers := d.pod()
		demand := zones.DemandOf(p)
		if d.usage.Node().PerPod {
			containers = whole(containers)
		}
		room := d.usage.Room(demand, 1000)
		for pods := int64(0); ; pods++ {
			held, ok := d.usage.Admit(demand)
			masks, want := d.model.admit(containers)
			if ok != want || (pods < room) != want {
				t.Fatalf("case %d: admitted %t, want %t; room %d after %d pods: %s %s", i, ok, want, room, pods, d, demand)
			}
			if !want {
				break
			}
			admitted++
			if slices.ContainsFunc(masks, func(mask int) bool { return width(mask) > 1 }) {
				wide++
			}
			d.usage.Add(types.UID(fmt.Sprint("p", pods)), demand, held)
			for zone, free := range d.usage.Free() {
				for _, resource := range d.resources {
					got := free[resource]
					if resource == "cpu" {
						got /= 1000
					}
					require.Equal(t, d.model.free[zone][resource], got,
						"case %d %s free in zone %d: %s %s takes %b", i, resource, zone, d, demand, masks)
				}
			}
		}
	}
	t.Logf("%d pods admitted, %d of them to several zones", admitted, wide)
}

func (d *drawn) String() string {
	return fmt.Sprintf("%s: zones of %v, %v free", d.policy, d.model.size, d.model.free)
}
