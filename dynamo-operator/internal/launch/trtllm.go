package launch

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	// SSHSecret holds the keys with which the leader reaches the workers, as private.key and private.key.pub.
	SSHSecret = "mpi-run-ssh-secret"

	sshVolume = "mpi-ssh-keys"
	sshPath   = "/ssh-pk"
	sshPort   = 2222
)

// configureTRTLLM makes the leader start one MPI process for each GPU of every node, over SSH servers, which the
// workers run instead of an engine.
func configureTRTLLM(node Node, pod *corev1.PodSpec, main *corev1.Container) {
	mountSSHKeys(pod, main)
	// Open MPI 4 cuts host names at the first dot, and the pods' names have several.
	addEnv(main, "OMPI_MCA_orte_keep_fqdn_hostnames", corev1.EnvVar{Value: "1"})
	if node.Leader {
		runInShell(main, leaderScript(node, main))
		return
	}
	runInShell(main, workerScript())
	main.LivenessProbe, main.StartupProbe = nil, nil
	main.ReadinessProbe = &corev1.Probe{
		ProbeHandler:        corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(sshPort)}},
		InitialDelaySeconds: 5,
		PeriodSeconds:       5,
		TimeoutSeconds:      5,
		FailureThreshold:    10,
	}
}

func mountSSHKeys(pod *corev1.PodSpec, main *corev1.Container) {
	pod.Volumes = append(pod.Volumes, corev1.Volume{
		Name: sshVolume,
		VolumeSource: corev1.VolumeSource{
			// A container that does not run as root has to read the keys too. ssh gets a copy that only its user can
			// read.
			Secret: &corev1.SecretVolumeSource{SecretName: SSHSecret, DefaultMode: new(int32(0o444))},
		},
	})
	mount := corev1.VolumeMount{Name: sshVolume, MountPath: sshPath, ReadOnly: true}
	main.VolumeMounts = append(slices.Clone(main.VolumeMounts), mount)
}

// clientSetup copies the key for the container's user, and makes ssh ask no questions. A user other than root may have
// no home to write to.
var clientSetup = []string{
	"{ [ -w ~ ] || export HOME=/tmp; }",
	"mkdir -p ~/.ssh",
	"cp " + sshPath + "/private.key ~/.ssh/id_rsa",
	"cp " + sshPath + "/private.key.pub ~/.ssh/id_rsa.pub",
	"cp " + sshPath + "/private.key.pub ~/.ssh/authorized_keys",
	"chmod 600 ~/.ssh/id_rsa ~/.ssh/authorized_keys",
	"chmod 644 ~/.ssh/id_rsa.pub",
	fmt.Sprintf(
		`printf 'Host *\n  IdentityFile ~/.ssh/id_rsa\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n`+
			`  Port %d\n' > ~/.ssh/config`, sshPort),
	"chmod 600 ~/.ssh/config",
}

// serverSetup makes a host key for the container.
var serverSetup = []string{
	"mkdir -p ~/.ssh/host_keys ~/.ssh/run",
	"{ mkdir -p /run/sshd 2>/dev/null || true; }", // Only root's sshd needs it, and only root can make it.
	"rm -f ~/.ssh/host_keys/ssh_host_rsa_key",     // A key of an earlier container, if the home is a volume.
	"ssh-keygen -q -t rsa -N '' -f ~/.ssh/host_keys/ssh_host_rsa_key",
	fmt.Sprintf(
		`printf "Port %d\nHostKey $HOME/.ssh/host_keys/ssh_host_rsa_key\nPidFile $HOME/.ssh/run/sshd.pid\n`+
			`AuthorizedKeysFile $HOME/.ssh/authorized_keys\nPubkeyAuthentication yes\nPasswordAuthentication no\n`+
			`StrictModes no\n" > ~/.ssh/sshd_config`, sshPort),
}

func workerScript() string {
	steps := slices.Concat(clientSetup, serverSetup, []string{"exec /usr/sbin/sshd -D -e -f ~/.ssh/sshd_config"})
	return strings.Join(steps, " && ")
}

func leaderScript(node Node, main *corev1.Container) string {
	line := words(main)
	perNode := ranksOnNode(main, number(line, "--tensor-parallel-size")*number(line, "--pipeline-parallel-size"),
		node.Count)
	hosts := []string{fmt.Sprintf("%s:%d", node.LeaderAddress, perNode)}
	for index := range node.Count - 1 {
		hosts = append(hosts, fmt.Sprintf("%s:%d", node.WorkerAddress(index), perNode))
	}
	run := fmt.Sprintf(
		`mpirun --allow-run-as-root -n %d -H %s --mca pml ob1 `+
			`--mca plm_rsh_args "-p %d -o StrictHostKeyChecking=no -i $HOME/.ssh/id_rsa"%s trtllm-llmapi-launch %s`,
		perNode*int64(node.Count), strings.Join(hosts, ","), sshPort, exports(main), shellLine(main))
	return strings.Join(append(slices.Clone(clientSetup), run), " && ")
}

// namesOfAll prints the names of all variables except the ones that a shell on another host sets itself.
const namesOfAll = `$(env | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/-x \1/p' | ` +
	`grep -vxE -e '-x (HOME|HOSTNAME|OLDPWD|OMPI_[A-Za-z0-9_]*|PWD|SHLVL|TERM|USER|_)')`

// exports passes the leader's environment on: a shell that is started over SSH has none of it. Variables that come from
// Secrets and ConfigMaps have names that are only known in the container.
func exports(main *corev1.Container) string {
	if len(main.EnvFrom) > 0 {
		return " " + namesOfAll
	}
	var options strings.Builder
	for _, variable := range main.Env {
		if !strings.HasPrefix(variable.Name, "OMPI_") { // Open MPI passes these on by itself.
			fmt.Fprintf(&options, " -x %s", variable.Name)
		}
	}
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "CUDA_HOME"} {
		if !slices.ContainsFunc(main.Env, func(v corev1.EnvVar) bool { return v.Name == name }) {
			fmt.Fprintf(&options, ` ${%s:+-x %s}`, name, name)
		}
	}
	return options.String()
}
