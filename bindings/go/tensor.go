package troika

/*
#include "callbacks.h"
*/
import "C"

import (
	"sync/atomic"
	"unsafe"
)

// A Tensor is an n-dimensional array on one device, dense and row-major.
//
// Calls that only read a tensor may run at once. While a call writes a tensor, no other call may
// use that tensor. The library does not check this.
type Tensor struct {
	object[C.troika_tensor]
}

// createTensor wraps the tensor that a function creates.
func createTensor(function func(c *call, out *C.troika_tensor) C.troika_status, objects ...user) (*Tensor, error) {
	var out C.troika_tensor
	shared, err := create(func(c *call) C.troika_status { return function(c, &out) }, objects...)
	if err != nil {
		return nil, err
	}
	return newTensor(out, shared), nil
}

func newTensor(handle C.troika_tensor, shared *contextState) *Tensor {
	tensor := new(Tensor)
	tensor.init(handle, "tensor", func(h C.troika_tensor) { C.troika_tensor_destroy(h) }, shared)
	return closeWhenCollected(tensor)
}

// Close gives up the tensor.
func (t *Tensor) Close() error { return closeUnlessNil(t) }

// NewTensor creates a tensor of a shape on a device. data has its elements, row-major, and is
// copied; nil fills with zeros. No dims make a scalar. Errors: ErrInvalidArgument,
// ErrDeviceUnavailable, ErrOutOfMemory. Any goroutine.
func NewTensor[T Element](context *Context, device Device, data []T, dims ...int64) (*Tensor, error) {
	// The library refuses a shape that has no number of elements.
	if n := product(dims); data != nil && n >= 0 && n != int64(len(data)) {
		return nil, refuse("data has %d elements, need %d for the shape %v", len(data), n, dims)
	}
	bytes, _ := memory(data)
	shape := dimsToC(dims)
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		rank := length(c, "dims", len(dims))
		if data == nil {
			return C.troika_tensor_create(context.handle, device.c(), C.int32_t(DtypeOf[T]()), &shape[0], rank, nil, out, &c.error)
		}
		return C.troika_tensor_create(context.handle, device.c(), C.int32_t(DtypeOf[T]()), &shape[0], rank,
			unsafe.Pointer(&bytes[0]), out, &c.error)
	}, context)
}

// Describe returns type, shape, device and size.
func (t *Tensor) Describe() (TensorInfo, error) {
	info := defaultTensorInfo
	err := do(func(c *call) C.troika_status { return C.troika_tensor_describe(t.handle, &info, &c.error) }, t)
	return tensorInfoOf(&info), err
}

// hasType refuses a tensor whose elements are not of type T.
func hasType[T Element](tensor *Tensor) (TensorInfo, error) {
	info, err := tensor.Describe()
	if err == nil && info.Dtype != DtypeOf[T]() {
		err = refuse("tensor has elements of type %v, the slice has %v", info.Dtype, DtypeOf[T]())
	}
	return info, err
}

// Values returns a copy of the elements, row-major. Errors: ErrInvalidArgument (another type).
func Values[T Element](tensor *Tensor) ([]T, error) {
	info, err := hasType[T](tensor)
	if err != nil {
		return nil, err
	}
	values := make([]T, product(info.Dims))
	return values, ToHost(tensor, values)
}

// ToHost copies the elements, row-major, into data. Errors: ErrInvalidArgument (another type or
// number of elements).
func ToHost[T Element](tensor *Tensor, data []T) error {
	if _, err := hasType[T](tensor); err != nil {
		return err
	}
	bytes, size := memory(data)
	return do(func(c *call) C.troika_status {
		return C.troika_tensor_to_host(tensor.handle, unsafe.Pointer(&bytes[0]), size, &c.error)
	}, tensor)
}

// FromHost copies data, row-major, into the tensor. Errors: ErrInvalidArgument (another type or
// number of elements). Writes the tensor.
func FromHost[T Element](tensor *Tensor, data []T) error {
	if _, err := hasType[T](tensor); err != nil {
		return err
	}
	bytes, size := memory(data)
	return do(func(c *call) C.troika_status {
		return C.troika_tensor_from_host(tensor.handle, unsafe.Pointer(&bytes[0]), size, &c.error)
	}, tensor)
}

// Copy copies the elements into destination, which has the same type and shape, on any device.
// Errors: ErrInvalidArgument, ErrOutOfMemory. Writes destination.
func (t *Tensor) Copy(destination *Tensor) error {
	return do(func(c *call) C.troika_status {
		return C.troika_tensor_copy(t.handle, destination.handle, &c.error)
	}, t, destination)
}

// To returns a copy on a device. Errors: ErrInvalidArgument, ErrDeviceUnavailable, ErrOutOfMemory.
func (t *Tensor) To(device Device) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) C.troika_status {
		return C.troika_tensor_to(t.handle, device.c(), out, &c.error)
	}, t)
}

