/** @file operations.h Operations: computing with tensors, one call at a time.
 *
 * An operation runs on the device of its tensors, by the kernel that training uses for it. The
 * first call with new shapes chooses the kernel; later calls find it. On GPUs a call returns when
 * its work is launched. `troika_tensor_to_host` waits for the result, and so does
 * `troika_device_synchronize`.
 *
 * Result, errors and threads of all operations, unless they say otherwise:
 * - Owned: destroy `*out_tensor` with `troika_tensor_destroy`. On an error it is NULL.
 * - Errors: INVALID_ARGUMENT if shapes do not fit or tensors are on two devices (both are named),
 *   UNSUPPORTED if the element type is not f32, bf16 or f16, OUT_OF_MEMORY. Inputs have one type,
 *   which is that of the result. `troika_tensor_cast` makes another type.
 * - Threads: reads the tensors. Calls on one device run one after another.
 *
 * An axis below 0 counts from the end. If `troika_gradients_watch` has been called for an input,
 * the operation is recorded (gradients.h).
 *
 * Freed tensors leave up to 256 MiB of memory per device to later ones, until the context ends.
 */
#ifndef TROIKA_OPERATIONS_H
#define TROIKA_OPERATIONS_H

#include <troika/model.h>
#include <troika/tensor.h>

TROIKA_BEGIN_DECLS

/* ---- New tensors ---- */

/**
 * Creates a tensor whose numbers are all `value`. Zeros are also made by `troika_tensor_create`.
 *
 * Owned: destroy `*out_tensor`. Errors: INVALID_ARGUMENT (kind of device, dtype, rank or a
 * dimension), UNSUPPORTED (a dtype without arithmetic), DEVICE_UNAVAILABLE, OUT_OF_MEMORY. Any
 * thread.
 */
TROIKA_API(troika_status) troika_tensor_full(troika_context context, troika_device device,
                                             int32_t dtype, const int64_t *dims, int32_t rank,
                                             double value, troika_tensor *out_tensor,
                                             troika_error *error);

/**
 * Creates a tensor [count] with the numbers start, start + step, start + 2 step ...
 *
 * Owned, errors and threads: those of `troika_tensor_full`; INVALID_ARGUMENT also for `count` below
 * 0.
 */
TROIKA_API(troika_status) troika_tensor_arange(troika_context context, troika_device device,
                                               int32_t dtype, double start, double step,
                                               int64_t count, troika_tensor *out_tensor,
                                               troika_error *error);

/**
 * Creates a tensor of numbers that are uniform in [low, high). Number i is a function of `seed` and
 * i (Philox4x32-10, Salmon et al. 2011), so every device makes the same numbers.
 *
 * Owned, errors and threads: those of `troika_tensor_full`; INVALID_ARGUMENT also for bounds that
 * are not finite or in the wrong order.
 */
TROIKA_API(troika_status) troika_tensor_uniform(troika_context context, troika_device device,
                                                int32_t dtype, const int64_t *dims, int32_t rank,
                                                double low, double high, uint64_t seed,
                                                troika_tensor *out_tensor, troika_error *error);

/**
 * Creates a tensor of normally distributed numbers (Box and Muller 1958). Number i is a function of
 * `seed` and i, so every device makes the same numbers.
 *
 * Owned, errors and threads: those of `troika_tensor_full`; INVALID_ARGUMENT also for a `mean` or a
 * `deviation` that is not finite, and for a `deviation` below 0.
 */
TROIKA_API(troika_status) troika_tensor_normal(troika_context context, troika_device device,
                                               int32_t dtype, const int64_t *dims, int32_t rank,
                                               double mean, double deviation, uint64_t seed,
                                               troika_tensor *out_tensor, troika_error *error);

/* ---- Two tensors, number by number ----
 * Shapes may differ as in NumPy: axes are aligned at their ends, and an axis of size 1, or a
 * missing one, is repeated. */

/** a + b. Result, errors and threads: those of all operations. */
TROIKA_API(troika_status) troika_tensor_add(troika_tensor a, troika_tensor b,
                                            troika_tensor *out_tensor, troika_error *error);

