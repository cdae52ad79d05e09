#include "shared/wire/actor_messages.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace murmurate::wire {

void HelloModel::Check(Checker& in) const {
  std::vector<std::uint32_t> sorted = agents;
  std::sort(sorted.begin(), sorted.end());
  in.Expect(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), "agents",
            "each one once");
}

void Hello::Check(Checker& in) const {
  in.Expect(min_major <= max_major, "protocol range", "min <= max");
  std::set<std::string_view> names;
  std::size_t agents = 0;
  for (const HelloModel& model : models) {
    in.Expect(names.insert(model.name).second, "model names", "each one once");
    agents += model.agents.size();
  }
  in.Expect(agents <= kMaxAgents, "agents", "at most 65536 of one client", Refusal::kTooLarge);
}

void Chunk::Check(Checker& in) const {
  in.Expect(in.block_bytes <= kChunkBytes, "chunk", "at most 262144 bytes", Refusal::kTooLarge);
  in.Expect(total_bytes <= kMaxWeightsBytes, "weights", "at most 4 GiB", Refusal::kTooLarge);
  in.Expect(offset <= total_bytes && in.block_bytes <= total_bytes - offset, "chunk",
            "an end inside the weights");
}

}  // namespace murmurate::wire
