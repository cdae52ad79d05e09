#include "server/device/device_rank_steps.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "shared/core/check.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr std::int64_t kShortestNs = 20'000, kLongestNs = 500'000;

/// The statistics section of a whole block.
std::span<float> StatisticsOf(DeviceEngine* engine, std::span<float> block) {
  const std::size_t count = engine->parameters().host_seen().size();
  return block.subspan(engine->parameters().statistics().offset, count);
}

}  // namespace

DeviceRankSteps::DeviceRankSteps(CollectiveStore* store, Device* device)
    : store_(store), sums_(device->rank_sums()) {
  MURMURATE_CHECK(sums_ != nullptr, "a device that can sum over ranks");
  store_->OfferProcessor(this, "");
}

Result<std::string> DeviceRankSteps::MakeId() {
  const auto id = sums_->MakeId();
  if (!id.ok()) return id.status();
  return std::string(reinterpret_cast<const char*>(id->data()), id->size());
}

Status DeviceRankSteps::Join(const std::string& text, int rank, int size,
                             std::function<Status()> waiting) {
  RankId id{};
  MURMURATE_CHECK(text.size() == id.size(), "the id of rank 0");
  std::memcpy(id.data(), text.data(), id.size());
  return sums_->Join(id, rank, size, std::move(waiting));
}

Status DeviceRankSteps::MoveIn(DeviceEngine* engine) {
  SavedState state;
  store_->Save(StateWriter(&state, "optimizer"));
  MURMURATE_RETURN_IF_ERROR(engine->parameters().Load(StateReader(state, "optimizer")));
  CarrySeen(engine);
  moved_in_ = true;
  return {};
}

void DeviceRankSteps::CarrySeen(DeviceEngine* engine) const {
  DeviceParameters& parameters = engine->parameters();
  if (parameters.host_seen().empty()) return;
  std::ranges::copy(StatisticsOf(engine, store_->ObservationsSeen(parameters.host())),
                    parameters.host_seen().begin());
  parameters.EnqueueSeenUp();
}

bool DeviceRankSteps::Train(DeviceEngine* engine, double learning_rate) {
  const auto own = static_cast<std::uint64_t>(engine->updates());
  const auto agreed = store_->AgreeOnBatch(own, learning_rate);
  if (!agreed) {  // the device may read the batch yet
    engine->EndBatch(false);
    engine->Await();
    return false;
  }
  store_->watch().Begin({store_->batches(), 0});
  engine->SetRate(agreed->learning_rate);
  for (std::uint64_t i = 0; i < agreed->updates; ++i) i < own ? engine->Step() : engine->Join();
  engine->EndBatch(true);
  AwaitBatch(engine);
  store_->watch().End();
  return true;
}

/// Sleeps and looks: a rank that is missing is to be named, and not waited for without end.
void DeviceRankSteps::AwaitBatch(DeviceEngine* engine) {
  const std::int64_t begin_ns = MonotonicNs();
  while (!engine->Done()) {
    Status status = sums_->Health();
    if (status.ok()) status = store_->watch().Poll();
    if (!status.ok()) return sums_->Abort(status.message());
    std::this_thread::sleep_for(std::chrono::nanoseconds(
        std::clamp((MonotonicNs() - begin_ns) / 32, kShortestNs, kLongestNs)));
  }
}

void DeviceRankSteps::Merge(DeviceEngine* engine) {
  DeviceParameters& parameters = engine->parameters();
  std::ranges::copy(parameters.host_seen(),
                    StatisticsOf(engine, store_->ObservationsSeen(parameters.host())).begin());
  store_->EndBatch(parameters.host());
  parameters.EnqueueStatisticsUp();
}

}  // namespace murmurate
