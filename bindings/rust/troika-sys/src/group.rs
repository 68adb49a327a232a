// Written by bindings/generate.py from the C headers; do not edit.

use crate::*;
use std::os::raw::c_char;

/// The object that [`troika_group`] points to.
#[repr(C)]
#[derive(Debug)]
pub struct troika_group_s {
    _private: [u8; 0],
}

/// The processes of a job. Counted: trainers keep their group alive.
pub type troika_group = *mut troika_group_s;

/// The place of a process in its group. Begin with `TROIKA_GROUP_INFO_INIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_group_info {
    /// sizeof([`troika_group_info`](crate::troika_group_info)).
    pub struct_size: u32,
    /// The number of this process.
    pub rank: i32,
    /// Their number.
    pub processes: i32,
    /// Its number among those of its machine.
    pub local_rank: i32,
    /// The number of those of its machine.
    pub local_processes: i32,
    /// The number of its machine; the machine of rank 0 is 0.
    pub node: i32,
    /// Machines.
    pub nodes: i32,
    /// 0.
    pub reserved: i32,
}

/// Options of a group. Begin with `TROIKA_GROUP_OPTIONS_INIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_group_options {
    /// sizeof([`troika_group_options`](crate::troika_group_options)).
    pub struct_size: u32,
    /// This process: 0 to processes - 1. [`TROIKA_UNSET`](crate::TROIKA_UNSET) (default): as the
    /// launcher of this process says, with processes, node, rendezvous and the secret; rank 0 of 1
    /// without a launcher. docs/several-machines.md lists the launchers and their variables.
    pub rank: i32,
    /// Their number, 1 to 4096; with a rank.
    pub processes: i32,
    /// The number of this process's machine; [`TROIKA_UNSET`](crate::TROIKA_UNSET) (default):
    /// machines are told apart by their names. Channels and layers are split within a machine if
    /// possible.
    pub node: i32,
    /// The place at which the processes meet: "tcp://host:port", at which rank 0 listens;
    /// "file:///folder/name", a file in a folder that all processes see; or "mpi://": MPI passes on
    /// rank, size, rank 0's address and, unless one is set, a secret. Copied.
    pub rendezvous: *const c_char,
    /// The network interface ("eth0") or the address of this machine that other machines reach.
    /// NULL (default): loopback, or for rank 0 the host of rendezvous. Copied.
    pub network: *const c_char,
    /// "gloo", "mpi" or "nccl"; NULL (default): NCCL between GPUs; for the rest, shared memory
    /// within a machine and Gloo between machines. If some devices are CPUs and others GPUs,
    /// neither NCCL nor shared memory is used. Copied.
    pub transport: *const c_char,
    /// All processes prove to each other that they know it, before they exchange anything else.
    /// NULL (default): `TROIKA_SECRET`, or the contents of the file `TROIKA_SECRET_FILE`, if rank
    /// is not set; else none, which is refused if rank 0 listens beyond loopback. Copied.
    pub secret: *const c_char,
    /// Time for all processes to join; 1 to 2^31 - 1 milliseconds, default 60000.
    pub connect_timeout_ms: i32,
    /// Time of each collective call of the group; 1 to 2^31 - 1 milliseconds, default 120000.
    pub deadline_ms: i32,
}

