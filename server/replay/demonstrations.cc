#include "server/replay/demonstrations.h"

#include <algorithm>

#include "server/experience/memory_room.h"
#include "server/metrics/number_text.h"
#include "shared/core/check.h"
#include "shared/core/random.h"

namespace murmurate {
namespace {

constexpr std::uint64_t kSeed = 0x64656d6f;  // "demo"

}  // namespace

Demonstrations::Demonstrations(const ReplaySettings& settings, const TrajectoryLayout& layout,
                               std::uint64_t seed)
    : samples_(static_cast<std::size_t>(settings.demonstrated())),
      block_(KeptSteps::BytesFor(settings, layout)),
      kept_(settings, layout, DeriveSeed(seed, kSeed), BlockCursor(block_.bytes())),
      copy_(SampleForm(settings), layout, &kept_.rows()) {}

Result<std::unique_ptr<Demonstrations>> Demonstrations::Make(ReplaySettings settings,
                                                             const TrajectoryLayout& layout,
                                                             std::uint64_t seed,
                                                             const RecordedPlay& play) {
  settings.capacity = std::max(play.steps(), static_cast<std::uint64_t>(layout.length));
  const std::uint64_t bytes = KeptSteps::BytesFor(settings, layout), room = MemoryRoom();
  if (bytes > room)
    return ResourceError("the " + WithCommas(play.steps()) + " demonstrations take " +
                         FormatNumber("%.2f", static_cast<double>(bytes) * 1e-9) + " GB, and " +
                         FormatNumber("%.2f", static_cast<double>(room) * 1e-9) +
                         " GB are free; give fewer");
  std::unique_ptr<Demonstrations> made(new Demonstrations(settings, layout, seed));
  MURMURATE_RETURN_IF_ERROR(
      play.Visit([&](const TrajectoryView& view) { (void)made->kept_.Keep(view); }));
  MURMURATE_CHECK(made->size() == play.steps(), "nothing was evicted");
  if (made->kept_.windows().closed() == 0)
    return InvalidArgument("the " + WithCommas(play.steps()) +
                           " demonstrations have no whole sample of " +
                           std::to_string(settings.steps_of_sample()) + " steps; record more");
  return made;
}

}  // namespace murmurate
