// Links by name, from plug-ins.
#pragma once

#include <string>
#include <vector>

#include "comm/link.h"

namespace troika {

// Returns the link of the plug-in libtroika_<name>.so. UNSUPPORTED with the reason if there is
// none.
const LinkDef& require_link(const std::string& name, const std::string& plugin_folder);

// Returns a line for each link: its versions, or why it cannot be used. Loads all of them.
std::vector<std::string> describe_links(const std::string& plugin_folder);

// Returns the launcher's own messages if the rendezvous is "mpi://", else null. UNSUPPORTED, COMM.
std::unique_ptr<Bootstrap> create_bootstrap(const std::string& rendezvous, const std::string& plugin_folder,
                                            Deadline deadline);

}  // namespace troika
