/** @file tensor.h Tensors: n-dimensional arrays on one device.
 *
 * Threads: calls on different tensors may run at once, and so may calls that only read one tensor.
 * While a call writes a tensor, no other call may use that tensor. The library does not check this:
 * no call returns BUSY.
 */
#ifndef TROIKA_TENSOR_H
#define TROIKA_TENSOR_H

#include <troika/device.h>

TROIKA_BEGIN_DECLS

/** An n-dimensional array on one device, dense and row-major. Counted. */
typedef struct troika_tensor_s *troika_tensor;

/** Largest rank of a tensor. */
#define TROIKA_MAX_RANK 8

/** Element types. */
enum {
  TROIKA_DTYPE_F32 = 1,  /**< IEEE 754 single precision. */
  TROIKA_DTYPE_F64 = 2,  /**< IEEE 754 double precision. */
  TROIKA_DTYPE_I32 = 3,  /**< Signed 32-bit integer. */
  TROIKA_DTYPE_I64 = 4,  /**< Signed 64-bit integer. */
  TROIKA_DTYPE_U8 = 5,   /**< Unsigned 8-bit integer. */
  TROIKA_DTYPE_BF16 = 6, /**< bfloat16: 8 bits of exponent, 7 of fraction. */
  TROIKA_DTYPE_F16 = 7,  /**< IEEE 754 half precision. */
  /* The types below are stored and moved; no op computes with them. */
  TROIKA_DTYPE_I8 = 8,      /**< Signed 8-bit integer. */
  TROIKA_DTYPE_I16 = 9,     /**< Signed 16-bit integer. */
  TROIKA_DTYPE_BOOL = 10,   /**< One byte, 0 or 1. */
  TROIKA_DTYPE_F8_E4M3 = 11, /**< 8 bits: 4 of exponent, 3 of fraction, no infinity. */
  TROIKA_DTYPE_F8_E5M2 = 12  /**< 8 bits: 5 of exponent, 2 of fraction. */
};

/**
 * Creates a tensor of `rank` dimensions `dims` on `device`. `data` holds the elements, row-major,
 * in host memory, and is copied; NULL fills with zeros. Rank 0 is a scalar; a dimension may be 0.
 *
 * Owned: destroy `*out_tensor` with `troika_tensor_destroy`. Errors: INVALID_ARGUMENT (kind of
 * device, dtype, rank or a dimension), DEVICE_UNAVAILABLE, OUT_OF_MEMORY. Any thread.
 */
TROIKA_API(troika_status) troika_tensor_create(troika_context context, troika_device device,
                                               int32_t dtype, const int64_t *dims, int32_t rank,
                                               const void *data, troika_tensor *out_tensor,
                                               troika_error *error);

/**
 * Gives up the caller's hold on a tensor. NULL is ignored. Never fails. Any thread, but not while
 * another is inside a call with the same handle.
 */
TROIKA_API(void) troika_tensor_destroy(troika_tensor tensor);

/** Description of a tensor. Filled by `troika_tensor_describe`. */
typedef struct troika_tensor_info {
  uint32_t struct_size;          /**< Set by the caller to sizeof(troika_tensor_info). */
  int32_t dtype;                 /**< TROIKA_DTYPE_F32 and so on. */
  int32_t rank;                  /**< Number of dimensions, 0 to TROIKA_MAX_RANK. */
  troika_device device;          /**< The device that stores it. */
  int32_t reserved;              /**< 0. */
  int64_t dims[TROIKA_MAX_RANK]; /**< Sizes; 0 beyond `rank`. */
  int64_t size_bytes;            /**< Bytes of all elements. */
} troika_tensor_info;

/** All zero except `struct_size`. */
#define TROIKA_TENSOR_INFO_INIT \
  { sizeof(troika_tensor_info), 0, 0, {0, 0}, 0, {0}, 0 }

/** Fills `info` as TROIKA_TENSOR_INFO_INIT does. Any thread. */
TROIKA_API(void) troika_tensor_info_init(troika_tensor_info *info, uint32_t struct_size);

/**
 * Describes a tensor without reading its values. Errors: INVALID_ARGUMENT (`struct_size`). Any
 * thread.
 */
TROIKA_API(troika_status) troika_tensor_describe(troika_tensor tensor, troika_tensor_info *out_info,
                                                 troika_error *error);

/**
 * Copies the elements, row-major, into `data` in host memory, `size_bytes` long.
 *
 * Errors: INVALID_ARGUMENT if `size_bytes` is not the tensor's size. Threads: reads the tensor.
 */
TROIKA_API(troika_status) troika_tensor_to_host(troika_tensor tensor, void *data,
                                                int64_t size_bytes, troika_error *error);

/**
 * Copies `data`, row-major in host memory, `size_bytes` long, into the tensor.
 *
 * Errors: INVALID_ARGUMENT if `size_bytes` is not the tensor's size. Threads: writes the tensor.
 */
TROIKA_API(troika_status) troika_tensor_from_host(troika_tensor tensor, const void *data,
                                                  int64_t size_bytes, troika_error *error);

