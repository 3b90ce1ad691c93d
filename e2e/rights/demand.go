package rights

import (
	"encoding/json"
	"net/http"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Right is one thing that an account may do, or has to be allowed to do: one verb on one resource.
type Right struct {
	// Verb, Group and Resource in the words of roles.
	Verb, Group, Resource string
	// Name is the only object that it is about; empty for all.
	Name string
	// Namespace of the right; empty for all.
	Namespace string
}

func (r Right) String() string {
	said := r.Verb + " " + r.Resource
	if r.Group != "" {
		said += "." + r.Group
	}
	if r.Name != "" {
		said += " " + r.Name
	}
	if r.Namespace != "" {
		said += " in " + r.Namespace
	}
	return said
}

// rule is the right as a rule of a role.
func (r Right) rule() rbacv1.PolicyRule {
	rule := rbacv1.PolicyRule{Verbs: []string{r.Verb}, APIGroups: []string{r.Group}, Resources: []string{r.Resource}}
	if r.Name != "" {
		rule.ResourceNames = []string{r.Name}
	}
	return rule
}

// Needs are the rights that the API server checks when it allows a call: for the call itself, and, if it was done, for
// what the call implies.
func (c Call) Needs() []Right {
	needs := []Right{{Verb: c.Verb, Group: c.Group, Resource: c.Resource, Name: c.Name, Namespace: c.Namespace}}
	// A name cannot restrict a creation.
	if c.Verb == "create" && !strings.Contains(c.Resource, "/") {
		needs[0].Name = ""
	}
	if c.Verb == "patch" && c.Code == http.StatusCreated {
		needs = append(needs,
			Right{Verb: "create", Group: c.Group, Resource: c.Resource, Name: c.Name, Namespace: c.Namespace})
	}
	if len(c.body) == 0 || !c.Succeeded() {
		return needs
	}
	needs = append(needs, c.blocking()...)
	needs = append(needs, c.handedOn()...)
	return append(needs, c.bindsClaim()...)
}

// blocking are the rights to delay the deletion of owners, which the admission plugin
// OwnerReferencesPermissionEnforcement requires for the creation of an object that does so.
func (c Call) blocking() []Right {
	var object struct {
		Metadata struct {
			OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
		} `json:"metadata"`
	}
	if c.Code != http.StatusCreated || json.Unmarshal(c.body, &object) != nil {
		return nil
	}
	var needs []Right
	for _, owner := range object.Metadata.OwnerReferences {
		if owner.BlockOwnerDeletion == nil || !*owner.BlockOwnerDeletion {
			continue
		}
		resource, _ := meta.UnsafeGuessKindToResource(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind))
		needs = append(needs, Right{
			Verb: "update", Group: resource.Group, Resource: resource.Resource + "/finalizers", Name: owner.Name,
			Namespace: c.Namespace,
		})
	}
	return needs
}

// handedOn are the rights in a role that is written: a program cannot grant rights that it does not have.
func (c Call) handedOn() []Right {
	var role struct {
		Rules []rbacv1.PolicyRule `json:"rules"`
	}
	if c.Group != rbacv1.GroupName || c.Resource != "roles" && c.Resource != "clusterroles" ||
		json.Unmarshal(c.body, &role) != nil {
		return nil
	}
	var needs []Right
	for _, rule := range role.Rules {
		needs = append(needs, rightsOf(rule, c.Namespace)...)
	}
	return needs
}

// bindsClaim is the right to give a claim its devices, or to set its users: other writes of a claim's status need
// less.
func (c Call) bindsClaim() []Right {
	if c.Group != "resource.k8s.io" || c.Resource != "resourceclaims/status" {
		return nil
	}
	return []Right{{Verb: c.Verb, Group: c.Group, Resource: "resourceclaims/binding"}}
}
