#include "server/measure/weights_exchange.h"

#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>

#include "shared/core/check.h"
#include "shared/core/random.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

PolicyAndValue Model() {
  return {.spaces = {Box({96}), Discrete(8)},
          .trunk = {{1024, Activation::kTanh}, {1536, Activation::kTanh}},
          .separate_value = false};
}

}  // namespace

/// Keeps the numbers of the newest version.
class WeightsExchange::Taker : public WeightSink {
 public:
  explicit Taker(std::size_t floats) : numbers_(floats) {}
  void Begin() override {}
  void Put(std::size_t first, std::span<const float> numbers) override {
    std::memcpy(numbers_.data() + first, numbers.data(), numbers.size_bytes());
  }
  bool End(const VersionStamp& whole, const ActSettings&) override {
    stamp_ = whole;
    return true;
  }
  const VersionStamp& stamp() const { return stamp_; }

 private:
  AlignedFloats numbers_;
  VersionStamp stamp_;
};

Result<std::unique_ptr<WeightsExchange>> WeightsExchange::Make() {
  const ModelSpec spec = Model();
  const std::uint64_t incarnation = RandomIdentity();
  const std::string name = SegmentName("bench-" + std::to_string(getpid()), "default", incarnation);
  auto publisher = SharedMemoryPublisher::Create(name, spec, incarnation);
  if (!publisher.ok()) return publisher.status();
  auto subscriber = SharedMemorySubscriber::Open(name, spec, incarnation);
  if (!subscriber.ok()) return subscriber.status();
  return std::unique_ptr<WeightsExchange>(
      new WeightsExchange(spec, *std::move(publisher), *std::move(subscriber)));
}

WeightsExchange::WeightsExchange(const ModelSpec& spec,
                                 std::unique_ptr<SharedMemoryPublisher> publisher,
                                 std::unique_ptr<SharedMemorySubscriber> subscriber)
    : publisher_(std::move(publisher)),
      subscriber_(std::move(subscriber)),
      taker_(std::make_shared<Taker>(ParameterLayout(spec).total)),
      bytes_(PayloadBytes(ParameterLayout(spec))),
      there_(bytes_.size()) {
  snapshot_.parameters = AlignedFloats(ParameterLayout(spec).total);
  Random random(1);
  for (float& value : snapshot_.parameters) value = random.Uniform() - 0.5f;
}

void WeightsExchange::Exchange() {
  ++snapshot_.version;
  const Status status = publisher_->Publish(snapshot_);
  MURMURATE_CHECK(status.ok(), status.message().c_str());
  const bool newer = subscriber_->ReceiveNewer(taker_->stamp(), taker_.get());
  MURMURATE_CHECK(newer, "a version that was published is there");
}

void WeightsExchange::Copy() {
  std::memcpy(there_.data(), bytes_.data(), bytes_.size());
  asm volatile("" : : "r"(there_.data()) : "memory");
  std::memcpy(bytes_.data(), there_.data(), bytes_.size());
  asm volatile("" : : "r"(bytes_.data()) : "memory");
}

}  // namespace murmurate
