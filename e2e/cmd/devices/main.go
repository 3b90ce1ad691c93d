// The command devices is a device plugin: it offers a kubelet devices that do nothing, so many in each NUMA zone.
//
//	devices example.com/gpu 4 4
//
// A container finds the devices that it has in its environment: DEVICES=0-1,0-2 are the second and third of zone 0.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const socket = v1beta1.DevicePluginPath + "packtree-devices.sock"

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: devices RESOURCE COUNT...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "devices: %v\n", err)
		os.Exit(1)
	}
}

// plugin serves the kubelet.
type plugin struct {
	v1beta1.UnimplementedDevicePluginServer
	devices []*v1beta1.Device
}

func run(resource string, counts []string) error {
	served := &plugin{}
	for zone, text := range counts {
		count, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("reading how many devices zone %d has: %w", zone, err)
		}
		for i := range count {
			served.devices = append(served.devices, &v1beta1.Device{
				ID: fmt.Sprintf("%d-%d", zone, i), Health: v1beta1.Healthy,
				Topology: &v1beta1.TopologyInfo{Nodes: []*v1beta1.NUMANode{{ID: int64(zone)}}},
			})
		}
	}
	_ = os.Remove(socket) // One of an earlier run.
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	v1beta1.RegisterDevicePluginServer(server, served)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	if err := register(resource); err != nil {
		return fmt.Errorf("registering with the kubelet: %w", err)
	}
	return <-failed
}

func register(resource string) error {
	connection, err := grpc.NewClient("unix://"+v1beta1.KubeletSocket,
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err = v1beta1.NewRegistrationClient(connection).Register(ctx, &v1beta1.RegisterRequest{
		Version: v1beta1.Version, Endpoint: filepath.Base(socket), ResourceName: resource,
	}, grpc.WaitForReady(true))
	return err
}

// GetDevicePluginOptions implements the interface.
func (p *plugin) GetDevicePluginOptions(context.Context, *v1beta1.Empty) (*v1beta1.DevicePluginOptions, error) {
	return &v1beta1.DevicePluginOptions{}, nil
}

// ListAndWatch implements the interface: the devices do not change.
func (p *plugin) ListAndWatch(
	_ *v1beta1.Empty, stream grpc.ServerStreamingServer[v1beta1.ListAndWatchResponse],
) error {
	if err := stream.Send(&v1beta1.ListAndWatchResponse{Devices: p.devices}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

// Allocate implements the interface.
func (p *plugin) Allocate(_ context.Context, asked *v1beta1.AllocateRequest) (*v1beta1.AllocateResponse, error) {
	answer := &v1beta1.AllocateResponse{}
	for _, container := range asked.GetContainerRequests() {
		ids := slices.Sorted(slices.Values(container.GetDevicesIds()))
		answer.ContainerResponses = append(answer.ContainerResponses,
			&v1beta1.ContainerAllocateResponse{Envs: map[string]string{"DEVICES": strings.Join(ids, ",")}})
	}
	return answer, nil
}