/** a - b. Result, errors and threads: those of all operations. */
TROIKA_API(troika_status) troika_tensor_subtract(troika_tensor a, troika_tensor b,
                                                 troika_tensor *out_tensor, troika_error *error);

/** a b, number by number. Result, errors and threads: those of all operations. */
TROIKA_API(troika_status) troika_tensor_multiply(troika_tensor a, troika_tensor b,
                                                 troika_tensor *out_tensor, troika_error *error);

/** a / b. Result, errors and threads: those of all operations. */
TROIKA_API(troika_status) troika_tensor_divide(troika_tensor a, troika_tensor b,
                                               troika_tensor *out_tensor, troika_error *error);

/** Relations of `troika_tensor_compare`. */
enum {
  TROIKA_RELATION_EQUAL = 1,            /**< a == b */
  TROIKA_RELATION_NOT_EQUAL = 2,        /**< a != b; the only relation that holds with NaN */
  TROIKA_RELATION_LESS = 3,             /**< a < b */
  TROIKA_RELATION_LESS_OR_EQUAL = 4,    /**< a <= b */
  TROIKA_RELATION_GREATER = 5,          /**< a > b */
  TROIKA_RELATION_GREATER_OR_EQUAL = 6  /**< a >= b */
};

/**
 * Returns a tensor of u8: 1 if the relation (TROIKA_RELATION_LESS and so on) holds, else 0. Not
 * recorded. Result, errors and threads: those of all operations; INVALID_ARGUMENT for another
 * `relation`.
 */
TROIKA_API(troika_status) troika_tensor_compare(troika_tensor a, troika_tensor b, int32_t relation,
                                                troika_tensor *out_tensor, troika_error *error);

/* ---- One tensor, number by number ---- */

/** factor x + offset. Result, errors and threads: those of all operations. */
TROIKA_API(troika_status) troika_tensor_scale(troika_tensor x, double factor, double offset,
                                              troika_tensor *out_tensor, troika_error *error);

/** max(x, 0); NaN stays NaN. Result, errors and threads: those of all operations. */
TROIKA_API(troika_status) troika_tensor_relu(troika_tensor x, troika_tensor *out_tensor,
                                             troika_error *error);

/** 1 / (1 + e^-x). Result, errors and threads: those of all operations. */
TROIKA_API(troika_status) troika_tensor_sigmoid(troika_tensor x, troika_tensor *out_tensor,
                                                troika_error *error);

/** The hyperbolic tangent. Result, errors and threads: those of all operations. */
TROIKA_API(troika_status) troika_tensor_tanh(troika_tensor x, troika_tensor *out_tensor,
                                             troika_error *error);

/** GELU, as `troika_model_add_gelu`. Result, errors and threads: those of all operations. */
TROIKA_API(troika_status) troika_tensor_gelu(troika_tensor x, troika_tensor *out_tensor,
                                             troika_error *error);

/** x times the sigmoid of x. Result, errors and threads: those of all operations. */
TROIKA_API(troika_status) troika_tensor_silu(troika_tensor x, troika_tensor *out_tensor,
                                             troika_error *error);

/** x if x > 0, else slope x. Result, errors and threads: those of all operations. */
TROIKA_API(troika_status) troika_tensor_leaky_relu(troika_tensor x, double slope,
                                                   troika_tensor *out_tensor, troika_error *error);

/** |x|. Result, errors and threads: those of all operations. */
TROIKA_API(troika_status) troika_tensor_abs(troika_tensor x, troika_tensor *out_tensor,
                                            troika_error *error);

/** e^x. Result, errors and threads: those of all operations. */
TROIKA_API(troika_status) troika_tensor_exp(troika_tensor x, troika_tensor *out_tensor,
                                            troika_error *error);

/** The natural logarithm. Result, errors and threads: those of all operations. */
TROIKA_API(troika_status) troika_tensor_log(troika_tensor x, troika_tensor *out_tensor,
                                            troika_error *error);

/** The square root. Result, errors and threads: those of all operations. */
TROIKA_API(troika_status) troika_tensor_sqrt(troika_tensor x, troika_tensor *out_tensor,
                                             troika_error *error);

