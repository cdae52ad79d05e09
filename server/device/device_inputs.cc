#include "server/device/device_inputs.h"

#include <algorithm>

#include "shared/model/network_plan.h"
#include "shared/model/observation_layout.h"

namespace murmurate {
namespace {

using Element = ObservationInput::Element;
using Form = InputToGather::Form;

Form FormOf(const ModelSpec& spec, Element element) {
  if (element == Element::kInt32) return Form::kCategories;
  if (element == Element::kUint8) return Form::kBytes;
  return spec.normalize_observation ? Form::kNormalized : Form::kNumbers;
}

}  // namespace

DeviceInputs::DeviceInputs(const ModelSpec& spec, const ParameterLayout& layout,
                           const NetworkPlan& one, const NetworkPlan& other, int max_rows,
                           ElementType pictures, DeviceMemory* memory) {
  if (spec.normalized_count() > 0) {
    mean_at_ = layout.Find("statistics.observation.mean").offset;
    variance_at_ = layout.Find("statistics.observation.variance").offset;
  }
  const ObservationLayout rows(spec.row_space());
  std::size_t statistic = 0;
  for (const PlannedInput& planned :
       (other.inputs.size() > one.inputs.size() ? other : one).inputs) {
    const ObservationInput& from = rows.inputs()[static_cast<std::size_t>(planned.input)];
    Input& input = inputs_.emplace_back();
    InputToGather& call = input.call;
    call.form = FormOf(spec, from.element);
    call.offset_bytes = from.offset_bytes;
    call.width = static_cast<int>(planned.in.count());
    call.stack = planned.stack;
    call.channels = planned.in.channels / planned.stack;
    call.block = BlockOfPicture(one, other, arrays_.size());
    call.columns = planned.in.width;
    call.type = TypeOfInput(one, other, arrays_.size(), pictures);
    if (call.form == Form::kNormalized) {
      input.statistic = statistic;
      statistic += static_cast<std::size_t>(from.elements);
    }
    for (int i = 0; call.form == Form::kCategories && i < from.elements; ++i) {
      for (int category = 0; category < from.categories[i]; ++category) {
        input.host_element.push_back(i);
        input.host_category.push_back(category);
      }
    }
    input.element =
        memory->Plan<std::int32_t>(MemoryPurpose::kWorkspace, input.host_element.size());
    input.category =
        memory->Plan<std::int32_t>(MemoryPurpose::kWorkspace, input.host_category.size());
    arrays_.push_back({DeviceBlock(memory, MemoryPurpose::kActivations,
                                   static_cast<std::size_t>(max_rows) * call.width, call.type),
                       call.block});
  }
}

std::vector<DeviceInput> DeviceInputs::InputsFrom(int first) const {
  std::vector<DeviceInput> rest;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const auto width = static_cast<std::size_t>(inputs_[i].call.width);
    rest.push_back(
        {arrays_[i].numbers.From(static_cast<std::size_t>(first) * width), arrays_[i].block});
  }
  return rest;
}

void DeviceInputs::Upload(Device* device) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Input& input = inputs_[i];
    input.call.to = arrays_[i].numbers.data();
    if (input.host_element.empty()) continue;
    input.call.element = input.element.data();
    input.call.category = input.category.data();
    device->CopyIn(Stream::kMain, input.element.data(), input.host_element.data(),
                   input.element.bytes());
    device->CopyIn(Stream::kMain, input.category.data(), input.host_category.data(),
                   input.category.bytes());
  }
}

InputToGather DeviceInputs::ToGather(const Input& input, const InputPass& pass) const {
  InputToGather call = input.call;
  call.control = pass.control;
  call.lists = pass.lists;
  call.batch = pass.batch;
  call.rows = pass.rows;
  if (call.form != Form::kNormalized) return call;
  call.mean = pass.parameters + mean_at_ + input.statistic;
  call.variance = pass.parameters + variance_at_ + input.statistic;
  return call;
}

void DeviceInputs::Gather(Device* device, const InputPass& pass, const RowsToGather& rows) const {
  constexpr std::uint32_t kMostBlocks = 16 * 132;
  std::size_t next = 0;
  GatherPassCall call{.rows = rows, .inputs = 0, .input = {}};
  do {
    std::size_t numbers = static_cast<std::size_t>(call.rows.rows);
    for (call.inputs = 0; next < inputs_.size() && call.inputs < GatherPassCall::kMostInputs;) {
      InputToGather& input = call.input[call.inputs++];
      input = ToGather(inputs_[next++], pass);
      numbers = std::max(numbers, static_cast<std::size_t>(pass.rows) * input.width);
    }
    Grid grid = Grid::For(numbers, kLossRows);
    grid.blocks = std::min(grid.blocks, kMostBlocks);
    grid.rows = static_cast<std::uint32_t>(call.inputs + (call.rows.rows > 0 ? 1 : 0));
    device->Launch(Stream::kMain, grid, call);
    call.rows.rows = 0;  // they have been gathered
  } while (next < inputs_.size());
}

}  // namespace murmurate
