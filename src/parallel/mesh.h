// The mesh: how devices share the work, and what not every mesh can do yet.
#pragma once

#include <string>
#include <vector>

namespace troika {

// data * layer * channel devices. In the list those with channels of the same layers come behind each other, then those
// with the next layers, then those with other samples.
struct Mesh {
  int data = 0;     // parts of the batch; 0: as many as there are devices for
  int layer = 1;    // ranks of a pipeline, each with its own layers
  int channel = 1;  // ranks with some channels of each layer
  bool operator==(const Mesh&) const = default;
};

// "2x2x1": data x layer x channel.
std::string name_of(const Mesh& mesh);

// The mesh over so many devices, with `data` filled in. Throws INVALID_ARGUMENT where it needs another number of them.
Mesh spread(const Mesh& mesh, int devices);

// Every mesh of so many devices: those with more parts of the batch first, then those with more layers in a row.
std::vector<Mesh> meshes_of(int devices);

// What a mesh that splits layers or channels cannot do yet: "mesh.layer is 2, which does not go together with logical_shards yet".
// Empty where it can do all of it.
std::string refusal_of(const Mesh& mesh, bool has_logical_shards);

}  // namespace troika