extern "C" {
    /// Fills options as `TROIKA_GROUP_OPTIONS_INIT` does. Any thread.
    pub fn troika_group_options_init(options: *mut troika_group_options, struct_size: u32);

    /// Fills info as `TROIKA_GROUP_INFO_INIT` does. Any thread.
    pub fn troika_group_info_init(info: *mut troika_group_info, struct_size: u32);

    /// Joins a group, and returns when all processes have joined. options may be NULL: defaults.
    /// Collective.
    ///
    /// Owned: destroy \*`out_group` with [`troika_group_destroy`](crate::troika_group_destroy).
    /// Errors: INVALID_ARGUMENT, naming the option or the variable. COMM, naming the ranks that
    /// have not joined, or the reason why rank 0 cannot be reached. IO (the file of a secret),
    /// OUT_OF_MEMORY. UNSUPPORTED if libsodium is missing, or on Windows if there are several
    /// processes. Any thread.
    pub fn troika_group_create(
        context: troika_context,
        options: *const troika_group_options,
        out_group: *mut troika_group,
        error: *mut troika_error,
    ) -> troika_status;

    /// Describes the group and this process. Any thread.
    pub fn troika_group_describe(
        group: troika_group,
        out_info: *mut troika_group_info,
        error: *mut troika_error,
    ) -> troika_status;

    /// Returns when all processes have called it. Collective.
    ///
    /// Errors: COMM. One thread per group at a time.
    pub fn troika_group_barrier(group: troika_group, error: *mut troika_error) -> troika_status;

    /// Replaces the elements of tensor by their sums over all processes, which have the same bits
    /// in every process. All processes have tensors of one type and shape: f32, f64, i32 or i64;
    /// f16 and bf16 are summed in f32 and rounded once. Collective.
    ///
    /// Errors: INVALID_ARGUMENT, UNSUPPORTED (the type; the transport's plug-in is missing),
    /// MISMATCH, COMM, OUT_OF_MEMORY, BUSY. One thread per group at a time.
    pub fn troika_group_all_reduce(
        group: troika_group,
        tensor: troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// Replaces the elements of tensor by those of process root. Any type; all processes have
    /// tensors of one type and shape. Collective.
    ///
    /// Errors: those of [`troika_group_all_reduce`](crate::troika_group_all_reduce). One thread per
    /// group at a time.
    pub fn troika_group_broadcast(
        group: troika_group,
        tensor: troika_tensor,
        root: i32,
        error: *mut troika_error,
    ) -> troika_status;

    /// Creates a tensor on the device of tensor with the tensors of all processes, one after
    /// another along axis 0, by rank. Any type; sizes of axis 0 may differ, also be 0, others are
    /// equal. Collective.
    ///
    /// Owned: destroy \*`out_tensor` with [`troika_tensor_destroy`](crate::troika_tensor_destroy).
    /// Errors: those of [`troika_group_all_reduce`](crate::troika_group_all_reduce). One thread per
    /// group at a time.
    pub fn troika_group_all_gather(
        group: troika_group,
        tensor: troika_tensor,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// Creates a tensor on the device of tensor with this process's rows of the sum over all
    /// processes: rows are elements along axis 0, in the order of ranks; their numbers differ by at
    /// most one, and the first ranks have more. Types as of
    /// [`troika_group_all_reduce`](crate::troika_group_all_reduce). Collective.
    ///
    /// Owned: destroy \*`out_tensor` with [`troika_tensor_destroy`](crate::troika_tensor_destroy).
    /// Errors: those of [`troika_group_all_reduce`](crate::troika_group_all_reduce). One thread per
    /// group at a time.
    pub fn troika_group_reduce_scatter(
        group: troika_group,
        tensor: troika_tensor,
        out_tensor: *mut troika_tensor,
        error: *mut troika_error,
    ) -> troika_status;

    /// Sends the elements of tensor to process to, which calls
    /// [`troika_group_receive`](crate::troika_group_receive). Returns when the tensor may change;
    /// the receiver need not have called yet. All processes connect to each other in their first
    /// call of the group that communicates, so each must make one.
    ///
    /// Errors: those of [`troika_group_all_reduce`](crate::troika_group_all_reduce). One thread per
    /// group at a time.
    pub fn troika_group_send(
        group: troika_group,
        tensor: troika_tensor,
        to: i32,
        error: *mut troika_error,
    ) -> troika_status;

    /// Replaces the elements of tensor by those that process from sends. Messages of one process
    /// arrive in the order of their sends. MISMATCH if the sender's type or shape is another one;
    /// the message is lost then, and the tensor is unchanged.
    ///
    /// Errors: those of [`troika_group_all_reduce`](crate::troika_group_all_reduce). One thread per
    /// group at a time.
    pub fn troika_group_receive(
        group: troika_group,
        tensor: troika_tensor,
        from: i32,
        error: *mut troika_error,
    ) -> troika_status;

    /// Leaves the group. The handle must not be used again. NULL is ignored. Other processes notice
    /// when they wait for this one. Never fails. Any thread, but not while another is inside a call
    /// with the same handle.
    pub fn troika_group_destroy(group: troika_group);
}
