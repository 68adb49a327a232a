package troika

/*
#include <troika/troika.h>
*/
import "C"

import "fmt"

// CPU returns the CPU device with an index. CPU devices are logical: those that are attached
// together share the cores of the context.
func CPU(index int32) Device { return Device{DeviceKindCPU, index} }

// CPUs returns the first n CPU devices.
func CPUs(n int) []Device {
	devices := make([]Device, n)
	for i := range devices {
		devices[i] = CPU(int32(i))
	}
	return devices
}

// CUDA returns the NVIDIA GPU with an index.
func CUDA(index int32) Device { return Device{DeviceKindCUDA, index} }

// ParseDevice reads the text form of a device: "cpu", "cpu:1", "cuda:0". Errors:
// ErrInvalidArgument. Any goroutine.
func ParseDevice(text string) (Device, error) {
	var device C.troika_device
	err := do(func(c *call) C.troika_status { return C.troika_device_parse(c.text("text", text), &device, &c.error) })
	return deviceOf(&device), err
}

// String returns the text form, such as "cpu:1".
func (d Device) String() string {
	text, err := textOf(func(c *call, b *buffer) C.troika_status {
		return C.troika_device_format(d.c(), b.first, b.capacity, &b.size, &c.error)
	})
	if err != nil {
		return fmt.Sprintf("Device{%d, %d}", d.Kind, d.Index)
	}
	return text
}

func (d Device) c() C.troika_device {
	return C.troika_device{kind: C.int32_t(d.Kind), index: C.int32_t(d.Index)}
}

// devicesToC returns devices as C has them, and one more element: so the first one always exists.
func devicesToC(devices []Device) []C.troika_device {
	converted := make([]C.troika_device, len(devices)+1)
	for i, device := range devices {
		converted[i] = device.c()
	}
	return converted
}

// devicesOf returns the devices that a function writes into an array.
func devicesOf(function func(c *call, devices *C.troika_device, capacity C.int32_t, count *C.int32_t) C.troika_status,
	objects ...user) ([]Device, error) {
	for capacity := 16; ; {
		found := make([]C.troika_device, capacity)
		var count C.int32_t
		err := do(func(c *call) C.troika_status { return function(c, &found[0], C.int32_t(capacity), &count) }, objects...)
		if err != nil {
			return nil, err
		}
		if capacity = int(count); capacity <= len(found) {
			devices := make([]Device, capacity)
			for i := range devices {
				devices[i] = deviceOf(&found[i])
			}
			return devices, nil
		}
	}
}
