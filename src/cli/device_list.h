// Lists of devices as text, such as "cpu:0,cpu:1".
#pragma once

#include <string>
#include <vector>

#include "cli/client.h"

namespace troika::cli {

// Reads the value of `option`, such as "cpu:0,cpu:1", or "all": every usable GPU, else cpu:0.
std::vector<troika_device> parse_devices(const Context& context, const std::string& option, const std::string& text);

std::string format_device(troika_device device);
// Returns the devices with runs of neighbours cut short: "cpu:0..7".
std::string short_devices(const std::vector<troika_device>& devices);

// The same of a list as text; "all" stays as it is.
std::string short_devices(const std::string& text);

std::string format_devices(const std::vector<troika_device>& devices);

}  // namespace troika::cli
