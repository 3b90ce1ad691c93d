package catalog_test

import (
	"testing"

	"packtree.dev/podgrouper/internal/groupers/kubeflow"
)

func TestPyTorchJob(t *testing.T) {
	checkGroups(t, kubeflow.PyTorchJob, map[string]groupCase{
		"master and workers start together": {
			Manifest: `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train, annotations: {kai.scheduler/topology: network, kai.scheduler/topology-required-placement: zone}}
spec:
  pytorchReplicaSpecs:
    Master: {replicas: 1, restartPolicy: OnFailure, template: {spec: {containers: [{name: pytorch, image: t}]}}}
    Worker:
      replicas: 3
      template:
        metadata: {annotations: {kai.scheduler/topology: network, kai.scheduler/topology-required-placement: rack}}
        spec: {containers: [{name: pytorch, image: t}]}`,
			Want: `
topologyConstraint: {topology: network, requiredTopologyLevel: zone}
subGroups:
- {name: master, minMember: 1}
- {name: worker, minMember: 3, topologyConstraint: {topology: network, requiredTopologyLevel: rack}}`,
		},
		"an elastic job needs its least number of workers": {
			Manifest: `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  elasticPolicy: {minReplicas: 2, maxReplicas: 8}
  pytorchReplicaSpecs: {Worker: {replicas: 4}}`,
			Want:     `subGroups: [{name: worker, minMember: 2}]`,
			Expected: `{"worker":4}`,
		},
		"a scheduling policy's minimum goes to the master first": {
			Manifest: `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  runPolicy: {schedulingPolicy: {minAvailable: 3, priorityClass: high}}
  pytorchReplicaSpecs: {Master: {replicas: 1}, Worker: {replicas: 4}}`,
			Want:     `{priorityClassName: high, subGroups: [{name: master, minMember: 1}, {name: worker, minMember: 2}]}`,
			Expected: `{"worker":4}`,
		},
		"a policy's minimum above the sum is the sum": {
			Manifest: `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  runPolicy: {schedulingPolicy: {minAvailable: 30}}
  pytorchReplicaSpecs: {Master: {}, Worker: {replicas: 4}}`,
			Want: `subGroups: [{name: master, minMember: 1}, {name: worker, minMember: 4}]`,
		},
		"minima that are none have all replicas waited for": {
			Manifest: `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  elasticPolicy: {minReplicas: -2}
  runPolicy: {schedulingPolicy: {minAvailable: 0}}
  pytorchReplicaSpecs: {Worker: {replicas: 4}}`,
			Want: `subGroups: [{name: worker, minMember: 4}]`,
			Problems: []string{
				`spec.elasticPolicy.minReplicas: Invalid value: -2: must be a whole number above 0, or be left out; all replicas are waited for instead`,
				`spec.runPolicy.schedulingPolicy.minAvailable: Invalid value: 0: must be a whole number above 0, or be left out; all replicas are waited for instead`,
			},
		},
		"elastic and with a scheduling policy, the lesser counts": {
			Manifest: `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  elasticPolicy: {minReplicas: 3, maxReplicas: 8}
  runPolicy: {schedulingPolicy: {minAvailable: 3}}
  pytorchReplicaSpecs: {Master: {}, Worker: {replicas: 6}}`,
			Want:     `subGroups: [{name: master, minMember: 1}, {name: worker, minMember: 2}]`,
			Expected: `{"worker":6}`,
		},
		"a suspended job keeps the tree that it will have": {
			Manifest: `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec: {runPolicy: {suspend: true}, pytorchReplicaSpecs: {Worker: {replicas: 4}}}`,
			Want: `subGroups: [{name: worker, minMember: 4}]`,
		},
		"what is complete is not waited for again": {
			Manifest: `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec: {pytorchReplicaSpecs: {Master: {replicas: 1}, Worker: {replicas: 4}}}
status: {replicaStatuses: {Master: {active: 1}, Worker: {active: 1, succeeded: 3}}}`,
			Want: `subGroups: [{name: master, minMember: 1}, {name: worker, minMember: 1}]`,
		},
		"replica types in lower case": {
			Manifest: `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    master: {}
    worker: {replicas: 2, template: {metadata: {annotations: {kai.scheduler/topology-required-placement: rack}}}}`,
			Want: `subGroups: [{name: master, minMember: 1}, {name: worker, minMember: 2, topologyConstraint: {requiredTopologyLevel: rack}}]`,
			Problems: []string{
				`spec.pytorchReplicaSpecs.worker.template.metadata.annotations[kai.scheduler/topology]: Required value: a level needs the name of the Topology that it belongs to`,
			},
		},
		"a level without a topology on a template": {
			Manifest: `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Worker: {replicas: 4, template: {metadata: {annotations: {kai.scheduler/topology-required-placement: rack}}}}`,
			Want: `subGroups: [{name: worker, minMember: 4, topologyConstraint: {requiredTopologyLevel: rack}}]`,
			Problems: []string{
				`spec.pytorchReplicaSpecs.Worker.template.metadata.annotations[kai.scheduler/topology]: Required value: a level needs the name of the Topology that it belongs to`,
			},
		},
	})
}

