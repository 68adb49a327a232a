// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Collections.Generic;
using Troika.Native;

namespace Troika
{
    /// <summary>The place of a process in its group.</summary>
    public sealed partial class GroupInfo
    {
        internal unsafe GroupInfo(troika_group_info* raw)
        {
            Rank = raw->rank;
            Processes = raw->processes;
            LocalRank = raw->local_rank;
            LocalProcesses = raw->local_processes;
            Node = raw->node;
            Nodes = raw->nodes;
        }

        /// <summary>The number of this process.</summary>
        public int Rank { get; }

        /// <summary>Their number.</summary>
        public int Processes { get; }

        /// <summary>Its number among those of its machine.</summary>
        public int LocalRank { get; }

        /// <summary>The number of those of its machine.</summary>
        public int LocalProcesses { get; }

        /// <summary>The number of its machine; the machine of rank 0 is 0.</summary>
        public int Node { get; }

        /// <summary>Machines.</summary>
        public int Nodes { get; }

        /// <summary>Returns all fields as text.</summary>
        public override string ToString() =>
            Fields.Text(
                "GroupInfo", ("Rank", Rank), ("Processes", Processes), ("LocalRank", LocalRank),
                ("LocalProcesses", LocalProcesses), ("Node", Node), ("Nodes", Nodes));
    }
}
