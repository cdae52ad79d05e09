#include "shared/core/check.h"
#include "shared/model/model_spec.h"

namespace murmurate {
namespace {

constexpr std::size_t kLineFloats = 16;  // 64 bytes

class Builder {
 public:
  Builder(ParameterLayout* layout) : layout_(layout) {}

  void Add(Section section, std::string name, std::vector<int> shape) {
    std::size_t count = 1;
    for (const int size : shape) count *= static_cast<std::size_t>(size);
    layout_->tensors.push_back({std::move(name), section, std::move(shape), next_, count});
    next_ += (count + kLineFloats - 1) / kLineFloats * kLineFloats;
  }

  void AddDense(Section section, const std::string& name, int in, int out) {
    Add(section, name + ".weight", {in, out});
    Add(section, name + ".bias", {out});
  }

  /// The width of what leaves the trunk.
  int AddTrunk(Section section, const std::string& name, const ModelSpec& spec) {
    int in = spec.spaces.observation.element_count();
    for (std::size_t i = 0; i < spec.trunk.size(); ++i) {
      AddDense(section, name + "." + std::to_string(i), in, spec.trunk[i].units);
      in = spec.trunk[i].units;
    }
    return in;
  }

  /// Ends a section that began where the last one ended.
  SectionRange EndSection() {
    const SectionRange range{begin_, next_ - begin_};
    begin_ = next_;
    return range;
  }

 private:
  ParameterLayout* layout_;
  std::size_t begin_ = 0, next_ = 0;
};

}  // namespace

ParameterLayout::ParameterLayout(const ModelSpec& spec) {
  Builder builder(this);
  const int features = builder.AddTrunk(Section::kPolicy, "policy", spec);
  builder.AddDense(Section::kPolicy, "policy.head", features, spec.spaces.action.n);
  policy = builder.EndSection();

  if (spec.separate_value) builder.AddTrunk(Section::kCritic, "critic", spec);
  builder.AddDense(Section::kCritic, "critic.head", features, 1);
  critic = builder.EndSection();

  if (spec.normalize_observation) {
    const int numbers = spec.spaces.observation.element_count();
    builder.Add(Section::kStatistics, "statistics.observation.count", {1});
    builder.Add(Section::kStatistics, "statistics.observation.mean", {numbers});
    builder.Add(Section::kStatistics, "statistics.observation.variance", {numbers});
  }
  statistics = builder.EndSection();
  total = statistics.offset + statistics.count;
}

const TensorSlot& ParameterLayout::Find(std::string_view name) const {
  for (const TensorSlot& tensor : tensors) {
    if (tensor.name == name) return tensor;
  }
  FailCheck(__FILE__, __LINE__, "tensor name", std::string(name).c_str());
}

}  // namespace murmurate
