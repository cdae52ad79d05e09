#include "client/weights_receiver.h"

#include <algorithm>
#include <string>
#include <utility>

namespace murmurate {
namespace {

constexpr int kLongestSleepMs = 1000;
// Beside a game: 128 KiB are packed, then nothing for longer than that takes.
constexpr std::size_t kFloatsAtOnce = 32 * 1024;
constexpr int kPauseUs = 400;

}  // namespace

/// One model's subscription, and the sink of what comes by it. Its pieces go into the model's next
/// buffer; another subscription may have begun in that one before, so each begins for itself.
struct WeightsReceiver::Source : WeightSink {
  Source(WeightsReceiver& its_receiver, std::shared_ptr<PolicySet> its_policies)
      : receiver(its_receiver),
        policies(std::move(its_policies)),
        layout(policies->spec().spaces.action, policies->spec().continuous) {}

  bool ReceiveNewer() {
    published = false;
    return subscriber->ReceiveNewer(known, this) && published;
  }
  void Begin() override {
    hurried = begun;
    begun = true;
    since_pause = 0;
    policies->Begin();
  }
  void Put(std::size_t first, std::span<const float> numbers) override {
    if (!begun || receiver.stopping_.load(std::memory_order_relaxed)) return;
    policies->Put(first, numbers);
    since_pause += numbers.size();
    if (!receiver.gives_way_ || hurried || since_pause < kFloatsAtOnce) return;
    since_pause = 0;
    Nap(kPauseUs);
  }
  bool End(const VersionStamp& stamp, const ActSettings& act) override;
  void Refuse(const std::string& reason);

  WeightsReceiver& receiver;
  std::shared_ptr<ClientModel> model;
  const std::shared_ptr<PolicySet> policies;
  const ActionLayout layout;
  std::shared_ptr<WeightSubscriber> subscriber;
  VersionStamp known;
  bool begun = false, published = false;
  bool hurried = false;  // the last one never ended
  std::size_t since_pause = 0;
  bool complained = false;
};

bool WeightsReceiver::Source::End(const VersionStamp& stamp, const ActSettings& act) {
  if (receiver.stopping_.load(std::memory_order_relaxed)) return false;  // Put took no more
  if (!std::exchange(begun, false)) return false;
  known = stamp;
  const Status playable = CheckActSettings(layout, act);
  if (!playable.ok()) {
    Refuse(playable.message());
    return true;
  }
  if (complained) model->weights.SetUnplayable(0, "");
  complained = false;
  policies->Publish(stamp, act);
  published = true;
  receiver.received_.fetch_add(1, std::memory_order_relaxed);
  model->wait.Progress();
  return true;
}

void WeightsReceiver::Source::Refuse(const std::string& reason) {
  if (receiver.log_ && !complained) {
    receiver.log_(LogLevel::kWarning, "version " + std::to_string(known.version) + " of model " +
                                          model->name +
                                          " cannot be played, so the last one is: " + reason);
  }
  complained = true;
  model->weights.SetUnplayable(known.version, reason);
}

void WeightsReceiver::Subscribe(std::shared_ptr<ClientModel> model,
                                std::shared_ptr<PolicySet> policies,
                                std::shared_ptr<WeightSubscriber> subscriber) {
  auto source = std::make_shared<Source>(*this, std::move(policies));
  source->known = source->policies->stamp();
  if (model->weights.unplayable() != 0)
    model->weights.SetUnplayable(0, "");  // that was another learner's
  source->model = std::move(model);
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

int WeightsReceiver::ReceiveNewer() {
  std::lock_guard lock(taking_);
  int taken = 0;
  for (const auto& source : sources()) taken += source->ReceiveNewer();
  return taken;
}

void WeightsReceiver::PollOnce() {
  if (gives_way_ && !std::exchange(stands_behind_, true)) StandBehind();
  std::vector<FutexWait> waits{{&wake_, wake_.load(std::memory_order_acquire)}};
  for (const auto& source : sources()) {
    const FutexWord* word = source->subscriber->word();
    // guard: Client.NoVersionIsSleptThrough: the futex words are read before versions are taken
    if (word != nullptr) waits.push_back({word, word->load(std::memory_order_acquire)});
    source->ReceiveNewer();
  }
  if (!stopping_.load(std::memory_order_acquire)) WaitForAny(waits, kLongestSleepMs);
}

}  // namespace murmurate