// Scatter cuts a tensor along dimension 0 into one piece per device, in order. Sizes differ by at
// most one, and the first pieces are the larger ones. Errors: ErrInvalidArgument,
// ErrDeviceUnavailable, ErrOutOfMemory.
func (t *Tensor) Scatter(devices ...Device) ([]*Tensor, error) {
	list := devicesToC(devices)
	out := make([]C.troika_tensor, len(list))
	err := do(func(c *call) C.troika_status {
		return C.troika_tensor_scatter(t.handle, &list[0], length(c, "devices", len(devices)), &out[0], &c.error)
	}, t)
	if err != nil {
		return nil, err
	}
	pieces := make([]*Tensor, len(devices))
	for i := range pieces {
		pieces[i] = newTensor(out[i], t.shared)
	}
	return pieces, nil
}

// AllReduce adds tensors of one type and shape, in their order, and puts the sum into each. Errors:
// ErrInvalidArgument, ErrUnsupported (a type that cannot be added), ErrOutOfMemory. Writes all
// tensors.
func AllReduce(tensors ...*Tensor) error {
	return do(func(c *call) C.troika_status {
		handles := handlesOf(c, tensors)
		return C.troika_tensor_all_reduce(&handles[0], length(c, "tensors", len(tensors)), &c.error)
	})
}

// A DLPack is a tensor in the form in which libraries exchange tensors: a DLManagedTensor, or a
// DLManagedTensorVersioned of DLPack 1.0. Whoever owns it calls its deleter once.
type DLPack struct {
	object[unsafe.Pointer]
	isVersioned bool
	isTaken     *atomic.Bool
}

// NewDLPack takes over the struct of another library. Close calls its deleter. Calls refuse what it
// returns for nil.
func NewDLPack(managed unsafe.Pointer, isVersioned bool) *DLPack {
	if managed == nil {
		return new(DLPack)
	}
	return newDLPack(managed, isVersioned, new(contextState))
}

func newDLPack(managed unsafe.Pointer, isVersioned bool, shared *contextState) *DLPack {
	isTaken := new(atomic.Bool)
	version := C.int(flag(isVersioned))
	pack := &DLPack{isVersioned: isVersioned, isTaken: isTaken}
	pack.init(managed, "DLPack", func(managed unsafe.Pointer) {
		if !isTaken.Load() {
			C.troika_go_delete_dlpack(managed, version)
		}
	}, shared)
	return closeWhenCollected(pack)
}

// Close calls the deleter, unless the struct was taken.
func (d *DLPack) Close() error { return closeUnlessNil(d) }

// Take returns the struct for another library, which then owns it. Errors: ErrClosed.
func (d *DLPack) Take() (unsafe.Pointer, error) {
	if err := hold(d); err != nil {
		return nil, err
	}
	defer d.end()
	d.take()
	return d.handle, nil
}

// take ends the ownership, within a call that uses the struct.
func (d *DLPack) take() {
	d.isTaken.Store(true)
	d.close()
}

// ToDLPack exports a tensor without a copy, in the layout of DLPack 0.8. The memory outlives the
// tensor's Close. Errors: ErrOutOfMemory.
func (t *Tensor) ToDLPack() (*DLPack, error) {
	var out *C.struct_DLManagedTensor
	err := do(func(c *call) C.troika_status { return C.troika_tensor_to_dlpack(t.handle, &out, &c.error) }, t)
	if err != nil {
		return nil, err
	}
	return newDLPack(unsafe.Pointer(out), false, t.shared), nil
}

// ToDLPackVersioned exports a tensor as ToDLPack does, in the layout of DLPack 1.0.
func (t *Tensor) ToDLPackVersioned() (*DLPack, error) {
	var out *C.struct_DLManagedTensorVersioned
	err := do(func(c *call) C.troika_status { return C.troika_tensor_to_dlpack_versioned(t.handle, &out, &c.error) }, t)
	if err != nil {
		return nil, err
	}
	return newDLPack(unsafe.Pointer(out), true, t.shared), nil
}

// TensorFromDLPack creates a tensor without a copy, and takes the struct. If it fails, the struct
// is not taken. Errors: ErrInvalidArgument, ErrUnsupported (strides, a type, a device),
// ErrDeviceUnavailable, ErrOutOfMemory. Any goroutine.
func TensorFromDLPack(context *Context, managed *DLPack) (*Tensor, error) {
	return createTensor(func(c *call, out *C.troika_tensor) (status C.troika_status) {
		if managed.isVersioned {
			status = C.troika_tensor_from_dlpack_versioned(context.handle,
				(*C.struct_DLManagedTensorVersioned)(managed.handle), out, &c.error)
		} else {
			status = C.troika_tensor_from_dlpack(context.handle, (*C.struct_DLManagedTensor)(managed.handle), out, &c.error)
		}
		if status == C.TROIKA_OK {
			managed.take()
		}
		return status
	}, context, managed)
}
