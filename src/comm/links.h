// Links by name, from plug-ins.
#pragma once

#include <string>

#include "comm/link.h"

namespace troika {

// Returns the link of the plug-in libtroika_<name>.so. UNSUPPORTED with the reason if there is
// none.
const LinkDef& require_link(const std::string& name, const std::string& plugin_folder);

}  // namespace troika
