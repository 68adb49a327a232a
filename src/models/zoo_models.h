// The builders of the models in the zoo's list, and the layer settings that they share.
#pragma once

#include "models/layers.h"

namespace troika {

struct ImageSize {
  int64_t channels = 0, height = 0, width = 0;
  Shape shape() const { return {channels, height, width}; }
};

// The sizes of a model. Sizes that a model does not have are ignored.
struct ZooSizes {
  ImageSize image;
  int64_t classes = 0, hidden = 0, steps = 0;
};

// Each function adds input, layers and output to an empty model.
void build_char_lstm(Model& model, const ZooSizes& sizes);
void build_lenet(Model& model, const ZooSizes& sizes);
void build_mlp(Model& model, const ZooSizes& sizes);
void build_d2l_resnet18(Model& model, const ZooSizes& sizes);
void build_d2l_resnet18_stem7(Model& model, const ZooSizes& sizes);
void build_resnet9(Model& model, const ZooSizes& sizes);
void build_resnet18(Model& model, const ZooSizes& sizes);
void build_resnet34(Model& model, const ZooSizes& sizes);
void build_resnet50(Model& model, const ZooSizes& sizes);

inline Window square_window(int64_t kernel, int64_t stride, int64_t padding) {
  return {{kernel, kernel}, {stride, stride}, {padding, padding}, {1, 1}};
}

inline ConvOptions square_conv(int64_t out_channels, int64_t kernel, int64_t stride, int64_t padding, bool bias) {
  return {out_channels, square_window(kernel, stride, padding), 1, bias};
}

}  // namespace troika
