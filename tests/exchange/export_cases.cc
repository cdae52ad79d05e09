#include "tests/exchange/export_cases.h"

#include <cmath>

#include "shared/core/check.h"
#include "shared/core/random.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {
namespace {

/// The lines of a model whose policy and value have these layers.
std::string Model(const std::string& spaces, const std::string& layers, bool normalize = true,
                  const std::string& continuous = "") {
  return spaces + "normalize_observation " + (normalize ? "1\n" : "0\n") + continuous +
         "networks 2\nnetwork policy published trained\n" + layers +
         "head action\nnetwork value trained\n" + layers + "head 1\n";
}

/// The same where the value reads the policy's features.
std::string SharedModel(const std::string& spaces, const std::string& layers,
                        const std::string& continuous = "") {
  return spaces + "normalize_observation 1\n" + continuous +
         "networks 2\nnetwork policy published trained\n" + layers +
         "head action\nnetwork value trained\nshares policy\nhead 1\n";
}

constexpr char kFree[] = "state_dependent_deviation 0\nsquashed 0\n";
constexpr char kScaled[] = "state_dependent_deviation 0\nsquashed 0\nscale box\n";
constexpr char kSquashed[] = "state_dependent_deviation 1\nsquashed 1\n";
constexpr char kDeterministic[] = "state_dependent_deviation 0\nsquashed 0\ndeterministic\n";
constexpr char kBounded[] = "action continuous 3 low -2 0 -1 high 2 5 1\n";
constexpr char kFive[] = "observation float32 5\n";

std::vector<ExportCase> Trunks() {
  const std::string choice = "action discrete 4\n", vector = kFive + choice;
  return {
      {"linear", Model(vector, ""), {"value"}},
      {"dense", Model(vector, "dense 16 tanh\ndense 8 relu\n"), {"value"}},
      {"activations",
       Model(vector, "dense 16 none\nelu\ndense 9 sigmoid\ndense 8 elu\ntanh\n", false)},
      {"norms",
       Model(vector, "dense 16 relu\nlayer_norm\nresidual\ndense 16 tanh\nlayer_norm\nadd\n")},
      {"camera",
       SharedModel(
           "observation uint8 20 18 1\n" + choice,
           "input - stack 4\nconv 6 4 2 1 relu\nmax_pool 3 2 1\nconv 5 3 1 0 tanh\nflatten\n"
           "trunk\ndense 12 relu\n"),
       {"value"}},
      {"picture",
       Model("observation float32 9 7 2\n" + choice,
             "input - stack 2\nconv 6 3 1 1 none\nlayer_norm\nrelu\nresidual\nconv 6 3 1 1 elu\n"
             "layer_norm\nadd\nmax_pool 2 2 0\nflatten\ntrunk\ndense 8 tanh\n"),
       {"value"}},
      {"flat_picture", Model("observation uint8 4 3 2\n" + choice, "dense 8 tanh\n")},
      {"plane",
       Model("observation float32 6 5\n" + choice,
             "input - stack 1\nlayer_norm\nconv 4 2 2 0 relu\nflatten\ntrunk\ndense 8 tanh\n")},
      {"stacked_plane",
       Model("observation float32 6 5\n" + choice,
             "input - stack 3\nconv 4 2 2 0 relu\nflatten\ntrunk\ndense 8 tanh\n")},
      {"stacked_vector", Model(vector, "input - stack 3\ndense 6 tanh\ntrunk\ndense 8 tanh\n")},
      {"point", Model("observation float32 1 1 4\n" + choice,
                      "input - stack 1\nconv 6 1 1 0 tanh\nlayer_norm\nmax_pool 1 1 "
                      "0\ntrunk\ndense 8 tanh\n")},
      {"four_axes", Model("observation float32 2 3 2 2\n" + choice, "dense 8 tanh\n")},
      {"lstm", SharedModel(vector, "dense 8 tanh\nlstm 12\ndense 6 tanh\n"), {"value"}},
      {"gru", SharedModel(vector, "gru 12\n"), {"value"}},
      {"two_memories", SharedModel(vector, "lstm 7\nlayer_norm\ngru 6\nlstm 5\n"), {"value"}},
      {"embeddings",
       Model("observation.kind categories 10 3\nobservation.flags binary 4\n" + choice,
             "input kind stack 1\ndense 8 none\ntrunk\ndense 8 tanh\n")},
      {"parts",
       Model("observation.speed float32 3\nobservation.camera uint8 8 8 3\n"
             "observation.kind categories 5\nobservation.place float32 2\n" +
                 choice,
             "input camera stack 2\nconv 4 3 2 0 relu\nflatten\ninput place stack 2\ndense 5 elu\n"
             "trunk\ndense 8 tanh\n"),
       {"value"}},
  };
}

std::vector<ExportCase> Heads() {
  const std::string layers = "dense 8 tanh\n", five = kFive;
  return {
      {"several_choices", Model(five + "action discrete 3 2 4\n", layers)},
      {"switches", Model(five + "action binary 5\n", layers)},
      {"numbers", Model(five + "action continuous 2 3\n", layers, true, kFree)},
      {"bounded", Model(five + kBounded, layers, true, kFree)},
      {"scaled", Model(five + kBounded, layers, true, kScaled)},
      {"spread", Model(five + kBounded, layers, true, "state_dependent_deviation 1\nsquashed 0\n")},
      {"squashed", Model(five + kBounded, layers, true, kSquashed)},
      {"deterministic", Model(five + kBounded, layers, true, kDeterministic)},
      {"deterministic_squashed", Model(five + kBounded, layers, true,
                                       "state_dependent_deviation 0\nsquashed 1\ndeterministic\n")},
      {"choices_and_numbers",
       Model(five + "action.weapon discrete 3 2\naction.turn continuous 2 low -1 -3 high 1 4\n"
                    "action.place discrete 4\naction.force continuous 1\n",
             layers, true, kFree)},
      {"action_parts",
       Model(five + "action.weapon discrete 3 2\naction.turn continuous 2 low -1 -3 high 1 4\n"
                    "action.buttons binary 2\naction.place discrete 4\naction.force continuous 1\n",
             layers, true, kFree),
       {"value"}},
  };
}

std::vector<ExportCase> OtherModels() {
  const std::string five = kFive;
  return {
      {"previous_step",
       five + "action discrete 3\nnormalize_observation 1\nprevious action reward\nnetworks 1\n"
              "network policy published trained\ngru 8\nhead action\n"},
      {"previous_parts",
       "observation.speed float32 3\naction.weapon discrete 3 2\n"
       "action.turn continuous 2 low -1 -3 high 1 4\naction.buttons binary 2\n"
       "normalize_observation 1\n" +
           std::string(kScaled) +
           "previous action reward\nnetworks 1\nnetwork policy published trained\n"
           "lstm 8\nhead action\n"},
      {"dueling_quantiles",
       five + "action discrete 3\nnormalize_observation 1\nnetworks 6\n"
              "network policy published trained\ndense 8 relu\nhead action\n"
              "network value trained\nshares policy\nhead 1\n"
              "network quantiles trained\nshares policy\nhead 12\n"
              "network target follows policy\nnetwork target_value follows value\n"
              "network target_quantiles follows quantiles\n",
       {"value", "quantiles"}},
      {"critics",
       five + kBounded + "normalize_observation 1\n" + kSquashed +
           "networks 5\nnetwork policy published trained\ndense 8 relu\nhead action\n"
           "network q1 trained\nreads action\ndense 8 relu\nhead 1\n"
           "network q2 trained\nreads action\ndense 8 relu\nhead 1\n"
           "network target1 follows q1\nnetwork target2 follows q2\n",
       {"q1", "q2"}},
      {"privileged",
       "observation.camera uint8 4 4 1\nobservation.speed float32 2\naction discrete 3\n"
       "privileged.truth float32 4\nprivileged.kind categories 3\nnormalize_observation 1\n"
       "networks 2\nnetwork policy published trained\ndense 8 tanh\nhead action\n"
       "network value trained\nreads privileged\ndense 8 tanh\nhead 1\n",
       {"value"}},
      // A stream's: a window of rows, or rows one by one with a state, and forecasts.
      {"stream_window",
       "observation float32 24\naction continuous 6\nnormalize_observation 0\n" +
           std::string(kFree) +
           "networks 1\nnetwork policy published trained\ndense 16 tanh\nhead action\n"},
      {"stream_memory", "observation float32 3\naction continuous 6\nnormalize_observation 0\n" +
                            std::string(kFree) +
                            "networks 1\nnetwork policy published trained\ngru 16\nhead action\n"},
  };
}

}  // namespace

