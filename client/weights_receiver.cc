#include "client/weights_receiver.h"

#include <algorithm>
#include <string>

namespace murmurate {
namespace {

constexpr int kLongestSleepMs = 1000;

}  // namespace

void WeightsReceiver::Subscribe(std::shared_ptr<ClientModel> model,
                                std::shared_ptr<PolicySet> policies,
                                std::shared_ptr<WeightSubscriber> subscriber) {
  auto source = std::make_shared<Source>();
  source->known = policies->stamp();
  if (model->unplayable() != 0) model->set_unplayable(0, "");  // that was another learner's
  source->model = std::move(model);
  source->policies = std::move(policies);
  source->subscriber = std::move(subscriber);
  {
    std::lock_guard lock(mutex_);
    std::erase_if(sources_, [&](const auto& held) { return held->model == source->model; });
    sources_.push_back(std::move(source));
  }
  Wake();
}

void WeightsReceiver::Wake() {
  wake_.fetch_add(1, std::memory_order_release);
  WakeAll(&wake_);
}

void WeightsReceiver::Stop() {
  stopping_.store(true, std::memory_order_release);
  Wake();
}

std::vector<std::shared_ptr<WeightsReceiver::Source>> WeightsReceiver::sources() const {
  std::lock_guard lock(mutex_);
  return sources_;
}

int WeightsReceiver::TakeNewer() {
  std::lock_guard lock(taking_);
  int taken = 0;
  for (const auto& source : sources()) taken += Take(*source);
  return taken;
}

void WeightsReceiver::PollOnce() {
  std::vector<FutexWait> waits{{&wake_, wake_.load(std::memory_order_acquire)}};
  for (const auto& source : sources()) {
    const FutexWord* word = source->subscriber->word();
    if (word != nullptr) waits.push_back({word, word->load(std::memory_order_acquire)});
    Take(*source);
  }
  if (!stopping_.load(std::memory_order_acquire)) WaitForAny(waits, kLongestSleepMs);
}

bool WeightsReceiver::Take(Source& source) {
  if (!source.subscriber->TakeNewer(source.known, &source.weights)) return false;
  source.known = source.weights.stamp;
  const Status playable = CheckActSettings(source.model->head.layout(), source.weights.act);
  if (!playable.ok()) {
    if (log_ && !source.complained) {
      log_(LogLevel::kWarning, "version " + std::to_string(source.known.version) + " of model " +
                                   source.model->name +
                                   " cannot be played, so the last one is: " + playable.message());
    }
    source.complained = true;
    source.model->set_unplayable(source.known.version, playable.message());
    return false;
  }
  if (source.complained) source.model->set_unplayable(0, "");
  source.complained = false;
  source.policies->Publish(source.weights.stamp, source.weights.act, source.weights.policy,
                           source.weights.statistics);
  received_.fetch_add(1, std::memory_order_relaxed);
  source.model->Progress();
  return true;
}

}  // namespace murmurate
