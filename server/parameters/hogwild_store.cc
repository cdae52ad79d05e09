#include "server/parameters/hogwild_store.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <mutex>
#include <optional>
#include <utility>

#include "server/compute/vector_math.h"
#include "server/parameters/hogwild.h"
#include "server/parameters/observation_sum.h"
#include "shared/core/check.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

struct HogwildStore::Shared {
  Shared(const HogwildSettings& given, const ModelSpec& spec, double given_norm)
      : settings(given),
        layout(spec),
        max_grad_norm(given_norm),
        statistics(layout.statistics.count) {}

  const HogwildSettings settings;
  const ParameterLayout layout;
  const double max_grad_norm;
  std::atomic<std::uint64_t> updates{0};
  std::atomic<int> stores{0};
  std::mutex mutex;  ///< of what follows, but not of the inside of `parameters`
  std::optional<HogwildParameters> parameters;  ///< from the first batch on
  AlignedFloats statistics;
  std::uint64_t version = 0;
};

HogwildStore::HogwildStore(const HogwildSettings& settings, const ModelSpec& spec,
                           double max_grad_norm)
    : HogwildStore(std::make_shared<Shared>(settings, spec, max_grad_norm)) {}

HogwildStore::HogwildStore(std::shared_ptr<Shared> shared)
    : shared_(std::move(shared)),
      thread_(shared_->stores.fetch_add(1)),
      own_(shared_->settings.threads > 1 && shared_->statistics.size() > 0 ? shared_->layout.total
                                                                           : 0) {
  MURMURATE_CHECK(thread_ < shared_->settings.threads, "no more stores than threads");
}

HogwildStore::~HogwildStore() = default;

std::span<float> HogwildStore::StatisticsOf(std::span<float> block) const {
  return block.subspan(shared_->layout.statistics.offset, shared_->layout.statistics.count);
}

bool HogwildStore::BeginBatch(std::span<float> parameters) {
  const auto trained = parameters.first(shared_->layout.trained_count());
  const auto statistics = StatisticsOf(parameters);
  {
    const std::lock_guard lock(shared_->mutex);
    if (!shared_->parameters) {
      shared_->parameters.emplace(trained, shared_->settings.threads, shared_->settings.locking);
      std::copy(statistics.begin(), statistics.end(), shared_->statistics.begin());
    }
    std::copy(shared_->statistics.begin(), shared_->statistics.end(), statistics.begin());
  }
  shared_->parameters->Read(thread_, trained);
  std::fill(own_.begin(), own_.end(), 0.0f);  // a count of 0: the rest means nothing
  return true;
}

double HogwildStore::Step(double learning_rate, std::span<const float> gradient,
                          std::span<float> parameters) {
  const double norm = Norm(gradient);
  if (!std::isfinite(norm)) return norm;
  const double most = shared_->max_grad_norm;
  const bool clipped = most > 0.0 && norm > most;
  shared_->parameters->Step(thread_, static_cast<float>(learning_rate),
                            clipped ? static_cast<float>(most / norm) : 1.0f, gradient, parameters);
  shared_->updates.fetch_add(1, std::memory_order_relaxed);
  return norm;
}

std::span<float> HogwildStore::ObservationsSeen(std::span<float> parameters) {
  return own_.size() > 0 ? std::span<float>(own_) : parameters;
}

void HogwildStore::EndBatch(std::span<float> parameters) {
  const auto statistics = StatisticsOf(parameters);
  {
    const std::lock_guard lock(shared_->mutex);
    const std::span<float> all = shared_->statistics;
    if (own_.size() > 0) {
      const std::array<std::span<const float>, 2> parts{all, StatisticsOf(own_)};
      SumObservations(shared_->layout, parts, all);
      std::copy(all.begin(), all.end(), statistics.begin());
    } else {
      std::copy(statistics.begin(), statistics.end(), all.begin());
    }
    made_ = ++shared_->version;
  }
  shared_->parameters->Read(thread_, parameters.first(shared_->layout.trained_count()));
}

std::uint64_t HogwildStore::VersionBegun(std::uint64_t own) {
  const std::lock_guard lock(shared_->mutex);
  shared_->version = std::max(shared_->version, own);
  return shared_->version;
}

std::uint64_t HogwildStore::VersionMade(std::uint64_t /*own*/) { return made_; }

std::unique_ptr<ParameterStore> HogwildStore::SharedReplica() {
  return std::unique_ptr<ParameterStore>(new HogwildStore(shared_));
}

void HogwildStore::Save(const StateWriter& writer) const {
  const std::uint64_t updates = shared_->updates;
  writer.Words("steps", std::span(&updates, 1));
}

Status HogwildStore::Load(const StateReader& reader) {
  std::uint64_t updates = 0;
  MURMURATE_RETURN_IF_ERROR(reader.Words("steps", std::span(&updates, 1)));
  shared_->updates = updates;
  return {};
}

std::uint64_t HogwildStore::updates() const { return shared_->updates; }

}  // namespace murmurate
