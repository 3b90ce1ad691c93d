// The command policies enforces the NetworkPolicies of a cluster for the pods of one node, by nftables: no plugin that
// does so is available as a Go module. It supports what the charts use: IPv4 addresses, no blocks with exceptions, no
// named ports of peers.
//
//	policies NODE
//
// It reads KUBECONFIG, reads the cluster every second, and writes the whole table at once when it has changed.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: policies NODE")
		os.Exit(2)
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "policies:", err)
		os.Exit(1)
	}
	client, enforced := kubernetes.NewForConfigOrDie(config), ""
	for ; ; time.Sleep(time.Second) {
		wanted, err := look(client, os.Args[1])
		if err == nil && wanted != enforced {
			err = enforce(wanted)
		}
		if err != nil {
			// The enforced table stays until the API server answers again.
			fmt.Fprintln(os.Stderr, "policies:", err)
			continue
		}
		enforced = wanted
	}
}

// look reads the cluster, from the API server's cache, which may be a moment old.
func look(client kubernetes.Interface, node string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	remembered := metav1.ListOptions{ResourceVersion: "0"}
	pods, err := client.CoreV1().Pods("").List(ctx, remembered)
	if err != nil {
		return "", err
	}
	namespaces, err := client.CoreV1().Namespaces().List(ctx, remembered)
	if err != nil {
		return "", err
	}
	policies, err := client.NetworkingV1().NetworkPolicies("").List(ctx, remembered)
	if err != nil {
		return "", err
	}
	return table(node, cluster{pods.Items, namespaces.Items, policies.Items})
}

func enforce(table string) error {
	nft := exec.Command("nft", "-f", "-")
	nft.Stdin = strings.NewReader(table)
	if output, err := nft.CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s", err, output)
	}
	return nil
}
