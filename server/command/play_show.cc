#include "server/command/play_show.h"

#include <algorithm>

#include "server/pictures/gif_file.h"
#include "server/pictures/png_frames.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

/// Between two looks at signals while a frame is shown.
constexpr std::int64_t kLongestWaitNs = 50 * kNanosecondsPerMillisecond;
/// A play that is further behind than this, as after the machine slept, goes on from now.
constexpr std::int64_t kMostLateNs = kNanosecondsPerSecond;

}  // namespace

Result<std::unique_ptr<PlayShow>> PlayShow::Open(const PlayShowOptions& options) {
  std::unique_ptr<PlayShow> show(new PlayShow);
  if (!options.frames.empty()) {
    auto frames = PngFrames::Create(options.frames);
    if (!frames.ok()) return frames.status();
    show->files_.push_back(*std::move(frames));
  }
  if (!options.gif.empty()) {
    auto gif = GifFile::Create(options.gif);
    if (!gif.ok()) return gif.status();
    show->files_.push_back(*std::move(gif));
  }
  if (options.terminal) show->screen_ = std::make_unique<TerminalScreen>(options.title);
  return show;
}

Result<bool> PlayShow::Add(const GameFrame& frame) {
  for (const auto& file : files_) MURMURATE_RETURN_IF_ERROR(file->Add(frame));
  return screen_ ? ShowOnScreen(frame) : !EndWasAsked();
}

bool PlayShow::EndWasAsked() { return signals_.Wait(0) == Signals::Event::kSignal; }

Result<bool> PlayShow::ShowOnScreen(const GameFrame& frame) {
  const auto frame_ns = static_cast<std::int64_t>(frame.seconds * kNanosecondsPerSecond);
  std::int64_t now_ns = MonotonicNs();
  if (due_ns_ == 0 || now_ns > due_ns_ + kMostLateNs) due_ns_ = now_ns;
  due_ns_ += frame_ns;
  if (now_ns < due_ns_) MURMURATE_RETURN_IF_ERROR(screen_->Add(frame));
  do {
    const std::int64_t wait_ns = std::clamp<std::int64_t>(due_ns_ - now_ns, 0, kLongestWaitNs);
    const auto key = screen_->Key(
        static_cast<int>((wait_ns + kNanosecondsPerMillisecond - 1) / kNanosecondsPerMillisecond));
    if (!key.ok()) return key.status();
    if (*key == 'q' || *key == 'Q' || EndWasAsked()) return false;
    now_ns = MonotonicNs();
  } while (now_ns < due_ns_);
  return true;
}

Status PlayShow::Finish() {
  screen_.reset();
  Status status;
  for (const auto& file : files_)
    if (Status one = file->Finish(); !one.ok()) status = std::move(one);
  return status;
}

}  // namespace murmurate
