package charts_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// TestChartsSayWhatTheyAre reads the fields that catalogues of charts show.
func TestChartsSayWhatTheyAre(t *testing.T) {
	picture, err := os.ReadFile(filepath.Join(repository(t), "docs", "images", "icon.svg"))
	require.NoError(t, err)
	for chart := range charts {
		var metadata struct {
			Name, Description, KubeVersion, Home, Icon string
			Keywords                                   []string
			Annotations                                map[string]string
		}
		require.NoError(t, yaml.Unmarshal(read(t, chart, "Chart.yaml"), &metadata))
		if metadata.Name != chart || metadata.Description == "" || metadata.Home == "" || len(metadata.Keywords) == 0 ||
			metadata.Annotations["artifacthub.io/license"] != "Apache-2.0" {
			t.Errorf("%s says too little: %+v", chart, metadata)
		}
		// On older versions the scheduler ends with an error: kube-scheduler 1.36 reads resource.k8s.io/v1. Newer ones
		// were not tried.
		if metadata.KubeVersion != ">=1.34.0-0 <1.38.0-0" {
			t.Errorf("%s takes Kubernetes %q", chart, metadata.KubeVersion)
		}
		encoded, _ := strings.CutPrefix(metadata.Icon, "data:image/svg+xml;base64,")
		if shown, err := base64.StdEncoding.DecodeString(encoded); err != nil || string(shown) != string(picture) {
			t.Errorf("%s shows another icon than docs/images/icon.svg: %v", chart, err)
		}
	}
}
