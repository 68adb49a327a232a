/** @file device.h Devices: plain values that name a CPU slice or a GPU.
 *
 * Threads: every function of this header may be called from any thread at any time.
 */
#ifndef TROIKA_DEVICE_H
#define TROIKA_DEVICE_H

#include <troika/context.h>

TROIKA_BEGIN_DECLS

/** Kinds of device. */
enum {
  /** A logical CPU device. CPU devices that are attached together share the context's cores. */
  TROIKA_DEVICE_CPU = 1,
  TROIKA_DEVICE_CUDA = 2  /**< An NVIDIA GPU. */
};

/** A device: a value, free to copy. Its text form is `cpu:1` or `cuda:0`. Never grows. */
typedef struct troika_device {
  int32_t kind;   /**< TROIKA_DEVICE_CPU or TROIKA_DEVICE_CUDA. */
  int32_t index;  /**< From 0. */
} troika_device;

/** Description of a device. Filled by `troika_device_describe`. */
typedef struct troika_device_info {
  uint32_t struct_size;    /**< Set by the caller to sizeof(troika_device_info). */
  int32_t cores;           /**< CPU: cores that the process may use; GPU: multiprocessors. */
  int64_t memory_bytes;    /**< Total memory. */
  int64_t free_bytes;      /**< Memory that is free now. */
  char name[256];          /**< Name of the processor, UTF-8. */
} troika_device_info;

/** All zero except `struct_size`. */
#define TROIKA_DEVICE_INFO_INIT \
  { sizeof(troika_device_info), 0, 0, 0, {0} }

/** Fills `info` as TROIKA_DEVICE_INFO_INIT does. Any thread. */
TROIKA_API(void) troika_device_info_init(troika_device_info *info, uint32_t struct_size);

/**
 * Returns the number of usable devices of a kind: `cpu:0` ... `cpu:N-1`. A CPU device is logical: N
 * is at least 8 on any machine. Devices that are attached together divide the context's thread
 * budget.
 *
 * Errors: INVALID_ARGUMENT for an unknown kind. A kind that this machine cannot use has 0 devices,
 * which is no error: `troika_device_describe` says why. Any thread.
 */
TROIKA_API(troika_status) troika_device_count(troika_context context, int32_t kind,
                                              int32_t *out_device_count, troika_error *error);

/**
 * Describes one device: processor name, memory and free memory in bytes.
 *
 * Errors: DEVICE_UNAVAILABLE with the reason (what was looked for, where, and what the loader
 * said), INVALID_ARGUMENT for an unknown kind. Any thread.
 */
TROIKA_API(troika_status) troika_device_describe(troika_context context, troika_device device,
                                                 troika_device_info *out_info, troika_error *error);

/**
 * Reads a device from its text form: `cpu`, `cpu:1`, `cuda:0`. Does not check whether the device
 * exists.
 *
 * Errors: INVALID_ARGUMENT for any other text. Any thread.
 */
TROIKA_API(troika_status) troika_device_parse(const char *text, troika_device *out_device,
                                              troika_error *error);

/**
 * Writes a device's text form into the caller's buffer of `capacity` bytes, always NUL-terminated.
 * If `out_size` is not NULL, it receives the bytes needed, including the NUL. A buffer that is too
 * small, or NULL with capacity 0, is no error.
 *
 * Errors: INVALID_ARGUMENT for an unknown kind, or a capacity below 0. Any thread.
 */
TROIKA_API(troika_status) troika_device_format(troika_device device, char *buffer, int64_t capacity,
                                               int64_t *out_size, troika_error *error);

/**
 * Returns `cuda:index` if that GPU is usable, else `cpu:0`: the tutorials' try_gpu. Falls back
 * without an error.
 *
 * Errors: INVALID_ARGUMENT for an index below 0. Any thread.
 */
TROIKA_API(troika_status) troika_device_try(troika_context context, int32_t index,
                                            troika_device *out_device, troika_error *error);

/**
 * Returns every usable GPU, or `cpu:0` alone if there is none: the tutorials' try_all_gpus.
 * Fills at most `device_capacity` entries of `devices`, which may be NULL if `device_capacity` is
 * 0. `out_device_count` receives the number of devices found.
 *
 * Errors: INVALID_ARGUMENT for a `device_capacity` below 0. Any thread.
 */
TROIKA_API(troika_status) troika_devices_all(troika_context context, troika_device *devices,
                                             int32_t device_capacity, int32_t *out_device_count,
                                             troika_error *error);

TROIKA_END_DECLS

#endif
