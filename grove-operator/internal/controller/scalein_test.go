package controller_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

var _ = Describe("Scaling in", func() {
	It("takes the highest indexes, and leaves everything else as it is, whatever else scales", func() {
		in, set := running()
		scale(set, 2)
		settle(in, "2/2/2 AllReplicasAvailable")
		before := identities(in)
		By("scaling a set, a group and a clique at the same time, past stale copies of each other")
		for _, replicas := range []int32{3, 1, 2, 1} {
			scale(set.DeepCopy(), replicas)
			scale(get(in, "inf-0-sg", &grovev1alpha1.PodCliqueScalingGroup{}), replicas)
		}
		settle(in, "1/1/1 AllReplicasAvailable")
		Eventually(func() map[string]types.UID {
			end(in, nil)
			return identities(in)
		}).Should(Equal(without(before, "inf-1", "inf-0-sg-1")))
	})
})
