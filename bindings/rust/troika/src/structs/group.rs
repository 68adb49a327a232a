// Written by bindings/generate.py from the C headers; do not edit.

use crate::convert::*;
use crate::*;
use troika_sys as sys;

/// The place of a process in its group.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct GroupInfo {
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
}

impl Struct for GroupInfo {
    type Raw = sys::troika_group_info;

    fn init() -> Self::Raw {
        initialized(sys::troika_group_info_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            rank: raw.rank,
            processes: raw.processes,
            local_rank: raw.local_rank,
            local_processes: raw.local_processes,
            node: raw.node,
            nodes: raw.nodes,
        })
    }
}

/// Options of a group. End a literal with `..Default::default()`.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupOptions {
    /// This process: 0 to processes - 1. `None` (default): as the launcher of this process says,
    /// with processes, node, rendezvous and the secret; rank 0 of 1 without a launcher.
    /// docs/several-machines.md lists the launchers and their variables.
    pub rank: Option<i32>,
    /// Their number, 1 to 4096; with a rank.
    pub processes: Option<i32>,
    /// The number of this process's machine; `None` (default): machines are told apart by their
    /// names. Channels and layers are split within a machine if possible.
    pub node: Option<i32>,
    /// The place at which the processes meet: "tcp://host:port", at which rank 0 listens;
    /// "file:///folder/name", a file in a folder that all processes see; or "mpi://": MPI passes on
    /// rank, size, rank 0's address and, unless one is set, a secret.
    pub rendezvous: Option<String>,
    /// The network interface ("eth0") or the address of this machine that other machines reach.
    /// `None` (default): loopback, or for rank 0 the host of rendezvous.
    pub network: Option<String>,
    /// "gloo", "mpi" or "nccl"; `None` (default): NCCL between GPUs; for the rest, shared memory
    /// within a machine and Gloo between machines. If some devices are CPUs and others GPUs,
    /// neither NCCL nor shared memory is used.
    pub transport: Option<String>,
    /// All processes prove to each other that they know it, before they exchange anything else.
    /// `None` (default): `TROIKA_SECRET`, or the contents of the file `TROIKA_SECRET_FILE`, if rank
    /// is not set; else none, which is refused if rank 0 listens beyond loopback.
    pub secret: Option<String>,
    /// Time for all processes to join; 1 to 2^31 - 1 milliseconds, default 60000.
    pub connect_timeout_ms: i32,
    /// Time of each collective call of the group; 1 to 2^31 - 1 milliseconds, default 120000.
    pub deadline_ms: i32,
}

impl Struct for GroupOptions {
    type Raw = sys::troika_group_options;

    fn init() -> Self::Raw {
        initialized(sys::troika_group_options_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            rank: optional_number(raw.rank),
            processes: optional_number(raw.processes),
            node: optional_number(raw.node),
            rendezvous: unsafe { optional_text(raw.rendezvous) },
            network: unsafe { optional_text(raw.network) },
            transport: unsafe { optional_text(raw.transport) },
            secret: unsafe { optional_text(raw.secret) },
            connect_timeout_ms: raw.connect_timeout_ms,
            deadline_ms: raw.deadline_ms,
        })
    }
}

impl Input for GroupOptions {
    fn to_raw(&self, held: &mut Held) -> Result<Self::Raw> {
        let mut raw = Self::init();
        raw.rank = self.rank.unwrap_or(sys::TROIKA_UNSET);
        raw.processes = self.processes.unwrap_or(sys::TROIKA_UNSET);
        raw.node = self.node.unwrap_or(sys::TROIKA_UNSET);
        raw.rendezvous = held.text(self.rendezvous.as_deref(), "rendezvous")?;
        raw.network = held.text(self.network.as_deref(), "network")?;
        raw.transport = held.text(self.transport.as_deref(), "transport")?;
        raw.secret = held.text(self.secret.as_deref(), "secret")?;
        raw.connect_timeout_ms = self.connect_timeout_ms;
        raw.deadline_ms = self.deadline_ms;
        Ok(raw)
    }
}

impl Default for GroupOptions {
    /// The library's defaults.
    fn default() -> Self {
        defaults()
    }
}