const std::vector<ExportCase>& ExportCases() {
  static const std::vector<ExportCase> kCases = [] {
    std::vector<ExportCase> cases = Trunks();
    for (const auto& more : {Heads(), OtherModels()})
      cases.insert(cases.end(), more.begin(), more.end());
    return cases;
  }();
  return kCases;
}

WeightsFile RandomModel(const std::string& model, std::uint64_t seed) {
  Result<ModelSpec> spec = ModelSpec::Parse("murmurate-model 2\n" + model);
  MURMURATE_CHECK(spec.ok(), spec.status().message().c_str());
  WeightsFile file{*std::move(spec), 7, 4096, {}};
  const ParameterLayout layout(file.spec);
  file.parameters = AlignedFloats(layout.total);
  Random random(seed);
  for (const TensorSlot& slot : layout.tensors) {
    const std::size_t rows = slot.count / static_cast<std::size_t>(slot.shape.back());
    const float scale = slot.shape.size() > 1 ? 1.5f / std::sqrt(static_cast<float>(rows)) : 0.5f;
    for (std::size_t i = 0; i < slot.count; ++i) {
      float& number = file.parameters[slot.offset + i];
      number = scale * static_cast<float>(random.Normal());
      if (slot.name.ends_with(".variance")) number = 0.5f + random.Uniform();
      if (slot.name.ends_with(".count")) number = 100.0f;
    }
  }
  return file;
}

}  // namespace murmurate