/**
 * The same numbers as f32, bf16, f16, i32, i64 or u8. Numbers are rounded to nearest even, and for
 * integers towards 0. A number that an integer type does not hold becomes the nearest one; NaN
 * becomes 0. Only casts between f32, bf16 and f16 have a gradient.
 *
 * Result and threads: those of all operations. Errors: UNSUPPORTED for another type.
 */
TROIKA_API(troika_status) troika_tensor_cast(troika_tensor x, int32_t dtype,
                                             troika_tensor *out_tensor, troika_error *error);

/* ---- In place ----
 * A tensor that was watched, or that an operation has recorded, is not changed: INVALID_ARGUMENT.
 * */

/**
 * Sets tensor = tensor + factor other, in the memory of `tensor`: an update by a gradient has the
 * factor -learning_rate. `other` may be smaller, as b in `troika_tensor_add`.
 *
 * Errors: those of all operations. Threads: writes `tensor`, reads `other`.
 */
TROIKA_API(troika_status) troika_tensor_add_in_place(troika_tensor tensor, troika_tensor other,
                                                     double factor, troika_error *error);

/**
 * Sets tensor = factor tensor + offset, in its own memory. Errors: those of all operations.
 * Threads: writes `tensor`.
 */
TROIKA_API(troika_status) troika_tensor_scale_in_place(troika_tensor tensor, double factor,
                                                       double offset, troika_error *error);

/* ---- Matrices and images ---- */

/**
 * Multiplies matrices: a [..., m, k] by b [..., k, n] to [..., m, n]. b may be one matrix [k, n]
 * for all of a. With `transpose_a` 1, a is stored as [..., k, m]; with `transpose_b` 1, b is stored
 * as [..., n, k].
 *
 * Result, errors and threads: those of all operations.
 */
TROIKA_API(troika_status) troika_tensor_matmul(troika_tensor a, troika_tensor b,
                                               int32_t transpose_a, int32_t transpose_b,
                                               troika_tensor *out_tensor, troika_error *error);

/**
 * Convolves images [batch, C, H, W] with a weight [K, C / groups, kernel_h, kernel_w], as
 * `troika_model_add_conv2d` does; `bias` [K] may be NULL. `options` may be NULL. Only `stride`,
 * `padding`, `dilation` and `groups` are read: the rest follows from the weight.
 *
 * Result, errors and threads: those of all operations. The bias is f32 with any type.
 */
TROIKA_API(troika_status) troika_tensor_conv2d(troika_tensor x, troika_tensor weight,
                                               troika_tensor bias,
                                               const troika_conv2d_options *options,
                                               troika_tensor *out_tensor, troika_error *error);

/**
 * The largest number of each window, as `troika_model_add_max_pool2d`. Result, errors and threads:
 * those of all operations.
 */
TROIKA_API(troika_status) troika_tensor_max_pool2d(troika_tensor x,
                                                   const troika_pool2d_options *options,
                                                   troika_tensor *out_tensor, troika_error *error);

/**
 * The mean of each window, as `troika_model_add_avg_pool2d`. Result, errors and threads: those of
 * all operations.
 */
TROIKA_API(troika_status) troika_tensor_avg_pool2d(troika_tensor x,
                                                   const troika_pool2d_options *options,
                                                   troika_tensor *out_tensor, troika_error *error);

/* ---- Shapes ---- */

/**
 * Shows the elements of x, row-major, under another shape. The result shares the memory of x. One
 * size may be -1: it follows from the others. Any element type.
 *
 * Result and threads: those of all operations. Errors: INVALID_ARGUMENT if the number of elements
 * differs.
 */
TROIKA_API(troika_status) troika_tensor_reshape(troika_tensor x, const int64_t *dims, int32_t rank,
                                                troika_tensor *out_tensor, troika_error *error);

/**
 * Axis i of the result is axis `order[i]` of x; `order` has as many numbers as x has axes. NULL:
 * the axes in reverse. Result, errors and threads: those of all operations.
 */
TROIKA_API(troika_status) troika_tensor_transpose(troika_tensor x, const int32_t *order,
                                                  troika_tensor *out_tensor, troika_error *error);

/**
 * The part [begin, end) of x along `axis`, as a copy. Result, errors and threads: those of all
 * operations.
 */
