// A link by Gloo: TCP connections between all processes.
#pragma once

#include "comm/link.h"

namespace troika::gloo_link {

extern const LinkDef gloo_link;

std::string library_versions();

}  // namespace troika::gloo_link
