package troika

/*
#include "callbacks.h"
*/
import "C"

import "runtime/cgo"

// A Context is the root of all objects: backends, log, CPU threads and default seed. It never
// changes. Any goroutine may use it at any time.
type Context struct {
	object[C.troika_context]
}

// NewContext creates a context; nil options are the defaults. Errors: ErrInvalidArgument (the
// message names the field), ErrUnsupported (a library of another version). Any goroutine.
func NewContext(options *ContextOptions) (*Context, error) {
	if err := checkVersion(Version(), headerVersion); err != nil {
		return nil, err
	}
	state := new(contextState)
	var out C.troika_context
	err := do(func(c *call) C.troika_status {
		p := options.toC(c)
		if options == nil || options.Log == nil {
			return C.troika_context_create(p, &out, &c.error)
		}
		state.log = options.Log
		handle := cgo.NewHandle(state)
		C.troika_go_set_log(p, C.uintptr_t(handle))
		status := C.troika_context_create(p, &out, &c.error)
		if status < 0 {
			handle.Delete()
		}
		return status
	})
	if err != nil {
		return nil, err
	}
	context := new(Context)
	context.init(out, "context", func(h C.troika_context) { C.troika_context_destroy(h) }, state)
	return closeWhenCollected(context), nil
}

// Close gives up the context. Objects that were made from it keep it alive.
func (x *Context) Close() error { return closeUnlessNil(x) }

// DescribeBackends returns a line for each backend and transport: its version, or why it cannot be
// used. Any goroutine.
func (x *Context) DescribeBackends() (string, error) {
	return textOf(func(c *call, b *buffer) C.troika_status {
		return C.troika_context_describe_backends(x.handle, b.first, b.capacity, &b.size, &c.error)
	}, x)
}

// DeviceCount returns the number of usable devices of a kind, 0 if this machine has none. Errors:
// ErrInvalidArgument (an unknown kind). Any goroutine.
func (x *Context) DeviceCount(kind DeviceKind) (int32, error) {
	var count C.int32_t
	err := do(func(c *call) C.troika_status {
		return C.troika_device_count(x.handle, C.int32_t(kind), &count, &c.error)
	}, x)
	return int32(count), err
}

// DescribeDevice describes a device. Errors: ErrDeviceUnavailable with the reason,
// ErrInvalidArgument (an unknown kind). Any goroutine.
func (x *Context) DescribeDevice(device Device) (DeviceInfo, error) {
	info := defaultDeviceInfo
	err := do(func(c *call) C.troika_status {
		return C.troika_device_describe(x.handle, device.c(), &info, &c.error)
	}, x)
	return deviceInfoOf(&info), err
}

// Synchronize waits until all operations on tensors of a device that were called before have ended.
// Errors: ErrInvalidArgument (an unknown kind), ErrDeviceUnavailable, and the error of an operation
// that failed on a GPU. Any goroutine.
func (x *Context) Synchronize(device Device) error {
	return do(func(c *call) C.troika_status {
		return C.troika_device_synchronize(x.handle, device.c(), &c.error)
	}, x)
}

// TryDevice returns cuda:index if that GPU is usable, else cpu:0. Errors: ErrInvalidArgument (an
// index below 0). Any goroutine.
func (x *Context) TryDevice(index int32) (Device, error) {
	var device C.troika_device
	err := do(func(c *call) C.troika_status {
		return C.troika_device_try(x.handle, C.int32_t(index), &device, &c.error)
	}, x)
	return deviceOf(&device), err
}

// Devices returns all usable GPUs, or cpu:0 alone if there is none. Any goroutine.
func (x *Context) Devices() ([]Device, error) {
	return devicesOf(func(c *call, devices *C.troika_device, capacity C.int32_t, count *C.int32_t) C.troika_status {
		return C.troika_devices_all(x.handle, devices, capacity, count, &c.error)
	}, x)
}
