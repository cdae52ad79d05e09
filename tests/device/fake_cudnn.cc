// A stand-in for cuDNN with the functions of its graph interface that are used: one engine, which
// computes a convolution in host memory from the attributes of its descriptors, as cuDNN's manual
// defines them (n, c, h, w and strides of each tensor, by the names of a variant pack).
#include <cudnn_graph.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "server/compute/device/kernel_language.h"

namespace {

constexpr std::int64_t kWorkspaceBytes = 640;

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  bool finished = false;
  std::map<int, std::vector<std::byte>> attributes = {};
  Descriptor* graph = nullptr;  ///< of a configuration: what it computes
  int engine = 0;               ///< of a configuration and of an engine
};

Descriptor* Of(cudnnBackendDescriptor_t descriptor) { return static_cast<Descriptor*>(descriptor); }

template <typename T>
std::vector<T> Values(const Descriptor& descriptor, int name) {
  const std::vector<std::byte>& bytes = descriptor.attributes.at(name);
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}
Descriptor* Part(const Descriptor& descriptor, int name) {
  return Of(Values<cudnnBackendDescriptor_t>(descriptor, name).at(0));
}

std::size_t SizeOf(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 8;
    case CUDNN_TYPE_CHAR:
      return 1;
    default:
      return 4;
  }
}