/**
 * Copies the elements of `source` into `destination`, from device to device; shape and dtype must
 * agree.
 *
 * Errors: INVALID_ARGUMENT if they differ, OUT_OF_MEMORY. Threads: reads `source`, writes
 * `destination`.
 */
TROIKA_API(troika_status) troika_tensor_copy(troika_tensor source, troika_tensor destination,
                                             troika_error *error);

/**
 * Returns a new tensor with the same elements on `device`: always a copy, even if the tensor is
 * already there.
 *
 * Owned: destroy `*out_tensor`. Errors: INVALID_ARGUMENT (kind of device), DEVICE_UNAVAILABLE,
 * OUT_OF_MEMORY. Threads: reads the tensor.
 */
TROIKA_API(troika_status) troika_tensor_to(troika_tensor tensor, troika_device device,
                                           troika_tensor *out_tensor, troika_error *error);

/**
 * Cuts a tensor along dimension 0 into `device_count` pieces, in order, and puts piece i on
 * `devices[i]`. The sizes of pieces differ by at most one, the larger pieces first: 10 rows on 4
 * devices are cut into 3, 3, 2 and 2. Pieces may be empty.
 *
 * Owned: destroy each of `out_tensors[0 .. device_count-1]`; on an error all are NULL. Errors:
 * INVALID_ARGUMENT (rank 0, `device_count` below 1, kind of device), DEVICE_UNAVAILABLE,
 * OUT_OF_MEMORY. Threads: reads the tensor.
 */
TROIKA_API(troika_status) troika_tensor_scatter(troika_tensor tensor, const troika_device *devices,
                                                int32_t device_count, troika_tensor *out_tensors,
                                                troika_error *error);

/**
 * Sums `tensor_count` tensors of one shape and dtype element by element, in the order of the list,
 * and puts the sum into each. The result has the same bits on every device. f32, f64, bf16, f16,
 * i32, i64 and u8; sums of 16-bit numbers are rounded once, and integers wrap around.
 *
 * Errors: INVALID_ARGUMENT (shapes or dtypes differ, the same tensor twice, `tensor_count` below
 * 1), UNSUPPORTED (other dtypes), OUT_OF_MEMORY. Threads: writes every tensor of the list.
 */
TROIKA_API(troika_status) troika_tensor_all_reduce(const troika_tensor *tensors,
                                                   int32_t tensor_count, troika_error *error);

struct DLManagedTensor;          /* of dlpack.h */
struct DLManagedTensorVersioned; /* of dlpack.h 1.0 and later */

/**
 * Exports a tensor to DLPack (version 0.8 layout) without a copy.
 *
 * Owned: whoever takes `*out_managed` calls its `deleter` once, from any thread. The memory stays
 * valid until then, even after `troika_tensor_destroy`. Errors: OUT_OF_MEMORY. Threads: reads the
 * tensor; if the consumer reads or writes the memory, that counts as reading or writing the tensor.
 */
TROIKA_API(troika_status) troika_tensor_to_dlpack(troika_tensor tensor,
                                                  struct DLManagedTensor **out_managed,
                                                  troika_error *error);

/**
 * Exports a tensor as `troika_tensor_to_dlpack` does, in the layout of DLPack 1.0, which says its
 * own version.
 *
 * Owned, errors and threads: those of `troika_tensor_to_dlpack`.
 */
TROIKA_API(troika_status) troika_tensor_to_dlpack_versioned(
    troika_tensor tensor, struct DLManagedTensorVersioned **out_managed, troika_error *error);

/**
 * Creates a tensor from another library's DLPack struct without a copy. Memory that is not aligned
 * to its type is copied, and the deleter is called at once. On success the tensor owns
 * `managed` and calls its deleter when the last hold on it ends; on failure the caller still owns
 * it.
 *
 * Owned: destroy `*out_tensor`. Errors: INVALID_ARGUMENT (rank, a dimension, no memory),
 * UNSUPPORTED (strides that are not row-major, an unknown dtype, a device that is neither CPU nor
 * CUDA), DEVICE_UNAVAILABLE, OUT_OF_MEMORY. Any thread. Memory of a GPU must be ready for any
 * stream: the call does not wait for work that the producer has in flight.
 */
TROIKA_API(troika_status) troika_tensor_from_dlpack(troika_context context,
                                                    struct DLManagedTensor *managed,
                                                    troika_tensor *out_tensor, troika_error *error);

/**
 * Creates a tensor as `troika_tensor_from_dlpack` does, from a struct of DLPack 1.x. Memory that is
 * marked as read-only is copied.
 *
 * Owned, errors and threads: those of `troika_tensor_from_dlpack`; UNSUPPORTED also for another
 * major version than 1.
 */
TROIKA_API(troika_status) troika_tensor_from_dlpack_versioned(
    troika_context context, struct DLManagedTensorVersioned *managed, troika_tensor *out_tensor,
    troika_error *error);

TROIKA_END_DECLS

#endif
