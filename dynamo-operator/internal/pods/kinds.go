package pods

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"packtree.dev/shared/api/dynamo/v1beta1"
)

// kind has the defaults of a component's type for the container that runs Dynamo; a nil probe or an empty list means no
// default.
type kind struct {
	command, args                []string
	ports                        []corev1.ContainerPort
	startup, liveness, readiness *corev1.Probe
	env                          []corev1.EnvVar
}

const (
	httpPort, httpNumber       = "http", 8000
	systemPort                 = "system"
	nixlPort, nixlNumber       = "nixl", 19090
	metricsPort, plannerNumber = "metrics", 9085
	grpcPort, grpcNumber       = "grpc", 9002
	healthPort, healthNumber   = "grpc-health", 9003

	// SystemNumber is the port at which Dynamo's runtime reports its health.
	SystemNumber = 9090
	// GRPCNumber is the port at which an endpoint picker is asked.
	GRPCNumber = grpcNumber
	// HTTPNumber is the port at which a frontend serves.
	HTTPNumber = httpNumber
)

func port(name string, number int32) corev1.ContainerPort {
	return corev1.ContainerPort{Name: name, ContainerPort: number, Protocol: corev1.ProtocolTCP}
}

func variable(name string, number int) corev1.EnvVar {
	return corev1.EnvVar{Name: name, Value: strconv.Itoa(number)}
}

var frontend = kind{
	command: []string{"python3"},
	args:    []string{"-m", "dynamo.frontend"},
	ports:   []corev1.ContainerPort{port(httpPort, httpNumber)},
	liveness: &corev1.Probe{
		ProbeHandler: get("/live", httpPort), InitialDelaySeconds: 15, PeriodSeconds: 10, TimeoutSeconds: 1,
		FailureThreshold: 3,
	},
	readiness: &corev1.Probe{
		ProbeHandler: get("/health", httpPort), InitialDelaySeconds: 10, PeriodSeconds: 10, TimeoutSeconds: 3,
		FailureThreshold: 3,
	},
	env: []corev1.EnvVar{variable("DYNAMO_PORT", httpNumber), variable("DYN_HTTP_PORT", httpNumber)},
}

// loading waits two hours for a model to load, or for the pods that load one.
var loading = &corev1.Probe{ProbeHandler: get("/live", systemPort), PeriodSeconds: 10, TimeoutSeconds: 5,
	FailureThreshold: 720}

// The runtime serves /live and /health only if a variable says so.
var worker = kind{
	ports:   []corev1.ContainerPort{port(systemPort, SystemNumber), port(nixlPort, nixlNumber)},
	startup: loading,
	liveness: &corev1.Probe{ProbeHandler: get("/live", systemPort), PeriodSeconds: 5, TimeoutSeconds: 4,
		FailureThreshold: 3},
	readiness: &corev1.Probe{ProbeHandler: get("/health", systemPort), PeriodSeconds: 10, TimeoutSeconds: 4,
		FailureThreshold: 3},
	env: []corev1.EnvVar{
		{Name: "DYN_SYSTEM_ENABLED", Value: "true"},
		variable("DYN_SYSTEM_PORT", SystemNumber),
		{Name: "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS", Value: `["generate"]`},
		{Name: "DYN_HEALTH_CHECK_ENABLED", Value: "false"},
		{Name: "NIXL_TELEMETRY_ENABLE", Value: "n"},
		{Name: "NIXL_TELEMETRY_EXPORTER", Value: "prometheus"},
		variable("NIXL_TELEMETRY_PROMETHEUS_PORT", nixlNumber),
		variable("DYN_FORWARDPASS_METRIC_PORT", 20380),
	},
}

// sidecar runs Dynamo beside an engine: it is alive long before the model is loaded.
var sidecar = kind{
	ports: []corev1.ContainerPort{port(systemPort, SystemNumber)},
	startup: &corev1.Probe{ProbeHandler: get("/live", systemPort), PeriodSeconds: 2, TimeoutSeconds: 1,
		FailureThreshold: 30},
	liveness: worker.liveness,
	readiness: &corev1.Probe{ProbeHandler: get("/health", systemPort), PeriodSeconds: 5, TimeoutSeconds: 4,
		FailureThreshold: 3},
	env: worker.env[:2],
}

var planner = kind{
	ports:     []corev1.ContainerPort{port(metricsPort, plannerNumber), port(systemPort, SystemNumber)},
	startup:   loading,
	liveness:  worker.liveness,
	readiness: worker.readiness,
	env: []corev1.EnvVar{variable("PLANNER_PROMETHEUS_PORT", plannerNumber),
		variable("DYN_SYSTEM_PORT", SystemNumber)},
}

// picked is the health check of an endpoint picker. The picker starts when there are workers, and these may load for
// half an hour.
var picked = corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: healthNumber, Service: new("inference-extension")}}

var endpointPicker = kind{
	ports: []corev1.ContainerPort{port(grpcPort, grpcNumber), port(healthPort, healthNumber),
		port(metricsPort, SystemNumber)},
	startup:   &corev1.Probe{ProbeHandler: picked, PeriodSeconds: 10, FailureThreshold: 180},
	liveness:  &corev1.Probe{ProbeHandler: picked, InitialDelaySeconds: 5, PeriodSeconds: 10},
	readiness: &corev1.Probe{ProbeHandler: picked, InitialDelaySeconds: 5, PeriodSeconds: 10},
	env: []corev1.EnvVar{
		{Name: "USE_STREAMING", Value: "true"},
		// The container needs no GPU, and has to start on nodes without a driver.
		{Name: "NVIDIA_VISIBLE_DEVICES", Value: "void"},
	},
}

func get(path, port string) corev1.ProbeHandler {
	return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString(port)}}
}

func kindOf(componentType string) kind {
	switch componentType {
	case v1beta1.TypeFrontend:
		return frontend
	case v1beta1.TypePlanner:
		return planner
	case v1beta1.TypeEPP:
		return endpointPicker
	default:
		if IsWorker(componentType) {
			return worker
		}
		return kind{}
	}
}

// IsWorker reports whether components of a type run a model.
func IsWorker(componentType string) bool {
	return componentType == v1beta1.TypeWorker || isPart(componentType)
}

// isPart reports whether a type is a worker's part in disaggregated serving.
func isPart(componentType string) bool {
	return componentType == v1beta1.TypePrefill || componentType == v1beta1.TypeDecode
}
