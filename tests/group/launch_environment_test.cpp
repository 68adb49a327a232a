// The variables of launchers.
#include "group/launch_environment.h"

#include <gtest/gtest.h>
#include <fstream>
#include <map>

#include "core/machine.h"
#include "core/text.h"
#include "support/temp_directory.h"
#include "support/throws.h"

namespace troika {
namespace {

GroupOptions read(const std::map<std::string, std::string>& variables) {
  return read_launch_environment([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

void expect(const GroupOptions& found, int rank, int size, const std::string& rendezvous) {
  EXPECT_EQ(found.rank, rank);
  EXPECT_EQ(found.size, size);
  EXPECT_EQ(found.rendezvous, rendezvous);
}

TEST(LaunchEnvironment, IsAProcessAloneWithoutALauncher) { expect(read({}), 0, 1, ""); }

TEST(LaunchEnvironment, KnowsTheProjectsOwnNames) {
  const GroupOptions found = read({{"TROIKA_RANK", "2"},
                                   {"TROIKA_WORLD_SIZE", "3"},
                                   {"TROIKA_RENDEZVOUS", "tcp://a:1"},
                                   {"TROIKA_NODE", "1"},
                                   {"TROIKA_INTERFACE", "eth1"},
                                   {"TROIKA_TRANSPORT", "gloo"},
                                   {"TROIKA_SECRET", "s"},
                                   {"RANK", "7"}});
  expect(found, 2, 3, "tcp://a:1");
  EXPECT_EQ(found.node, 1);
  EXPECT_EQ(found.interface, "eth1");
  EXPECT_EQ(found.transport, "gloo");
  EXPECT_EQ(found.secret, "s");
  expect(read({{"TROIKA_RANK", "0"}, {"TROIKA_WORLD_SIZE", "1"}}), 0, 1, "");
  EXPECT_THROWS(Status::invalid_argument, "TROIKA_WORLD_SIZE is not set", read({{"TROIKA_RANK", "0"}}));
  EXPECT_THROWS(Status::invalid_argument, "TROIKA_RANK is 'x', needs a number",
                read({{"TROIKA_RANK", "x"}, {"TROIKA_WORLD_SIZE", "2"}}));
  EXPECT_THROWS(Status::invalid_argument, "MASTER_PORT is not set",
                read({{"TROIKA_RANK", "0"}, {"TROIKA_WORLD_SIZE", "2"}}));
}

TEST(LaunchEnvironment, KnowsTorchrun) {
  std::map<std::string, std::string> variables = {
      {"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}};
  expect(read(variables), 1, 4, "tcp://10.0.0.1:29500");
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";  // torchrun itself listens at that port
  expect(read(variables), 1, 4, "tcp://10.0.0.1:29501");
  variables["TROIKA_LAUNCHER"] = "none";
  expect(read(variables), 0, 1, "");
}

TEST(LaunchEnvironment, KnowsOpenMpiAndPmi) {
  std::map<std::string, std::string> variables = {{"OMPI_COMM_WORLD_RANK", "1"},
                                                  {"OMPI_COMM_WORLD_SIZE", "2"},
                                                  {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                                  {"PMIX_NAMESPACE", "3434/1"}};
  expect(read(variables), 1, 2, text("file:///tmp/troika-", user_id(), "-3434_1"));
  variables["OMPI_COMM_WORLD_LOCAL_SIZE"] = "1";
  expect(read(variables), 1, 2, "mpi://");
  variables["TROIKA_RENDEZVOUS"] = "tcp://b:2";
  expect(read(variables), 1, 2, "tcp://b:2");
  EXPECT_THROWS(Status::invalid_argument, "nothing says where rank 0 is", read({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}));
  expect(read({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}), 0, 1, "");
}

TEST(LaunchEnvironment, KnowsSlurm) {
  std::map<std::string, std::string> variables = {
      {"SLURM_PROCID", "1"},        {"SLURM_NTASKS", "4"},   {"SLURM_STEP_ID", "0"}, {"SLURM_JOB_ID", "77"},
      {"SLURM_STEP_NUM_NODES", "2"}, {"SLURM_STEP_NODELIST", "n[01-03,07],m1"}};
  expect(read(variables), 1, 4, "tcp://n01:15539");
  variables["SLURM_STEP_NODELIST"] = "host-a,host-b";
  expect(read(variables), 1, 4, "tcp://host-a:15539");
  variables["SLURM_STEP_NUM_NODES"] = "1";
  expect(read(variables), 1, 4, text("file:///tmp/troika-", user_id(), "-slurm77_0"));
  // A shell of an allocation runs no task of a step.
  variables.erase("SLURM_STEP_ID");
  expect(read(variables), 0, 1, "");
}

TEST(LaunchEnvironment, ReadsTheFileOfASecret) {
  const TempDirectory folder;
  const std::string path = (folder.path() / "secret").string();
  EXPECT_THROWS(Status::io, "cannot be read, or is empty", read({{"TROIKA_SECRET_FILE", path}}));
  std::ofstream(path) << "of all processes\n";
  EXPECT_EQ(read({{"TROIKA_SECRET_FILE", path}}).secret, "of all processes");
}

}  // namespace
}  // namespace troika