struct Tensor {
  Tensor(const Descriptor& descriptor, const Descriptor& pack)
      : sizes(Values<std::int64_t>(descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS)),
        strides(Values<std::int64_t>(descriptor, CUDNN_ATTR_TENSOR_STRIDES)),
        type(Values<cudnnDataType_t>(descriptor, CUDNN_ATTR_TENSOR_DATA_TYPE).at(0) ==
                     CUDNN_DATA_BFLOAT16
                 ? murmurate::ElementType::kBf16
                 : murmurate::ElementType::kFloat32) {
    const auto name = Values<std::int64_t>(descriptor, CUDNN_ATTR_TENSOR_UNIQUE_ID).at(0);
    const auto names = Values<std::int64_t>(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const auto blocks = Values<void*>(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == name) numbers = blocks.at(i);
  }
  std::size_t At(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) const {
    return static_cast<std::size_t>(n * strides.at(0) + c * strides.at(1) + h * strides.at(2) +
                                    w * strides.at(3));
  }
  std::int64_t count() const { return sizes.at(0) * sizes.at(1) * sizes.at(2) * sizes.at(3); }
  std::vector<float> Read() const {
    std::vector<float> floats(static_cast<std::size_t>(count()));
    for (std::size_t i = 0; i < floats.size(); ++i)
      floats[i] = murmurate::ReadNumber(numbers, type, i);
    return floats;
  }
  void Write(const std::vector<float>& floats) const {
    for (std::size_t i = 0; i < floats.size(); ++i)
      murmurate::WriteNumber(numbers, type, i, floats[i]);
  }

  std::vector<std::int64_t> sizes, strides;
  murmurate::ElementType type;
  void* numbers = nullptr;
};

/// Attributes of each kind of operation: x, w, y, window, and which of x, w, y it gives (0, 1, 2).
std::array<int, 5> NamesOf(cudnnBackendDescriptorType_t type) {
  if (type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR)
    return {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, 2};
  if (type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR)
    return {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, 0};
  return {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, 1};
}

void Convolve(const Descriptor& operation, const Descriptor& pack) {
  const auto names = NamesOf(operation.type);
  const Tensor x(*Part(operation, names[0]), pack), w(*Part(operation, names[1]), pack),
      y(*Part(operation, names[2]), pack);
  const Descriptor& window = *Part(operation, names[3]);
  const auto stride = Values<std::int64_t>(window, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES).at(0);
  const auto padding = Values<std::int64_t>(window, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS).at(0);
  const Tensor* const tensors[] = {&x, &w, &y};
  std::vector<float> blocks[] = {x.Read(), w.Read(), y.Read()};
  std::vector<float>& given = blocks[names[4]];
  given.assign(given.size(), 0.0f);
  for (std::int64_t i = 0; i < y.count() * w.sizes[1] * w.sizes[2] * w.sizes[3]; ++i) {
    std::int64_t rest = i;
    const auto next = [&rest](std::int64_t size) {
      const std::int64_t at = rest % size;
      rest /= size;
      return at;
    };
    const auto kx = next(w.sizes[3]), ky = next(w.sizes[2]), c = next(w.sizes[1]);
    const auto ox = next(y.sizes[3]), oy = next(y.sizes[2]), f = next(y.sizes[1]), n = rest;
    const auto ix = ox * stride + kx - padding, iy = oy * stride + ky - padding;
    if (ix < 0 || iy < 0 || ix >= x.sizes[3] || iy >= x.sizes[2]) continue;
    float& input = blocks[0][x.At(n, c, iy, ix)];
    float& weight = blocks[1][w.At(f, c, ky, kx)];
    float& output = blocks[2][y.At(n, f, oy, ox)];
    if (names[4] == 0) input += weight * output;
    if (names[4] == 1) weight += input * output;
    if (names[4] == 2) output += input * weight;
  }
  tensors[names[4]]->Write(given);
}

template <typename T>
cudnnStatus_t Give(T value, std::int64_t* count, void* place) {
  *count = 1;
  std::memcpy(place, &value, sizeof value);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

int fake_cudnn_plans = 0, fake_cudnn_handles = 0;
int fake_cudnn_engines = 1, fake_cudnn_last = -1;  ///< engines that it has, and the last that ran
float fake_cudnn_milliseconds[4] = {1, 1, 1, 1},
      fake_cudnn_clock = 0;  ///< of each engine, of all runs

size_t cudnnGetVersion() { return 91900; }
const char* cudnnGetErrorString(cudnnStatus_t) { return "failed"; }
void cudnnGetLastErrorString(char* message, size_t bytes) {
  if (bytes > 0) *message = 0;
}
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = reinterpret_cast<cudnnHandle_t>(new char);
  ++fake_cudnn_handles;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete reinterpret_cast<char*>(handle);
  --fake_cudnn_handles;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; }

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* descriptor) {
  *descriptor = new Descriptor{.type = type};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete Of(descriptor);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void* values) {
  if (Of(descriptor)->finished) return CUDNN_STATUS_BAD_PARAM;
  const auto* const bytes = static_cast<const std::byte*>(values);
  Of(descriptor)
      ->attributes[name]
      .assign(bytes, bytes + static_cast<std::size_t>(count) * SizeOf(type));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  Of(descriptor)->finished = true;
  if (Of(descriptor)->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) ++fake_cudnn_plans;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendGetAttribute(const cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t most, int64_t* count,
                                       void* values) {
  *count = 0;
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS: {
      *count = std::min<std::int64_t>(most, fake_cudnn_engines);
      for (int i = 0; i < *count; ++i) {
        Descriptor* const configuration = Of(static_cast<cudnnBackendDescriptor_t*>(values)[i]);
        configuration->graph = Part(*Of(descriptor), CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
        configuration->engine = i;
      }
      return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_ENGINECFG_ENGINE:
      *count = 1;
      Of(*static_cast<cudnnBackendDescriptor_t*>(values))->engine = Of(descriptor)->engine;
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
      return Give(std::int64_t{7} + Of(descriptor)->engine, count, values);
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      return Give(kWorkspaceBytes, count, values);
    default:
      return CUDNN_STATUS_SUCCESS;  // no notes
  }
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  if (handle == nullptr || !Of(plan)->finished || !Of(pack)->finished)
    return CUDNN_STATUS_BAD_PARAM;
  auto* const workspace = Values<std::byte*>(*Of(pack), CUDNN_ATTR_VARIANT_PACK_WORKSPACE).at(0);
  std::memset(workspace, 0xff, kWorkspaceBytes);
  const Descriptor& configuration = *Part(*Of(plan), CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  fake_cudnn_last = configuration.engine;
  fake_cudnn_clock += fake_cudnn_milliseconds[configuration.engine];
  const Descriptor& graph = *configuration.graph;
  Convolve(*Part(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS), *Of(pack));
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
