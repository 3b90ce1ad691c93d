package admission_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/kueue"

	"packtree.dev/dynamo-operator/internal/admission"
)

func TestQuota(t *testing.T) {
	const twice = `Forbidden: Kueue would choose nodes, and so does spec.topologyConstraint: keep one of the two`
	for name, c := range map[string]struct {
		queue, spec, own string
		want             []string
	}{
		"a queue": {queue: "team-a"},
		"a queue that is no label value": {queue: "-team", want: []string{
			`metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: "-team": no name of a LocalQueue: ` +
				`a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must ` +
				`start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for ` +
				`validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`}},
		"a place from Kueue alone": {
			own: "extraPodMetadata: {annotations: {kueue.x-k8s.io/podset-required-topology: rack}}"},
		"a place from both": {
			spec: "topologyConstraint: {packDomain: rack}",
			own:  "extraPodMetadata: {annotations: {kueue.x-k8s.io/podset-required-topology: rack}}",
			want: []string{
				`spec.services[0].extraPodMetadata.annotations[kueue.x-k8s.io/podset-required-topology]: ` + twice +
					` (service "A")`}},
	} {
		t.Run(name, func(t *testing.T) {
			own := c.own
			if own == "" {
				own = "minAvailable: 1"
			}
			written := &v1alpha1.DynamoGraphDeployment{}
			read(t, "metadata: {name: d}\nspec:\n  services: [{name: A, extraPodSpec: {mainContainer: {image: i}}, "+
				own+"}]\n  "+c.spec, written)
			if c.queue != "" {
				written.Labels = map[string]string{kueue.LabelQueue: c.queue}
			}
			candidate, err := admission.FromV1Alpha1(written)
			require.NoError(t, err)
			compare(t, c.want, candidate.ValidateCreate(levels).ToAggregate())
		})
	}
}
