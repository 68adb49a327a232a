// The commands of the program: each adds itself, with its options, to the command line.
#pragma once

namespace troika::cli {

class CommandLine;

void add_devices_command(CommandLine& line);
void add_train_command(CommandLine& line);
void add_evaluate_command(CommandLine& line);
void add_inspect_command(CommandLine& line);
void add_model_command(CommandLine& line);
void add_predict_command(CommandLine& line);
void add_compare_command(CommandLine& line);
void add_bench_command(CommandLine& line);
void add_plan_command(CommandLine& line);
void add_run_command(CommandLine& line);
void add_status_command(CommandLine& line);

}  // namespace troika::cli
