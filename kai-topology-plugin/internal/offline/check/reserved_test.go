package check_test

import (
	"strings"
	"testing"
)

func TestRoomThatIsSaidToBeReserved(t *testing.T) {
	const manifests = "../place/testdata/followers.yaml"
	for name, test := range map[string]struct {
		tamper func(reserved map[string]any)
		want   string
	}{
		"is needed for the proof": {
			func(reserved map[string]any) { clear(reserved) },
			"its certificate: the certificate does not prove that no placement exists",
		},
		"for a pod of another input": {
			func(reserved map[string]any) { reserved["default/x"] = "z1-r1-n1" },
			`its certificate: it takes room for reserved for pod "default/x", which is not in the input`,
		},
		"for a pod that follows nobody": {
			func(reserved map[string]any) { reserved["default/infer-0-passer-by-0"] = "z1-r1-n1" },
			`its certificate: it takes room for reserved for PodGroup`,
		},
		"where the pods that follow could not go": {
			func(reserved map[string]any) {
				for pod := range reserved {
					reserved[pod] = "no-such-node"
				}
			},
			`its certificate: it takes room for reserved for PodGroup`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			answer := answered(t, cluster, manifests)
			var reserved map[string]any
			for i := range answer["podGroups"].([]any) {
				if certificate, has := field(answer, "podGroups", i, "certificate").(map[string]any); has {
					if room, has := certificate["reserved"].(map[string]any); has {
						reserved = room
					}
				}
			}
			if len(reserved) == 0 {
				t.Fatal("no certificate has reserved room")
			}
			test.tamper(reserved)
			if got := checked(t, answer, cluster, manifests); got.code != 3 || !strings.Contains(got.stdout, test.want) {
				t.Errorf("exit code %d\n%s%s\nwant %s", got.code, got.stdout, got.stderr, test.want)
			}
		})
	}
}
