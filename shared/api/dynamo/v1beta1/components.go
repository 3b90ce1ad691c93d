package v1beta1

// ComponentsOf converts status.services into status.components; nil for nil.
func ComponentsOf(services map[string]ServiceReplicaStatus) map[string]ComponentReplicaStatus {
	if services == nil {
		return nil
	}
	components := make(map[string]ComponentReplicaStatus, len(services))
	for name, service := range services {
		component := ComponentReplicaStatus{
			ComponentKind: service.ComponentKind, ComponentNames: []string{service.ComponentName},
			Replicas:        service.Replicas,
			UpdatedReplicas: service.UpdatedReplicas, ScheduledReplicas: service.ScheduledReplicas,
		}
		if service.ComponentKind == "PodClique" {
			component.ReadyReplicas = new(service.ReadyReplicas)
		} else {
			component.AvailableReplicas = new(service.ReadyReplicas)
		}
		components[name] = component
	}
	return components
}
