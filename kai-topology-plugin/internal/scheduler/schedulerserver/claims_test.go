package schedulerserver_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const driver = "devices.example.com"

// providing has a class stand for a resource that pods ask for by name.
func providing(resource string) func(*resourcev1.DeviceClass) {
	return func(class *resourcev1.DeviceClass) { class.Spec.ExtendedResourceName = &resource }
}

func givenDeviceClass(name string, changes ...func(*resourcev1.DeviceClass)) {
	GinkgoHelper()
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	class.Spec.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{
		Expression: fmt.Sprintf("device.driver == %q", driver),
	}}}
	for _, change := range changes {
		change(class)
	}
	_, err := kube.ResourceV1().DeviceClasses().Create(ctx, class, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		Expect(kube.ResourceV1().DeviceClasses().Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
	})
}

// givenDevices publishes so many devices of a node. Claims outlive the specs, and with them what was allocated: two
// specs do not have devices of one class on one node.
func givenDevices(class, node string, count int) {
	GinkgoHelper()
	givenSlice(class+"-"+node, count, func(slice *resourcev1.ResourceSlice) { slice.Spec.NodeName = &node })
}

// givenDeviceOf publishes one device that the nodes with a label can use.
func givenDeviceOf(class, label, value string) {
	GinkgoHelper()
	givenSlice(class+"-"+value, 1, func(slice *resourcev1.ResourceSlice) {
		slice.Spec.NodeSelector = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: label, Operator: corev1.NodeSelectorOpIn, Values: []string{value}},
			},
		}}}
	})
}

// markDevice gives the one device of a claim a condition, as its driver does once it is allocated.
func markDevice(namespace, name, condition string) {
	GinkgoHelper()
	claims := kube.ResourceV1().ResourceClaims(namespace)
	claim, err := claims.Get(ctx, name, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	allocated := claim.Status.Allocation.Devices.Results[0]
	claim.Status.Devices = []resourcev1.AllocatedDeviceStatus{{
		Driver: allocated.Driver, Pool: allocated.Pool, Device: allocated.Device, Conditions: []metav1.Condition{
			{Type: condition, Status: metav1.ConditionTrue, Reason: "Marked", LastTransitionTime: metav1.Now()},
		},
	}}
	_, err = claims.UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

func givenSlice(
	pool string, count int, reachedFrom func(*resourcev1.ResourceSlice), changes ...func(*resourcev1.Device),
) {
	GinkgoHelper()
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: pool}}
	slice.Spec = resourcev1.ResourceSliceSpec{
		Driver: driver, Pool: resourcev1.ResourcePool{Name: pool, Generation: 1, ResourceSliceCount: 1},
	}
	reachedFrom(slice)
	for i := range count {
		device := resourcev1.Device{Name: fmt.Sprintf("device-%d", i)}
		for _, change := range changes {
			change(&device)
		}
		slice.Spec.Devices = append(slice.Spec.Devices, device)
	}
	_, err := kube.ResourceV1().ResourceSlices().Create(ctx, slice, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		Expect(kube.ResourceV1().ResourceSlices().Delete(ctx, slice.Name, metav1.DeleteOptions{})).To(Succeed())
	})
}

// givenClaim creates a claim for one device and has the pod use it.
func givenClaim(pod *corev1.Pod, name, class string) {
	GinkgoHelper()
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: name}}
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{
		Name: "one", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class,
			AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1},
	}}
	_, err := kube.ResourceV1().ResourceClaims(pod.Namespace).Create(ctx, claim, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	useClaim(pod, name)
}

func useClaim(pod *corev1.Pod, name string) {
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "device", ResourceClaimName: &name}}
	pod.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "device"}}
}

const localStorage = "local"

