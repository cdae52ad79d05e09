#include "server/daemon/feeding.h"

#include "shared/core/random.h"

namespace murmurate {
namespace {

constexpr std::uint64_t kDataSeed = 0x64617461;  // "data"

}  // namespace

Feeding::Feeding(std::shared_ptr<ExperienceChannel> channel, std::shared_ptr<DataSource> source,
                 const DataSettings& settings, const RunSettings& run,
                 std::function<void(Status)> on_end)
    : feed_(std::move(channel), std::move(source),
            {DeriveSeed(run.seed, kDataSeed), settings.passes, settings.holdout, run.most_steps(),
             settings.part},
            std::move(on_end)),
      threads_(settings.threads) {}

void Feeding::Start(int /*number*/) {
  for (int i = 1; i <= threads_; ++i) {
    loops_.push_back(std::make_unique<Loop>(
        i == 1 ? "mmr-data" : "mmr-data." + std::to_string(i),
        [this] { feed_.PollOnce(std::chrono::milliseconds(100)); }, [this] { feed_.Stop(); }));
  }
}

Result<std::unique_ptr<Recording>> Recording::Start(const RecordingSettings& settings,
                                                    const std::string& model, int number,
                                                    const ExperienceChannel& channel,
                                                    LogCallback log) {
  auto recorder = Recorder::Open(settings, model, channel.spec, channel.layout, std::move(log));
  if (!recorder.ok()) return recorder.status();
  std::unique_ptr<Recording> recording(new Recording(std::move(*recorder)));
  Recorder* const writer = recording->recorder_.get();
  recording->loop_ = std::make_unique<Loop>(
      number == 0 ? "mmr-record" : "mmr-record." + std::to_string(number),
      [writer] { writer->PollOnce(10'000); }, [writer] { writer->Wake(); });
  return recording;
}

std::string Recording::Finish() {
  loop_.reset();
  recorder_->PollOnce(0);
  return recorder_->Summary();
}

}  // namespace murmurate
