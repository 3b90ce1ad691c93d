package launch

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/shared/api/dynamo/v1beta1"
)

const sglangInitPort = "29500"

func configureSGLang(node Node, main *corev1.Container) {
	addFlags(v1beta1.BackendFrameworkSGLang, main, []flag{
		{"--dist-init-addr", node.LeaderAddress + ":" + sglangInitPort},
		{"--nnodes", strconv.Itoa(int(node.Count))},
		{"--node-rank", node.rank()},
	})
	if !node.Leader {
		dropProbes(main)
	}
}