// givenLocalVolume offers a volume that exists on one node.
func givenLocalVolume(node string) {
	GinkgoHelper()
	class := &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: localStorage},
		Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer),
	}
	if _, err := kube.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{}); err == nil {
		DeferCleanup(func() {
			Expect(kube.StorageV1().StorageClasses().Delete(ctx, localStorage, metav1.DeleteOptions{})).To(Succeed())
		})
	}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "on-" + node}}
	volume.Spec = corev1.PersistentVolumeSpec{
		Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		StorageClassName:       localStorage,
		PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/data"}},
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
			},
		}}}},
	}
	created, err := kube.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	created.Status.Phase = corev1.VolumeAvailable
	_, err = kube.CoreV1().PersistentVolumes().UpdateStatus(ctx, created, metav1.UpdateOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		Expect(kube.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{})).To(Succeed())
	})
}

// givenVolumeClaim creates a claim for a local volume and has the pod use it.
func givenVolumeClaim(pod *corev1.Pod) {
	GinkgoHelper()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	claim.Spec = corev1.PersistentVolumeClaimSpec{
		AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		StorageClassName: ptr.To(localStorage),
		Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		},
	}
	_, err := kube.CoreV1().PersistentVolumeClaims(pod.Namespace).Create(ctx, claim, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
	}}}
}

const attacher = "csi.example.com"

// givenAttachable lets a node attach so many volumes of a driver.
func givenAttachable(node string, count int32) {
	GinkgoHelper()
	limits := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}}
	limits.Spec.Drivers = []storagev1.CSINodeDriver{
		{Name: attacher, NodeID: node, Allocatable: &storagev1.VolumeNodeResources{Count: &count}},
	}
	_, err := kube.StorageV1().CSINodes().Create(ctx, limits, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		Expect(kube.StorageV1().CSINodes().Delete(ctx, node, metav1.DeleteOptions{})).To(Succeed())
	})
}

// givenBoundClaim has a pod use a volume of its own, which exists and can be attached anywhere.
func givenBoundClaim(pod *corev1.Pod) {
	GinkgoHelper()
	amount := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	access := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: pod.Namespace + "-" + pod.Name}}
	volume.Spec = corev1.PersistentVolumeSpec{
		Capacity: amount, AccessModes: access,
		PersistentVolumeSource: corev1.PersistentVolumeSource{
			CSI: &corev1.CSIPersistentVolumeSource{Driver: attacher, VolumeHandle: pod.Name},
		},
		ClaimRef: &corev1.ObjectReference{Namespace: pod.Namespace, Name: pod.Name},
	}
	_, err := kube.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		Expect(kube.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{})).To(Succeed())
	})
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	claim.Spec = corev1.PersistentVolumeClaimSpec{
		AccessModes: access, VolumeName: volume.Name, StorageClassName: ptr.To(""),
		Resources: corev1.VolumeResourceRequirements{Requests: amount},
	}
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, "pv.kubernetes.io/bind-completed", "yes")
	claim, err = kube.CoreV1().PersistentVolumeClaims(pod.Namespace).Create(ctx, claim, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	claim.Status.Phase = corev1.ClaimBound
	_, err = kube.CoreV1().PersistentVolumeClaims(pod.Namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	Expect(err).NotTo(HaveOccurred())
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
	}}}
}

// bindVolumes does what the controller of persistent volumes does once the scheduler has chosen.
func bindVolumes(namespace string) {
	GinkgoHelper()
	volumes, err := kube.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	for i := range volumes.Items {
		volume := &volumes.Items[i]
		if volume.Spec.ClaimRef == nil || volume.Spec.ClaimRef.Namespace != namespace ||
			volume.Status.Phase == corev1.VolumeBound {
			continue
		}
		claim, err := kube.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, volume.Spec.ClaimRef.Name, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		claim.Spec.VolumeName = volume.Name
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, "pv.kubernetes.io/bind-completed", "yes")
		claim, err = kube.CoreV1().PersistentVolumeClaims(namespace).Update(ctx, claim, metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred())
		claim.Status.Phase = corev1.ClaimBound
		_, err = kube.CoreV1().PersistentVolumeClaims(namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred())
		volume.Status.Phase = corev1.VolumeBound
		_, err = kube.CoreV1().PersistentVolumes().UpdateStatus(ctx, volume, metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred())
	}
}
