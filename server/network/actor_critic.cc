#include "server/network/actor_critic.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "server/network/network_share.h"
#include "shared/compute/layer_kernels.h"
#include "shared/core/check.h"
#include "shared/core/thread_team.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {
namespace {

constexpr std::size_t kLine = 16;  // floats

}  // namespace

struct ActorCritic::Workspace {
  const ModelSpec spec;
  const ParameterLayout layout;
  const int outputs, max_rows, longest_sequence;
  ThreadTeam team;
  std::vector<std::unique_ptr<NetworkShare>> shares;  // one a thread
  int state_floats = 0;
  bool kept = false;  // a Forward that Backward may follow

  Workspace(const ModelSpec& s, int rows, int threads, int longest)
      : spec(s),
        layout(s),
        outputs(ActionLayout(s.spaces.action, s.continuous).outputs()),
        max_rows(rows),
        longest_sequence(longest > 0 ? std::min(longest, rows) : rows),
        team("mmr-train", threads) {
    const NetworkShare::Cutting cutting{max_rows, spec.recurrent() ? longest_sequence : 1, threads};
    for (int i = 0; i < threads; ++i)
      shares.push_back(std::make_unique<NetworkShare>(spec, layout, cutting, i));
    state_floats = shares.front()->state_floats();
  }

  /// Every thread sums a range of the parameters over all shares, in their order.
  void SumGradients(float* gradient) {
    if (shares.size() == 1 || !shares[1]->has_rows()) return;
    const LayerKernels& kernels = BestKernels<LayerKernels>();
    const std::size_t count = layout.trained_count();
    const std::size_t lines = (count + kLine - 1) / kLine;
    team.Run([&](int share) {
      const std::size_t begin = lines * share / shares.size() * kLine;
      const std::size_t end = std::min(count, lines * (share + 1) / shares.size() * kLine);
      for (std::size_t i = 1; i < shares.size() && shares[i]->has_rows(); ++i)
        kernels.add(end - begin, shares[i]->gradient() + begin, gradient + begin);
    });
  }
};

ActorCritic::ActorCritic(const ModelSpec& spec, int max_rows, int threads, int longest_sequence)
    : workspace_(std::make_unique<Workspace>(spec, max_rows, threads, longest_sequence)) {}
ActorCritic::~ActorCritic() = default;
ActorCritic::ActorCritic(ActorCritic&&) noexcept = default;

const ModelSpec& ActorCritic::spec() const { return workspace_->spec; }
const ParameterLayout& ActorCritic::layout() const { return workspace_->layout; }
int ActorCritic::outputs() const { return workspace_->outputs; }
int ActorCritic::state_floats() const { return workspace_->state_floats; }

void ActorCritic::Forward(std::span<const float> parameters, const void* observations, int rows,
                          float* logits, float* values, const Sequences* sequences) {
  Workspace& w = *workspace_;
  MURMURATE_CHECK(rows <= w.max_rows, "more rows than the scratch holds");
  MURMURATE_CHECK(parameters.size() == w.layout.total, "another layout's parameters");
  const Sequences* const used = w.state_floats > 0 ? sequences : nullptr;
  MURMURATE_CHECK(
      w.state_floats == 0 || (sequences != nullptr && sequences->steps * sequences->count == rows),
      "a recurrent model needs to know which rows follow each other");
  MURMURATE_CHECK(used == nullptr || used->steps <= w.longest_sequence,
                  "a longer sequence than there is room for");
  w.kept = logits != nullptr && rows > 0;
  w.team.Run([&](int share) {
    w.shares[share]->Forward(parameters.data(), observations, rows, logits, values, used);
  });
}

void ActorCritic::Backward(std::span<const float> parameters, const float* d_logits,
                           const float* d_values, std::span<float> gradient) {
  Workspace& w = *workspace_;
  MURMURATE_CHECK(w.kept, "Backward follows a Forward with logits");
  MURMURATE_CHECK(gradient.size() >= w.layout.trained_count(), "room for every gradient");
  w.team.Run([&](int share) {
    NetworkShare& mine = *w.shares[share];
    mine.Backward(parameters.data(), d_logits, d_values,
                  share == 0 ? gradient.data() : mine.gradient());
  });
  w.SumGradients(gradient.data());
  w.kept = false;
}

double ActorCritic::flops_per_row() const { return workspace_->shares[0]->flops(); }

}  // namespace murmurate
