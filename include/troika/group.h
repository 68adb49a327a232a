/** @file group.h Groups: the processes of a job, on one machine or several, that train together.
 *
 * A trainer that is attached with a group has the devices of all its processes. A rank is the
 * number of a process in its group. docs/several-machines.md goes from one process to two machines.
 *
 * Collective: all processes make the call, in the same order. If a process makes another call, or
 * does not come before the deadline, the call returns COMM on all of them.
 */
#ifndef TROIKA_GROUP_H
#define TROIKA_GROUP_H

#include <troika/context.h>
#include <troika/status.h>
#include <troika/tensor.h>

TROIKA_BEGIN_DECLS

/** The processes of a job. Counted: trainers keep their group alive. */
typedef struct troika_group_s *troika_group;

/** Options of a group. Begin with TROIKA_GROUP_OPTIONS_INIT. */
typedef struct troika_group_options {
  uint32_t struct_size; /**< sizeof(troika_group_options). */
  /** This process: 0 to `processes` - 1. TROIKA_UNSET (default): as the launcher of this process
   *  says, with `processes`, `node`, `rendezvous` and the secret; rank 0 of 1 without a launcher.
   *  docs/several-machines.md lists the launchers and their variables. */
  int32_t rank;
  int32_t processes; /**< Their number, 1 to 4096; with a rank. */
  /** The number of this process's machine; TROIKA_UNSET (default): machines are told apart by their
   *  names. Channels and layers are split within a machine if possible. */
  int32_t node;
  /** The place at which the processes meet: "tcp://host:port", at which rank 0 listens;
   *  "file:///folder/name", a file in a folder that all processes see; or "mpi://": MPI passes on
   *  rank, size, rank 0's address and, unless one is set, a secret. Copied. */
  const char *rendezvous;
  /** The network interface ("eth0") or the address of this machine that other machines reach. NULL
   *  (default): loopback, or for rank 0 the host of `rendezvous`. Copied. */
  const char *network;
  /** "gloo", "mpi" or "nccl"; NULL (default): NCCL between GPUs; for the rest, shared memory within
   *  a machine and Gloo between machines. If some devices are CPUs and others GPUs, neither NCCL
   *  nor shared memory is used. Copied. */
  const char *transport;
  /** All processes prove to each other that they know it, before they exchange anything else. NULL
   *  (default): TROIKA_SECRET, or the contents of the file TROIKA_SECRET_FILE, if `rank` is not
   *  set; else none, which is refused if rank 0 listens beyond loopback. Copied. */
  const char *secret;
  /** Time for all processes to join; 1 to 2^31 - 1 milliseconds, default 60000. */
  int32_t connect_timeout_ms;
  /** Time of each collective call of the group; 1 to 2^31 - 1 milliseconds, default 120000. */
  int32_t deadline_ms;
} troika_group_options;

/** Every field unset, a minute to join, two for each collective. */
#define TROIKA_GROUP_OPTIONS_INIT                                                                \
  {                                                                                              \
    sizeof(troika_group_options), TROIKA_UNSET, TROIKA_UNSET, TROIKA_UNSET, NULL, NULL, NULL,    \
        NULL, 60000, 120000                                                                      \
  }

/** Fills `options` as TROIKA_GROUP_OPTIONS_INIT does. Any thread. */
TROIKA_API(void) troika_group_options_init(troika_group_options *options, uint32_t struct_size);

/** The place of a process in its group. Begin with TROIKA_GROUP_INFO_INIT. */
typedef struct troika_group_info {
  uint32_t struct_size; /**< sizeof(troika_group_info). */
  int32_t rank;         /**< The number of this process. */
  int32_t processes;    /**< Their number. */
  int32_t local_rank;   /**< Its number among those of its machine. */
  int32_t local_processes; /**< The number of those of its machine. */
  int32_t node;         /**< The number of its machine; the machine of rank 0 is 0. */
  int32_t nodes;        /**< Machines. */
  int32_t reserved;     /**< 0. */
} troika_group_info;

/** Every field 0. */
#define TROIKA_GROUP_INFO_INIT                                                                   \
  { sizeof(troika_group_info), 0, 0, 0, 0, 0, 0, 0 }

/** Fills `info` as TROIKA_GROUP_INFO_INIT does. Any thread. */
TROIKA_API(void) troika_group_info_init(troika_group_info *info, uint32_t struct_size);

