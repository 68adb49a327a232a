// The mesh: how devices share the work, and which combinations are not supported yet.
#pragma once

#include <string>
#include <vector>

namespace troika {

// data * layer * channel devices. In the list of devices, devices with other channels of the same
// layers come first, then devices with the next layers, then devices with other samples.
struct Mesh {
  int data = 0;     // shares of the batch; 0: as many as there are devices for
  int layer = 1;    // ranks of a pipeline, each with its own layers
  int channel = 1;  // ranks with some channels of each layer
  bool operator==(const Mesh&) const = default;
};

// Returns data x layer x channel, such as "2x2x1".
std::string name_of(const Mesh& mesh);

// Returns the mesh over so many devices, with `data` filled in. Throws INVALID_ARGUMENT if the mesh
// needs another number of devices.
Mesh spread(const Mesh& mesh, int devices);

// Returns every mesh of so many devices: meshes with more shares of the batch first, then those
// with more stages.
std::vector<Mesh> meshes_of(int devices);

// Returns the first thing that a mesh which splits layers or channels does not support yet, such as
// "mesh.layer is 2, which does not go together with logical_shards yet". Empty if all is supported.
std::string refusal_of(const Mesh& mesh, bool has_logical_shards);

}  // namespace troika
