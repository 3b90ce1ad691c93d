package grove

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/dynamo-operator/internal/pods"
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

var readPods = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"},
	Verbs: []string{"get", "list", "watch"}}

// discoveryRules are the rights that pods need to find one another: to read the endpoints of the deployment's Services,
// and to publish their own.
var discoveryRules = []rbacv1.PolicyRule{
	{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"},
		Verbs: []string{"get", "list", "watch"}},
	{
		APIGroups: []string{v1beta1.GroupName}, Resources: []string{"dynamoworkermetadatas"},
		Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete"},
	},
}

// plannerRules are the rights that a planner needs to read the number of replicas and to set another one, whichever
// object it sets it on.
var plannerRules = []rbacv1.PolicyRule{
	readPods,
	{
		APIGroups: []string{v1beta1.GroupName},
		Resources: []string{"dynamographdeployments", "dynamographdeploymentscalingadapters"},
		Verbs:     []string{"get", "list", "patch"},
	},
	{
		APIGroups: []string{v1beta1.GroupName}, Resources: []string{"dynamographdeploymentscalingadapters/scale"},
		Verbs: []string{"get", "patch", "update"},
	},
	{
		APIGroups: []string{grovev1alpha1.GroupName}, Resources: []string{"podcliques", "podcliquescalinggroups"},
		Verbs: []string{"get", "list", "patch"},
	},
	{
		APIGroups: []string{grovev1alpha1.GroupName}, Resources: []string{"podcliques/scale",
			"podcliquescalinggroups/scale"},
		Verbs: []string{"get", "patch", "update"},
	},
}

// pickerRules are the rights that an endpoint picker needs to find the pods of its pool, and the objectives and
// rewrites of requests.
var pickerRules = []rbacv1.PolicyRule{
	readPods,
	{APIGroups: []string{pods.PoolGroup}, Resources: []string{"inferencepools"},
		Verbs: []string{"get", "list", "watch"}},
	{
		APIGroups: []string{"inference.networking.x-k8s.io"},
		Resources: []string{"inferenceobjectives", "inferencemodelrewrites"},
		Verbs:     []string{"get", "list", "watch"},
	},
}

// accounts are the service accounts of the pods, unless they name another, and their rights: no account has more rights
// than its pods use.
func accounts(deployment *v1beta1.DynamoGraphDeployment) []client.Object {
	var discovering, containers bool
	for i := range deployment.Spec.Components {
		discovery := pods.DiscoveryOf(deployment, &deployment.Spec.Components[i])
		discovering = discovering || discovery.Kubernetes
		containers = containers || discovery.Containers
	}
	var common []rbacv1.PolicyRule
	var made []client.Object
	if discovering {
		common = discoveryRules
		rules := common
		if containers {
			rules = slices.Concat(rules, []rbacv1.PolicyRule{readPods})
		}
		made = account(deployment, names.Discovery(deployment), rules)
	}
	if pods.HasType(deployment, v1beta1.TypePlanner) {
		made = append(made, account(deployment, names.Planner(deployment), slices.Concat(common, plannerRules))...)
	}
	if pods.HasType(deployment, v1beta1.TypeEPP) {
		made = append(made, account(deployment, names.EndpointPicker(deployment),
			slices.Concat(common, pickerRules))...)
	}
	return made
}

func account(deployment *v1beta1.DynamoGraphDeployment, name string, rules []rbacv1.PolicyRule) []client.Object {
	return []client.Object{
		&corev1.ServiceAccount{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
			ObjectMeta: childMeta(deployment, name),
		},
		&rbacv1.Role{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
			ObjectMeta: childMeta(deployment, name),
			Rules:      rules,
		},
		&rbacv1.RoleBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
			ObjectMeta: childMeta(deployment, name),
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name,
				Namespace: deployment.Namespace}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		},
	}
}