/**
 * Joins a group, and returns when all processes have joined. `options` may be NULL: defaults.
 * Collective.
 *
 * Owned: destroy `*out_group` with `troika_group_destroy`. Errors: INVALID_ARGUMENT, naming the
 * option or the variable. COMM, naming the ranks that have not joined, or the reason why rank 0
 * cannot be reached. IO (the file of a secret), OUT_OF_MEMORY. UNSUPPORTED if libsodium is missing,
 * or on Windows if there are several processes. Any thread.
 *
 *     troika_group group = NULL;
 *     troika_error error;
 *     if (troika_group_create(context, NULL, &group, &error) != TROIKA_OK) puts(error.message);
 */
TROIKA_API(troika_status) troika_group_create(troika_context context,
                                              const troika_group_options *options,
                                              troika_group *out_group, troika_error *error);

/** Describes the group and this process. Any thread. */
TROIKA_API(troika_status) troika_group_describe(troika_group group, troika_group_info *out_info,
                                                troika_error *error);

/**
 * Returns when all processes have called it. Collective.
 *
 * Errors: COMM. One thread per group at a time.
 */
TROIKA_API(troika_status) troika_group_barrier(troika_group group, troika_error *error);

/* Collectives of the caller's own tensors. A tensor may be on any device of this process; its data
 * pass through host memory. Every process makes the same call, with tensors that fit together:
 * otherwise MISMATCH names the rank and what differs, and the group can be used further. After COMM
 * the group cannot be used. One thread per group at a time. */

/**
 * Replaces the elements of `tensor` by their sums over all processes, which have the same bits in
 * every process. All processes have tensors of one type and shape: f32, f64, i32 or i64; f16 and
 * bf16 are summed in f32 and rounded once. Collective.
 *
 * Errors: INVALID_ARGUMENT, UNSUPPORTED (the type; the transport's plug-in is missing), MISMATCH,
 * COMM, OUT_OF_MEMORY, BUSY. One thread per group at a time.
 *
 *     if (troika_group_all_reduce(group, tensor, &error) != TROIKA_OK) puts(error.message);
 */
TROIKA_API(troika_status) troika_group_all_reduce(troika_group group, troika_tensor tensor,
                                                  troika_error *error);

/**
 * Replaces the elements of `tensor` by those of process `root`. Any type; all processes have
 * tensors of one type and shape. Collective.
 *
 * Errors: those of `troika_group_all_reduce`. One thread per group at a time.
 */
TROIKA_API(troika_status) troika_group_broadcast(troika_group group, troika_tensor tensor,
                                                 int32_t root, troika_error *error);

/**
 * Creates a tensor on the device of `tensor` with the tensors of all processes, one after another
 * along axis 0, by rank. Any type; sizes of axis 0 may differ, also be 0, others are equal.
 * Collective.
 *
 * Owned: destroy `*out_tensor` with `troika_tensor_destroy`. Errors: those of
 * `troika_group_all_reduce`. One thread per group at a time.
 */
TROIKA_API(troika_status) troika_group_all_gather(troika_group group, troika_tensor tensor,
                                                  troika_tensor *out_tensor, troika_error *error);

/**
 * Creates a tensor on the device of `tensor` with this process's rows of the sum over all
 * processes: rows are elements along axis 0, in the order of ranks; their numbers differ by at most
 * one, and the first ranks have more. Types as of `troika_group_all_reduce`. Collective.
 *
 * Owned: destroy `*out_tensor` with `troika_tensor_destroy`. Errors: those of
 * `troika_group_all_reduce`. One thread per group at a time.
 */
TROIKA_API(troika_status) troika_group_reduce_scatter(troika_group group, troika_tensor tensor,
                                                      troika_tensor *out_tensor,
                                                      troika_error *error);

/**
 * Sends the elements of `tensor` to process `to`, which calls `troika_group_receive`. Returns when
 * the tensor may change; the receiver need not have called yet. All processes connect to each other
 * in their first call of the group that communicates, so each must make one.
 *
 * Errors: those of `troika_group_all_reduce`. One thread per group at a time.
 */
TROIKA_API(troika_status) troika_group_send(troika_group group, troika_tensor tensor, int32_t to,
                                            troika_error *error);

/**
 * Replaces the elements of `tensor` by those that process `from` sends. Messages of one process
 * arrive in the order of their sends. MISMATCH if the sender's type or shape is another one; the
 * message is lost then, and the tensor is unchanged.
 *
 * Errors: those of `troika_group_all_reduce`. One thread per group at a time.
 */
TROIKA_API(troika_status) troika_group_receive(troika_group group, troika_tensor tensor,
                                               int32_t from, troika_error *error);

/**
 * Leaves the group. The handle must not be used again. NULL is ignored. Other processes notice when
 * they wait for this one. Never fails. Any thread, but not while another is inside a call with the
 * same handle.
 */
TROIKA_API(void) troika_group_destroy(troika_group group);

TROIKA_END_DECLS

#endif
