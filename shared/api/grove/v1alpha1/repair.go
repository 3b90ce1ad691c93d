package v1alpha1

// RepairPolicy says what the scheduler may move when gangs have lost pods that cannot be replaced where the others
// stand. It is carried to the gangs as the annotations packtree.dev/repair-move and packtree.dev/repair-after. Of a set
// that has these annotations too, the fields count; they must not contradict.
type RepairPolicy struct {
	// Move is which pods that still stand may be moved so that a gang is whole again: none; subgroup, those of
	// subgroups that have lost pods; or gang, where that does not help those of larger subgroups or of the whole gang.
	// Unset: what the scheduler is configured for.
	// +kubebuilder:validation:Enum=none;subgroup;gang
	// +optional
	Move string `json:"move,omitempty"`
	// After is for how long a gang runs below its minimum before pods are moved, as a duration of at least 0, such as
	// 2m. Unset: what the scheduler is configured for.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="must be a duration of at least 0, such as 2m"
	// +optional
	After string `json:"after,omitempty"`
}
