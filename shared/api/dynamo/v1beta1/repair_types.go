package v1beta1

// RepairPolicy says what the scheduler may move when gangs of the deployment have lost pods that cannot be replaced
// where the others stand. It becomes the field of that name of the PodCliqueSet. Annotations of the deployment's spec
// that say the same, packtree.dev/repair-move and packtree.dev/repair-after, must not contradict.
type RepairPolicy struct {
	// Move is which pods that still stand may be moved so that a gang is whole again: none; subgroup, those of
	// subgroups that have lost pods; or gang, where that does not help those of larger subgroups or of the whole gang.
	// Unset means what the scheduler is configured for.
	// +optional
	// +kubebuilder:validation:Enum=none;subgroup;gang
	Move string `json:"move,omitempty"`
	// After is for how long a gang runs below its minimum before pods are moved, as a duration of at least 0, such as
	// 2m. Unset means what the scheduler is configured for.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="must be a duration of at least 0, such as 2m"
	After string `json:"after,omitempty"`
}
