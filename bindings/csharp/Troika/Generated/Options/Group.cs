// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Collections.Generic;
using Troika.Native;

namespace Troika
{
    /// <summary>Options of a group.</summary>
    public sealed partial class GroupOptions
    {
        /// <summary>Begins with the library's defaults.</summary>
        public unsafe GroupOptions()
        {
            Library.Load();
            troika_group_options raw = troika_group_options.Default();
            ReadFrom(&raw);
        }

        /// <summary>This process: 0 to processes - 1. null (default): as the launcher of this
        /// process says, with processes, node, rendezvous and the secret; rank 0 of 1 without a
        /// launcher. docs/several-machines.md lists the launchers and their variables.</summary>
        public int? Rank { get; set; }

        /// <summary>Their number, 1 to 4096; with a rank.</summary>
        public int? Processes { get; set; }

        /// <summary>The number of this process's machine; null (default): machines are told apart
        /// by their names. Channels and layers are split within a machine if possible.</summary>
        public int? Node { get; set; }

        /// <summary>The place at which the processes meet: "tcp://host:port", at which rank 0
        /// listens; "file:///folder/name", a file in a folder that all processes see; or "mpi://":
        /// MPI passes on rank, size, rank 0's address and, unless one is set, a secret.
        /// Copied.</summary>
        public string Rendezvous { get; set; }

        /// <summary>The network interface ("eth0") or the address of this machine that other
        /// machines reach. null (default): loopback, or for rank 0 the host of rendezvous.
        /// Copied.</summary>
        public string Network { get; set; }

        /// <summary>"gloo", "mpi" or "nccl"; null (default): NCCL between GPUs; for the rest,
        /// shared memory within a machine and Gloo between machines. If some devices are CPUs and
        /// others GPUs, neither NCCL nor shared memory is used. Copied.</summary>
        public string Transport { get; set; }

        /// <summary>All processes prove to each other that they know it, before they exchange
        /// anything else. null (default): TROIKA_SECRET, or the contents of the file
        /// TROIKA_SECRET_FILE, if rank is not set; else none, which is refused if rank 0 listens
        /// beyond loopback. Copied.</summary>
        public string Secret { get; set; }

        /// <summary>Time for all processes to join; 1 to 2^31 - 1 milliseconds, default
        /// 60000.</summary>
        public int ConnectTimeoutMs { get; set; }

        /// <summary>Time of each collective call of the group; 1 to 2^31 - 1 milliseconds, default
        /// 120000.</summary>
        public int DeadlineMs { get; set; }

        private unsafe void ReadFrom(troika_group_options* raw)
        {
            Rank = raw->rank == Library.Unset ? (int?)null : raw->rank;
            Processes = raw->processes == Library.Unset ? (int?)null : raw->processes;
            Node = raw->node == Library.Unset ? (int?)null : raw->node;
            Rendezvous = Utf8.Read(raw->rendezvous);
            Network = Utf8.Read(raw->network);
            Transport = Utf8.Read(raw->transport);
            Secret = Utf8.Read(raw->secret);
            ConnectTimeoutMs = raw->connect_timeout_ms;
            DeadlineMs = raw->deadline_ms;
        }

        internal unsafe void WriteTo(troika_group_options* raw, NativeScope scope)
        {
            *raw = troika_group_options.Default();
            raw->rank = Rank ?? Library.Unset;
            raw->processes = Processes ?? Library.Unset;
            raw->node = Node ?? Library.Unset;
            raw->rendezvous = scope.Text(Rendezvous, "GroupOptions.Rendezvous");
            raw->network = scope.Text(Network, "GroupOptions.Network");
            raw->transport = scope.Text(Transport, "GroupOptions.Transport");
            raw->secret = scope.Text(Secret, "GroupOptions.Secret");
            raw->connect_timeout_ms = ConnectTimeoutMs;
            raw->deadline_ms = DeadlineMs;
        }
    }
}
