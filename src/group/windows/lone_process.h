// A process alone has no connections: what stands for them.
#pragma once

namespace troika {

class Connection {};
class Waker {};
class Hub {};

}  // namespace troika
