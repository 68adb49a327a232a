// Launchers and their variables.
#include "group/launch_environment.h"

#include <charconv>
#include <fstream>
#include <sstream>
#include <vector>

#include "core/error.h"
#include "core/machine.h"
#include "core/path.h"
#include "core/text.h"
#include "core/utf8.h"

namespace troika {
namespace {

constexpr int kFirstPort = 15000, kPorts = 16384;  // of jobs that have a number and no port

class Reader {
 public:
  explicit Reader(const Variables& variables) : variables_(variables) {}

  bool has(const std::string& name) const { return variables_(name).has_value(); }
  std::string text_of(const std::string& name) const { return variables_(name).value_or(""); }
  int number(const std::string& name) const {
    const std::string value = require(name);
    int number = 0;
    const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (failure != std::errc() || end != value.data() + value.size())
      throw Error(Status::invalid_argument, text("group: ", name, " is '", printable_name(value), "', needs a number"));
    return number;
  }
  int number_or(const std::string& name, int otherwise) const { return has(name) ? number(name) : otherwise; }
  std::string require(const std::string& name) const {
    const std::optional<std::string> value = variables_(name);
    if (!value) throw Error(Status::invalid_argument, text("group: ", name, " is not set, but other variables of the launcher are"));
    return *value;
  }

 private:
  const Variables& variables_;
};

// Processes of one machine meet in a file that only this user's job knows.
std::string file_of_job(const std::string& job) {
  std::string name = text("/tmp/troika-", user_id(), "-");
  for (char c : job) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return "file://" + name;
}

// Returns the first host of Slurm's list: "n01" of "n[01-03,07],m1".
std::string first_host(const std::string& list) {
  const size_t end = list.find_first_of(",["), close = list.find(']');
  if (end == std::string::npos || list[end] == ',') return list.substr(0, end);
  const size_t stop = list.find_first_of(",-]", end);
  const size_t suffix_end = list.find_first_of(",[", close);
  return list.substr(0, end) + list.substr(end + 1, stop - end - 1) +
         (close == std::string::npos ? "" : list.substr(close + 1, suffix_end - close - 1));
}

// torchrun's own store listens at MASTER_PORT.
std::string master_address(const Reader& reader) {
  const int port = reader.number("MASTER_PORT") + (reader.text_of("TORCHELASTIC_USE_AGENT_STORE") == "True" ? 1 : 0);
  return text("tcp://", reader.require("MASTER_ADDR"), ':', port);
}

// A launcher that says rank and size, and whether all processes are on one machine.
void read_mpi(GroupOptions& options, const Reader& reader, const std::string& rank, const std::string& size,
              const std::string& local_size, const std::string& job) {
  options.rank = reader.number(rank);
  options.size = reader.number(size);
  if (reader.has("TROIKA_RENDEZVOUS")) return;
  if (reader.has("MASTER_ADDR")) {
    options.rendezvous = master_address(reader);
  } else if (reader.number_or(local_size, -1) == options.size) {
    options.rendezvous = file_of_job(job);
  } else if (options.size > 1 && reader.has("OMPI_COMM_WORLD_RANK")) {
    options.rendezvous = "mpi://";
  } else if (options.size > 1) {
    throw Error(Status::invalid_argument,
                text("group: ", rank, " and ", size, " are set, but nothing says where rank 0 is; set"
                     " TROIKA_RENDEZVOUS, or MASTER_ADDR and MASTER_PORT, for all processes"));
  }
}

std::string read_secret(const Reader& reader) {
  if (reader.has("TROIKA_SECRET")) return reader.text_of("TROIKA_SECRET");
  if (!reader.has("TROIKA_SECRET_FILE")) return "";
  const std::string path = reader.text_of("TROIKA_SECRET_FILE");
  std::ifstream file(path_of(path), std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  std::string secret = bytes.str();
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  if (!file || secret.empty())
    throw Error(Status::io, text("group: TROIKA_SECRET_FILE '", printable_name(path), "' cannot be read, or is empty"));
  return secret;
}

}  // namespace

GroupOptions read_launch_environment(const Variables& variables) {
  const Reader reader(variables);
  GroupOptions options;
  if (reader.has("TROIKA_RANK")) {
    options.rank = reader.number("TROIKA_RANK");
    options.size = reader.number("TROIKA_WORLD_SIZE");
    if (options.size > 1) options.rendezvous = reader.has("TROIKA_RENDEZVOUS") ? "" : master_address(reader);
  } else if (reader.text_of("TROIKA_LAUNCHER") == "none") {
    return options;
  } else if (reader.has("RANK") && reader.has("WORLD_SIZE")) {
    options.rank = reader.number("RANK");
    options.size = reader.number("WORLD_SIZE");
    if (options.size > 1 && !reader.has("TROIKA_RENDEZVOUS")) options.rendezvous = master_address(reader);
  } else if (reader.has("OMPI_COMM_WORLD_RANK")) {
    read_mpi(options, reader, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
             reader.text_of("PMIX_NAMESPACE"));
  } else if (reader.has("PMI_RANK")) {
    read_mpi(options, reader, "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", reader.text_of("PMI_FD") + reader.text_of("PMI_PORT"));
  } else if (reader.has("SLURM_PROCID") && reader.has("SLURM_STEP_ID") && reader.number_or("SLURM_STEP_NUM_TASKS", reader.number_or("SLURM_NTASKS", 1)) > 1) {
    // The shell of an allocation has the allocation's size, but runs no task of a step.
    options.rank = reader.number("SLURM_PROCID");
    options.size = reader.number_or("SLURM_STEP_NUM_TASKS", reader.number_or("SLURM_NTASKS", 1));
    const std::string job = text(reader.text_of("SLURM_JOB_ID"), '.', reader.text_of("SLURM_STEP_ID"));
    if (reader.has("TROIKA_RENDEZVOUS"))
      options.rendezvous = "";  // see below
    else if (reader.has("MASTER_ADDR"))
      options.rendezvous = master_address(reader);
    else if (reader.number_or("SLURM_STEP_NUM_NODES", reader.number_or("SLURM_NNODES", 1)) == 1)
      options.rendezvous = file_of_job("slurm" + job);
    else
      options.rendezvous = text("tcp://", first_host(reader.require("SLURM_STEP_NODELIST")), ':',
                                kFirstPort + (reader.number("SLURM_JOB_ID") * 7 + reader.number("SLURM_STEP_ID")) % kPorts);
  }
  if (reader.has("TROIKA_RENDEZVOUS")) options.rendezvous = reader.text_of("TROIKA_RENDEZVOUS");
  options.node = reader.number_or("TROIKA_NODE", -1);
  options.interface = reader.text_of("TROIKA_INTERFACE");
  options.transport = reader.text_of("TROIKA_TRANSPORT");
  options.secret = read_secret(reader);
  return options;
}

}  // namespace troika
