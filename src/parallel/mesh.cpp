// Meshes over a number of devices.
#include "parallel/mesh.h"

#include "core/error.h"
#include "core/text.h"

namespace troika {

std::string name_of(const Mesh& mesh) { return text(mesh.data, 'x', mesh.layer, 'x', mesh.channel); }

Mesh spread(const Mesh& mesh, int devices) {
  const auto [data, layer, channel] = mesh;
  // The product of large factors may not fit in 32 bits.
  const int64_t part = int64_t{layer} * channel;
  if (data > 0 ? devices % part != 0 || devices / part != data : devices % part != 0)
    throw Error(Status::invalid_argument,
                text("mesh: data is ", data, ", layer is ", layer, " and channel is ", channel, ", needs ",
                     data > 0 ? text(data * part) : text("a multiple of ", part), " devices; found ", devices));
  return {static_cast<int>(devices / part), layer, channel};
}

std::vector<Mesh> meshes_of(int devices) {
  std::vector<Mesh> meshes;
  for (int data = devices; data > 0; --data)
    for (int layer = devices / data; devices % data == 0 && layer > 0; --layer)
      if (devices / data % layer == 0) meshes.push_back({data, layer, devices / data / layer});
  return meshes;
}

std::string refusal_of(const Mesh& mesh, bool has_logical_shards) {
  if ((mesh.layer == 1 && mesh.channel == 1) || !has_logical_shards) return {};
  return text(mesh.layer > 1 ? text("mesh.layer is ", mesh.layer) : text("mesh.channel is ", mesh.channel),
              ", which does not go together with logical_shards yet");
}

}  // namespace troika
