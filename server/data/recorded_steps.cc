#include "server/data/recorded_steps.h"

#include <algorithm>

#include "server/data/open_play.h"
#include "server/experience/pieces.h"
#include "server/experience/training_batch.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::uint32_t kFirstAgent = std::uint32_t{1} << 31;
constexpr int kReadAtOnce = 64;

}  // namespace

Result<std::unique_ptr<RecordedSteps>> RecordedSteps::Open(const std::string& folder,
                                                           const ModelSpec& model, int length) {
  auto source = OpenPlay(folder, &model.spaces);
  if (!source.ok()) return source.status();
  const TrajectoryLayout layout(model, length);
  const bool divides = layout.state_floats == 0 && layout.frames == 0;
  const int recorded = divides ? std::max(length, (*source)->length()) : length;
  MURMURATE_RETURN_IF_ERROR((*source)->PrepareFor(model, recorded));
  return std::unique_ptr<RecordedSteps>(
      new RecordedSteps(*std::move(source), layout, TrajectoryLayout(model, recorded)));
}

RecordedSteps::RecordedSteps(std::unique_ptr<DataSource> source, const TrajectoryLayout& layout,
                             const TrajectoryLayout& recorded)
    : source_(std::move(source)), layout_(layout), recorded_(recorded) {}

Status RecordedSteps::Visit(const std::function<void(const TrajectoryView&)>& visit) const {
  TrainingBatch read(recorded_, kReadAtOnce);
  TrainingBatch pieces(layout_, (recorded_.length + layout_.length - 1) / layout_.length);
  std::vector<std::uint64_t> items;
  for (std::uint64_t item = 0; item < source_->items();) {
    items.clear();
    while (items.size() < kReadAtOnce && item < source_->items()) items.push_back(item++);
    read.Clear();
    MURMURATE_RETURN_IF_ERROR(source_->Fill(items, &read));
    for (int slot = 0; slot < static_cast<int>(read.trajectories.size()); ++slot) {
      TrajectoryView view = read.View(slot);
      view.agent |= kFirstAgent;
      pieces.Clear();
      const int added = AddInPieces(view, &pieces);
      MURMURATE_CHECK(added == view.steps, "pieces have room for all of a trajectory");
      for (int piece = 0; piece < static_cast<int>(pieces.trajectories.size()); ++piece)
        visit(pieces.View(piece));
    }
  }
  return {};
}

std::string RecordedSteps::Description() const {
  const std::string returns = source_->Returns();
  return source_->Description() + (returns.empty() ? "" : "; its " + returns);
}

}  // namespace murmurate
