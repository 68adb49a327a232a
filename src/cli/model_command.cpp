// `troika model`: the layers of a model, with the names that --layer-cuts, --recompute-layers and
// --freeze take.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/data_source.h"
#include "cli/files.h"
#include "cli/model_drawing.h"
#include "cli/text.h"
#include "cli/weights.h"
#include "core/path.h"

namespace troika::cli {
namespace {

struct ModelArguments {
  std::string name;  // of the zoo, or a file
  int classes = 0, size = 0;
  bool parameters = false;
  std::string drawing;  // a file; empty: none
};

Model open_model(const Command& command, const Context& context, const ModelArguments& arguments) {
  if (std::filesystem::is_regular_file(path_of(arguments.name))) {
    for (const char* option : {"--classes", "--size"})
      if (command.was_given(option))
        throw Failure(std::string(option) + " is for the model of a name, '" + arguments.name +
                      "' is a file; leave it out");
    check_weights_file(arguments.name);
    Model model;
    call(troika_model_open, context.get(), arguments.name.c_str(), model.out());
    return model;
  }
  troika_model_options options = TROIKA_MODEL_OPTIONS_INIT;
  if (arguments.classes > 0) options.classes = arguments.classes;
  if (arguments.size > 0) options.input_height = options.input_width = arguments.size;
  return create_model(context, arguments.name, options, "the model");
}

std::string whole_number(double number) { return with_commas(static_cast<int64_t>(std::min(number, 9e18))); }

void print_line(size_t width, const std::string& name, const std::string& kind, const std::string& output,
                const std::string& parameters, const std::string& operations) {
  const std::string line = formatted("%-*s  %-20s %-12s %14s %16s", static_cast<int>(width), name.c_str(), kind.c_str(),
                                     output.c_str(), parameters.c_str(), operations.c_str());
  std::cout << line.substr(0, line.find_last_not_of(' ') + 1) << "\n";
}

void print_layers(const Model& model, const troika_model_info& info) {
  std::vector<troika_layer_info> layers(static_cast<size_t>(info.layers));
  size_t width = std::string("layer").size();
  for (int32_t i = 0; i < info.layers; ++i) {
    troika_layer_info& layer = layers[static_cast<size_t>(i)];
    layer = TROIKA_LAYER_INFO_INIT;
    call(troika_model_describe_layer, model.get(), i, &layer);
    width = std::max(width, std::string(layer.name).size());
  }
  print_line(width, "layer", "kind", "output", "parameters", "operations");
  for (const troika_layer_info& layer : layers)
    print_line(width, layer.name, layer.kind, as_shape(layer.dims, layer.rank),
               layer.parameters > 0 ? with_commas(layer.parameters) : "",
               layer.operations > 0 ? whole_number(layer.operations) : "");
  print_line(width, "total", "", "", with_commas(info.parameters), whole_number(info.operations));
}

void print_parameters(const Model& model, const troika_model_info& info) {
  std::cout << "\n";
  for (int32_t i = 0; i < info.entries; ++i) {
    troika_parameter_info entry = TROIKA_PARAMETER_INFO_INIT;
    call(troika_model_describe_parameter, model.get(), i, &entry);
    std::cout << entry.name << "  " << (entry.rank > 0 ? as_shape(entry.dims, entry.rank) : "scalar")
              << (entry.is_buffer ? "  buffer" : "") << "\n";
  }
}

// Refuses to replace the model by its drawing.
void check_drawing(const ModelArguments& arguments) {
  if (arguments.drawing.empty()) refuse_value("--svg", arguments.drawing, "a file, such as model.svg");
  std::error_code ignored;  // files that do not exist differ
  if (std::filesystem::equivalent(path_of(arguments.drawing), path_of(arguments.name), ignored))
    refuse_value("--svg", arguments.drawing, "another file than the model's");
}

int show_model(const Command& command, const ModelArguments& arguments) {
  if (arguments.classes < 0) refuse_value("--classes", arguments.classes, "at least 1, or 0 for the model's default");
  if (arguments.size < 0) refuse_value("--size", arguments.size, "at least 1, or 0 for the model's default");
  if (command.was_given("--svg")) check_drawing(arguments);
  const Context context = create_context();
  const Model model = open_model(command, context, arguments);
  troika_model_info info = TROIKA_MODEL_INFO_INIT;
  call(troika_model_describe, model.get(), &info);
  if (!arguments.drawing.empty()) write_file(path_of(arguments.drawing), draw_model(model));
  std::cout << info.name << ": " << as_shape(info.input_dims, info.input_rank) << " to "
            << as_shape(info.output_dims, info.output_rank)
            << "; operations are those of a forward pass of one sample\n";
  print_layers(model, info);
  if (arguments.parameters) print_parameters(model, info);
  if (!arguments.drawing.empty()) std::cout << "drawing in " << arguments.drawing << "\n";
  return 0;
}

}  // namespace

void add_model_command(CommandLine& line) {
  const Command command =
      line.add_command("model", "Shows the layers of a model, with names, shapes, parameters and operations");
  const auto arguments = std::make_shared<ModelArguments>();
  command.argument("model", arguments->name, std::string(kModelHelp) + "; or a file that Troika has saved",
                   "NAME|FILE");
  command.option("--classes", arguments->classes, "Outputs of the model; 0: its default", "N");
  command.option("--size", arguments->size, "Image size; 0: the model's default", "SIZE");
  command.flag("--parameters", arguments->parameters, "Also the names and shapes of all parameters and buffers");
  command.option("--svg", arguments->drawing, "A file for a drawing of the layers and their connections", "FILE");
  command.action([command, arguments] { return show_model(command, *arguments); });
}

}  // namespace troika::cli
