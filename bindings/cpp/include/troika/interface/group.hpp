/** @file interface/group.hpp Options and results of group.h in C++.
 *
 * Written by bindings/generate.py from the C headers; do not edit.
 *
 * Comments are those of C. 1 is true and 0 is false for a flag, and NULL is no value.
 */
#ifndef TROIKA_INTERFACE_GROUP_HPP
#define TROIKA_INTERFACE_GROUP_HPP

#include <troika/interface/defaults.hpp>

namespace troika {
inline namespace v1 {

/** The place of a process in its group. */
struct GroupInfo {
  /** The number of this process. */
  std::int32_t rank = {};
  /** Their number. */
  std::int32_t processes = {};
  /** Its number among those of its machine. */
  std::int32_t local_rank = {};
  /** The number of those of its machine. */
  std::int32_t local_processes = {};
  /** The number of its machine; the machine of rank 0 is 0. */
  std::int32_t node = {};
  /** Machines. */
  std::int32_t nodes = {};
};

namespace detail {

template <>
struct Converter<GroupInfo> {
  using Struct = troika_group_info;
  static GroupInfo from(const troika_group_info& from) {
    GroupInfo to;
    to.rank = convert<std::int32_t>(from.rank);
    to.processes = convert<std::int32_t>(from.processes);
    to.local_rank = convert<std::int32_t>(from.local_rank);
    to.local_processes = convert<std::int32_t>(from.local_processes);
    to.node = convert<std::int32_t>(from.node);
    to.nodes = convert<std::int32_t>(from.nodes);
    return to;
  }
};

}  // namespace detail

/** Options of a group. */
struct GroupOptions {
  /** This process: 0 to processes - 1. unset (default): as the launcher of this process says,
   *  with processes, node, rendezvous and the secret; rank 0 of 1 without a launcher.
   *  docs/several-machines.md lists the launchers and their variables. */
  std::int32_t rank = detail::initial<std::int32_t, &troika_group_options::rank>();
  /** Their number, 1 to 4096; with a rank. */
  std::int32_t processes = detail::initial<std::int32_t, &troika_group_options::processes>();
  /** The number of this process's machine; unset (default): machines are told apart by their
   *  names. Channels and layers are split within a machine if possible. */
  std::int32_t node = detail::initial<std::int32_t, &troika_group_options::node>();
  /** The place at which the processes meet: "tcp://host:port", at which rank 0 listens;
   *  "file:///folder/name", a file in a folder that all processes see; or "mpi://": MPI passes
   *  on rank, size, rank 0's address and, unless one is set, a secret. Copied. */
  std::optional<std::string> rendezvous =
      detail::initial<std::optional<std::string>, &troika_group_options::rendezvous>();
  /** The network interface ("eth0") or the address of this machine that other machines reach.
   *  NULL (default): loopback, or for rank 0 the host of rendezvous. Copied. */
  std::optional<std::string> network = detail::initial<std::optional<std::string>, &troika_group_options::network>();
  /** "gloo", "mpi" or "nccl"; NULL (default): NCCL between GPUs; for the rest, shared memory
   *  within a machine and Gloo between machines. If some devices are CPUs and others GPUs,
   *  neither NCCL nor shared memory is used. Copied. */
  std::optional<std::string> transport =
      detail::initial<std::optional<std::string>, &troika_group_options::transport>();
  /** All processes prove to each other that they know it, before they exchange anything else.
   *  NULL (default): TROIKA_SECRET, or the contents of the file TROIKA_SECRET_FILE, if rank is
   *  not set; else none, which is refused if rank 0 listens beyond loopback. Copied. */
  std::optional<std::string> secret = detail::initial<std::optional<std::string>, &troika_group_options::secret>();
  /** Time for all processes to join; 1 to 2^31 - 1 milliseconds, default 60000. */
  std::int32_t connect_timeout_ms = detail::initial<std::int32_t, &troika_group_options::connect_timeout_ms>();
  /** Time of each collective call of the group; 1 to 2^31 - 1 milliseconds, default 120000. */
  std::int32_t deadline_ms = detail::initial<std::int32_t, &troika_group_options::deadline_ms>();
};

namespace detail {

template <>
struct Raw<GroupOptions> {
  explicit Raw(const GroupOptions& from) {
    value.rank = from.rank;
    value.processes = from.processes;
    value.node = from.node;
    value.rendezvous = c_text(from.rendezvous, "rendezvous");
    value.network = c_text(from.network, "network");
    value.transport = c_text(from.transport, "transport");
    value.secret = c_text(from.secret, "secret");
    value.connect_timeout_ms = from.connect_timeout_ms;
    value.deadline_ms = from.deadline_ms;
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  const troika_group_options* get() const noexcept { return &value; }

  troika_group_options value = defaults<troika_group_options>();
};

}  // namespace detail

}  // namespace v1
}  // namespace troika

#endif
