package programs

import (
	"regexp"
	"strings"
	"testing"
)

var layout = Layout{
	Dir:   "/state",
	Ports: map[string]int{Etcd: 1, EtcdPeer: 2, APIServer: 3, ControllerManager: 4, KWOK: 5},
}

func TestEverythingListensOnLoopbackAlone(t *testing.T) {
	address := regexp.MustCompile(`[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+`)
	listens := regexp.MustCompile(`^--(listen-.*-urls|bind-address|server-address)=`)
	for name, args := range map[string][]string{
		Etcd: layout.EtcdArgs(), APIServer: layout.APIServerArgs(),
		ControllerManager: layout.ControllerManagerArgs(), KWOK: layout.KWOKArgs(),
	} {
		found := false
		for _, arg := range args {
			if listens.MatchString(arg) {
				found = true
				for _, ip := range address.FindAllString(arg, -1) {
					if ip != "127.0.0.1" {
						t.Errorf("%s: %s", name, arg)
					}
				}
			}
		}
		if !found {
			t.Errorf("%s has no argument that says where it listens", name)
		}
	}
}

func TestFilesLieInTheStateDirectory(t *testing.T) {
	file := regexp.MustCompile(`^--[a-z-]*(file|dir|kubeconfig|config|values)="?([^"]*)"?$`)
	for _, args := range [][]string{layout.EtcdArgs(), layout.APIServerArgs(), layout.ControllerManagerArgs(),
		layout.KWOKArgs(), layout.HelmArgs("install", "chart", "namespace"), layout.HelmUninstallArgs("namespace")} {
		for _, arg := range args {
			if match := file.FindStringSubmatch(arg); match != nil && !strings.HasPrefix(match[2], "/state/") {
				t.Errorf("%s is outside", arg)
			}
		}
	}
}

func TestAPathWithACommaIsOneItem(t *testing.T) {
	if got := listItem(`/a,b/"c"`); got != `"/a,b/""c"""` {
		t.Errorf("got %s", got)
	}
}
