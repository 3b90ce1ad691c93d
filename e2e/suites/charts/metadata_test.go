package charts_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestChartsTellWhatTheyAre reads what catalogues of charts show.
func TestChartsTellWhatTheyAre(t *testing.T) {
	picture, err := os.ReadFile(filepath.Join(repository(t), "docs", "images", "icon.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for chart := range charts {
		var told struct {
			Name, Description, KubeVersion, Home, Icon string
			Keywords                                   []string
			Annotations                                map[string]string
		}
		if err := yaml.Unmarshal(read(t, chart, "Chart.yaml"), &told); err != nil {
			t.Fatal(err)
		}
		if told.Name != chart || told.Description == "" || told.Home == "" || len(told.Keywords) == 0 ||
			told.Annotations["artifacthub.io/license"] != "Apache-2.0" {
			t.Errorf("%s tells too little: %+v", chart, told)
		}
		// On an older one the scheduler is never ready: kube-scheduler 1.36 reads resource.k8s.io/v1.
		if told.KubeVersion != ">=1.34.0-0" {
			t.Errorf("%s takes Kubernetes %q", chart, told.KubeVersion)
		}
		encoded, _ := strings.CutPrefix(told.Icon, "data:image/svg+xml;base64,")
		if shown, err := base64.StdEncoding.DecodeString(encoded); err != nil || string(shown) != string(picture) {
			t.Errorf("%s shows another icon than docs/images/icon.svg: %v", chart, err)
		}
	}
}