func TestMPIJob(t *testing.T) {
	checkGroups(t, kubeflow.MPIJob, map[string]groupCase{
		"launcher and workers start together": {
			Manifest: `
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: pi}
spec:
  slotsPerWorker: 1
  mpiReplicaSpecs:
    Launcher: {replicas: 1, template: {spec: {containers: [{name: mpi, image: pi}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [{name: mpi, image: pi}]}}}`,
			Want: `subGroups: [{name: launcher, minMember: 1}, {name: worker, minMember: 2}]`,
		},
		"a launcher that comes after its workers cannot be waited for": {
			Manifest: `
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: pi}
spec:
  launcherCreationPolicy: WaitForWorkersReady
  mpiReplicaSpecs: {Launcher: {replicas: 1}, Worker: {replicas: 2}}`,
			Want:     `subGroups: [{name: launcher, minMember: 0}, {name: worker, minMember: 2}]`,
			Expected: `{"launcher":1}`,
		},
		"a launcher that works too stands with the workers": {
			Manifest: `
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: pi}
spec:
  runLauncherAsWorker: true
  mpiReplicaSpecs:
    Launcher: {replicas: 1}
    Worker:
      replicas: 2
      template: {metadata: {annotations: {kai.scheduler/topology: network, kai.scheduler/topology-required-placement: rack}}}`,
			Want: `
subGroups:
- {name: ranks, topologyConstraint: {topology: network, requiredTopologyLevel: rack}}
- {name: launcher, parent: ranks, minMember: 1}
- {name: worker, parent: ranks, minMember: 2}`,
		},
		"there are no workers unless it says how many": {
			Manifest: `{apiVersion: kubeflow.org/v2beta1, kind: MPIJob, metadata: {name: pi}, spec: {mpiReplicaSpecs: {Launcher: {}, Worker: {}}}}`,
			Want:     `subGroups: [{name: launcher, minMember: 1}, {name: worker, minMember: 0}]`,
		},
		"fewer workers suffice": {
			Manifest: `
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: pi}
spec:
  runPolicy: {schedulingPolicy: {minAvailable: 3}}
  mpiReplicaSpecs: {Launcher: {replicas: 1}, Worker: {replicas: 8}}`,
			Want:     `subGroups: [{name: launcher, minMember: 1}, {name: worker, minMember: 2}]`,
			Expected: `{"worker":8}`,
		},
	})
}

func TestOtherKinds(t *testing.T) {
	checkGroups(t, kubeflow.TFJob, map[string]groupCase{
		"a TFJob": {
			Manifest: `
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: mnist}
spec: {tfReplicaSpecs: {Worker: {replicas: 4}, PS: {replicas: 2}, Chief: {replicas: 1}}}`,
			Want: `subGroups: [{name: chief, minMember: 1}, {name: ps, minMember: 2}, {name: worker, minMember: 4}]`,
		},
	})
	checkGroups(t, kubeflow.XGBoostJob, map[string]groupCase{
		"an XGBoostJob": {
			Manifest: `
apiVersion: kubeflow.org/v1
kind: XGBoostJob
metadata: {name: iris}
spec: {xgbReplicaSpecs: {Master: {replicas: 1}, Worker: {replicas: 2}}}`,
			Want: `subGroups: [{name: master, minMember: 1}, {name: worker, minMember: 2}]`,
		},
	})
	checkGroups(t, kubeflow.PaddleJob, map[string]groupCase{
		"an elastic PaddleJob": {
			Manifest: `
apiVersion: kubeflow.org/v1
kind: PaddleJob
metadata: {name: bert}
spec: {elasticPolicy: {minReplicas: 2, maxReplicas: 4}, paddleReplicaSpecs: {Master: {replicas: 1}, Worker: {replicas: 4}}}`,
			Want:     `subGroups: [{name: master, minMember: 1}, {name: worker, minMember: 2}]`,
			Expected: `{"worker":4}`,
		},
	})
	checkGroups(t, kubeflow.JAXJob, map[string]groupCase{
		"a JAXJob": {
			Manifest: `{apiVersion: kubeflow.org/v1, kind: JAXJob, metadata: {name: jax}, spec: {jaxReplicaSpecs: {Worker: {replicas: 2}}}}`,
			Want:     `subGroups: [{name: worker, minMember: 2}]`,
		},
		"without replicas at all": {
			Manifest: `{apiVersion: kubeflow.org/v1, kind: JAXJob, metadata: {name: jax}, spec: {}}`,
			Want:     `minMember: 0`,
		},
	})
}

func TestKubeflowLeaf(t *testing.T) {
	checkLeaf(t, kubeflow.PyTorchJob, map[string]string{"training.kubeflow.org/replica-type": "worker"},
		"worker")
	checkLeaf(t, kubeflow.MPIJob, map[string]string{"training.kubeflow.org/replica-type": "Launcher"},
		"launcher")
	checkLeaf(t, kubeflow.MPIJob, map[string]string{"training.kubeflow.org/job-role": "launcher"}, "launcher")
	checkLeaf(t, kubeflow.PyTorchJob, map[string]string{
		"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/job-role": "master",
	}, "worker")
	checkLeaf(t, kubeflow.MPIJob, nil, "")
}
