package controller_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

var _ = Describe("With how many pods a gang goes on", func() {
	It("is what the PodGang says, and nothing where that is more than it needs to start, which is reported",
		func(ctx SpecContext) {
			gang := newPodGang("gang", "")
			metav1.SetMetaDataAnnotation(&gang.ObjectMeta, scheduling.AnnotationMinRunning, `{"gang-workers":1}`)
			create(ctx, gang)
			carried := func() string {
				found, err := podGroup(ctx, "gang")()
				if err != nil {
					return err.Error()
				}
				valid := meta.FindStatusCondition(found.Status.Conditions, scheduling.ConditionValid)
				if valid == nil {
					return "not judged yet"
				}
				return found.Annotations[scheduling.AnnotationMinRunning] + " " + valid.Reason + " " + valid.Message
			}
			Eventually(carried).Should(HavePrefix(`{"gang-workers":1} Accepted`))
			patch(ctx, gang, `{"metadata":{"annotations":{"packtree.dev/min-running":"{\"gang-workers\":9}"}}}`)
			Eventually(carried).Should(And(HavePrefix(" InvalidOwner "),
				ContainSubstring("metadata.annotations[packtree.dev/min-running]: "+
					"Invalid value: 9: must be at least 1 and at most the minMember of \"gang-workers\"")))
		})
})