TROIKA_API(troika_status) troika_tensor_slice(troika_tensor x, int32_t axis, int64_t begin,
                                              int64_t end, troika_tensor *out_tensor,
                                              troika_error *error);

/**
 * Joins tensors along `axis`, in the order of the list. They may differ in the size of that axis
 * alone. Result, errors and threads: those of all operations.
 */
TROIKA_API(troika_status) troika_tensor_concat(const troika_tensor *tensors, int32_t tensor_count,
                                               int32_t axis, troika_tensor *out_tensor,
                                               troika_error *error);

/**
 * Repeats x until it has the shape `dims`: an axis of size 1, or a missing one at the front, is
 * repeated. Result, errors and threads: those of all operations.
 */
TROIKA_API(troika_status) troika_tensor_expand(troika_tensor x, const int64_t *dims, int32_t rank,
                                               troika_tensor *out_tensor, troika_error *error);

/* ---- Along axes ---- */

/**
 * The sums over some axes. `axes` NULL: over all. `keep_axes` 1 keeps them with the size 1.
 *
 * Result, errors and threads: those of all operations.
 */
TROIKA_API(troika_status) troika_tensor_sum(troika_tensor x, const int32_t *axes,
                                            int32_t axis_count, int32_t keep_axes,
                                            troika_tensor *out_tensor, troika_error *error);

/** The means over some axes, as `troika_tensor_sum`, with its errors and threads. */
TROIKA_API(troika_status) troika_tensor_mean(troika_tensor x, const int32_t *axes,
                                             int32_t axis_count, int32_t keep_axes,
                                             troika_tensor *out_tensor, troika_error *error);

/**
 * The root of the sum of all squares: the Frobenius norm of a matrix. Result, errors and threads:
 * those of all operations.
 */
TROIKA_API(troika_status) troika_tensor_norm(troika_tensor x, troika_tensor *out_tensor,
                                             troika_error *error);

/** e^x over the sum of e^x along `axis`. Result, errors and threads: those of all operations. */
TROIKA_API(troika_status) troika_tensor_softmax(troika_tensor x, int32_t axis,
                                                troika_tensor *out_tensor, troika_error *error);

/**
 * The places of the largest numbers along `axis`, as i64 without that axis. The first of equal
 * numbers counts; NaN counts as the largest. Not recorded. Result, errors and threads: those of all
 * operations.
 */
TROIKA_API(troika_status) troika_tensor_argmax(troika_tensor x, int32_t axis,
                                               troika_tensor *out_tensor, troika_error *error);

/**
 * The cross-entropy of each label, f32: of logits x [batch, classes], [batch, steps, classes] or
 * [batch, classes, H, W], and labels of that shape without its classes, of i32, i64 or u8.
 *
 * Result, errors and threads: those of all operations. The loss of a label that is no class is NaN.
 */
TROIKA_API(troika_status) troika_tensor_cross_entropy(troika_tensor x, troika_tensor labels,
                                                      troika_tensor *out_tensor,
                                                      troika_error *error);

/* ---- Seeing ---- */

/**
 * Writes a tensor as text: type, shape and device, then its numbers, in brackets per axis. A tensor
 * of more than 1,000 numbers shows the first and the last 3 of each axis that has more than 6.
 *
 * `buffer` of `capacity` bytes gets as much as fits, with a NUL; `*out_size` (may be NULL) the
 * bytes that the whole text needs, with its NUL. Errors: INVALID_ARGUMENT for a NULL `buffer` with
 * a `capacity`. Threads: reads the tensor.
 */
TROIKA_API(troika_status) troika_tensor_to_text(troika_tensor tensor, char *buffer,
                                                int64_t capacity, int64_t *out_size,
                                                troika_error *error);

/**
 * Waits until all operations on a device that were called before have ended.
 *
 * Errors: INVALID_ARGUMENT (kind of device), DEVICE_UNAVAILABLE; COMM and others that an operation
 * on a GPU ended with. Any thread.
 */
TROIKA_API(troika_status) troika_device_synchronize(troika_context context, troika_device device,
                                                    troika_error *error);

TROIKA_END_DECLS

#endif
