#include "server/schema/model_config.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "shared/core/check.h"
#include "shared/model/observation_layout.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

using Texts = std::vector<std::string>;
using Kind = Layer::Kind;

Texts NatureCnn() {
  return {"conv 32 8 4 0 relu", "conv 64 4 2 0 relu", "conv 64 3 1 0 relu", "flatten"};
}

Texts ImpalaCnn() {
  Texts layers;
  for (const char* filters : {"16", "32", "32"}) {
    const std::string conv = std::string("conv ") + filters + " 3 1 1 ";
    layers.push_back(conv + "none");
    layers.push_back("max_pool 3 2 1");
    for (int block = 0; block < 2; ++block) {
      for (const std::string& layer :
           Texts{"residual", "relu", conv + "relu", conv + "none", "add"})
        layers.push_back(layer);
    }
  }
  layers.push_back("relu");
  layers.push_back("flatten");
  return layers;
}

Status AddLayers(const Texts& texts, Activation default_activation, std::vector<Layer>* layers) {
  for (const std::string& text : texts) {
    Result<Layer> layer = Layer::Parse(text, &default_activation);
    if (!layer.ok()) return InvalidArgument(layer.status().message());
    layers->push_back(*layer);
  }
  return Status();
}

/// Height, width and channels; bytes may leave out a single channel.
bool IsPicture(const ObservationInput& input) {
  using Element = ObservationInput::Element;
  return (input.shape.size() == 3 && input.element != Element::kInt32) ||
         (input.shape.size() == 2 && input.element == Element::kUint8);
}

InputEncoder* EncoderOf(const std::string& input, std::vector<InputEncoder>* encoders) {
  for (InputEncoder& encoder : *encoders) {
    if (encoder.input == input) return &encoder;
  }
  return &encoders->emplace_back(InputEncoder{input, 1, {}});
}

/// The layers that `inputs` lists.
Status AddListed(const ModelConfig& words, const ObservationLayout& observation,
                 Activation default_activation, std::vector<InputEncoder>* encoders) {
  const bool unnamed = observation.inputs()[0].name.empty();
  for (const std::string& entry : words.inputs) {
    const std::size_t colon = entry.find(": ");
    if (colon == entry.npos) {
      return InvalidArgument("an input is \"" + entry +
                             "\" where \"NAME: LAYER\" was expected, e.g. \"camera: flatten\"");
    }
    std::string name = entry.substr(0, colon);
    if (unnamed && name == "observation") name.clear();
    MURMURATE_RETURN_IF_ERROR(AddLayers({entry.substr(colon + 2)}, default_activation,
                                        &EncoderOf(name, encoders)->layers));
  }
  return Status();
}

/// The encoder of an input: `trunk`, or what "auto" comes to for it. "" leaves it as it is.
std::string EncoderFor(const std::string& trunk, const ObservationInput& input) {
  constexpr int kLeastForNature = 36, kLeastForConv = 3;
  if (!IsPicture(input) || trunk == "mlp") return "";
  if (trunk != "auto") return trunk;
  const int side = std::min(input.shape[0], input.shape[1]);
  return side >= kLeastForNature ? "nature_cnn" : side >= kLeastForConv ? "conv" : "";
}

/// "auto" makes a picture of more than 256 pixels a side smaller first; else nearly all of a model
/// would be what connects its last picture to the first vector.
Texts Shrinking(const std::string& trunk, const ObservationInput& input) {
  constexpr int kMostPixels = 256;
  if (trunk != "auto" || !IsPicture(input)) return {};
  const int factor = (std::max(input.shape[0], input.shape[1]) - 1) / kMostPixels + 1;
  const std::string text = std::to_string(factor);
  return factor == 1 ? Texts{} : Texts{"max_pool " + text + " " + text + " 0"};
}

Texts EncoderLayers(const std::string& encoder) {
  if (encoder == "nature_cnn") return NatureCnn();
  if (encoder == "impala_cnn") return ImpalaCnn();
  return encoder.empty() ? Texts{} : Texts{"conv 16 3 1 1 relu", "flatten"};
}

/// The trunk's layers after inputs of which one is encoded so.
Texts DefaultLayers(const std::string& encoder) {
  if (encoder == "nature_cnn") return {"dense 512"};
  if (encoder == "impala_cnn") return {"dense 256"};
  return {"dense 64", "dense 64"};
}

/// The layers and stacks that follow from `trunk` and `frame_stack`; the trunk's usual layers.
Result<Texts> AddDefault(const ModelConfig& words, const ObservationLayout& observation,
                         std::vector<InputEncoder>* encoders) {
  const auto& inputs = observation.inputs();
  const bool pictures = std::any_of(inputs.begin(), inputs.end(), IsPicture);
  if (!pictures && words.trunk != "mlp" && words.trunk != "auto") {
    return InvalidArgument("trunk " + words.trunk +
                           " encodes pictures of height, width and channels, and the observation "
                           "has none: use trunk = \"mlp\"");
  }
  Texts layers = DefaultLayers("");
  for (const ObservationInput& input : inputs) {
    const std::string encodes = EncoderFor(words.trunk, input);
    const bool numbers = input.element != ObservationInput::Element::kInt32;
    const bool stacks = words.frame_stack > 1 && (pictures ? IsPicture(input) : numbers);
    if (DefaultLayers(encodes).size() == 1) layers = DefaultLayers(encodes);
    if (encodes.empty() && !stacks) continue;
    InputEncoder* encoder = EncoderOf(input.name, encoders);
    if (stacks) encoder->stack = words.frame_stack;
    if (!encoder->layers.empty()) continue;
    Texts encoder_layers = Shrinking(words.trunk, input);
    std::ranges::copy(EncoderLayers(encodes), std::back_inserter(encoder_layers));
    MURMURATE_RETURN_IF_ERROR(AddLayers(encoder_layers, Activation::kRelu, &encoder->layers));
  }
  return layers;
}

/// The layers of privileged pictures, which are never stacked.
Status AddPrivileged(const Spaces& spaces, std::vector<InputEncoder>* encoders) {
  const ObservationLayout row(RowSpace(spaces, {}));
  for (std::size_t i = ObservationLayout(spaces.observation).inputs().size();
       i < row.inputs().size(); ++i) {
    const ObservationInput& input = row.inputs()[i];
    const std::string encodes = EncoderFor("auto", input);
    if (encodes.empty()) continue;
    InputEncoder* encoder = EncoderOf(input.name, encoders);
    if (!encoder->layers.empty()) continue;
    Texts layers = Shrinking("auto", input);
    std::ranges::copy(EncoderLayers(encodes), std::back_inserter(layers));
    MURMURATE_RETURN_IF_ERROR(AddLayers(layers, Activation::kRelu, &encoder->layers));
  }
  return Status();
}

/// Of a value that sees what a policy with memory has to remember: the same layers without those
/// that recur, or the usual ones where none are left.
Result<std::vector<Layer>> LayersWithoutMemory(std::vector<Layer> trunk, Activation activation) {
  std::erase_if(trunk, [](const Layer& layer) { return layer.recurrent(); });
  if (trunk.empty()) MURMURATE_RETURN_IF_ERROR(AddLayers(DefaultLayers(""), activation, &trunk));
  return trunk;
}

bool EncodesPictures(const ModelConfig& words, const ObservationLayout& observation) {
  const auto& inputs = observation.inputs();
  const bool pictures = std::any_of(inputs.begin(), inputs.end(), IsPicture);
  return words.trunk != "mlp" && (words.trunk != "auto" || pictures);
}

Activation DefaultActivation(const ModelConfig& words, const ObservationLayout& observation) {
  const bool numbers = !EncodesPictures(words, observation);
  return words.activation.value_or(numbers ? Activation::kTanh : Activation::kRelu);
}

}  // namespace

bool Recurs(const ModelConfig& words) {
  const Texts layers = words.layers.value_or(Texts{});
  const Activation default_activation = Activation::kTanh;
  return !words.recurrent.empty() ||
         std::any_of(layers.begin(), layers.end(), [&](const std::string& text) {
           const Result<Layer> layer = Layer::Parse(text, &default_activation);
           return layer.ok() && layer->recurrent();
         });
}

Result<ModelSpec> MakeSpec(const ModelConfig& words, const Spaces& spaces) {
  MURMURATE_RETURN_IF_ERROR(CheckSpaces(spaces));
  const ObservationLayout observation(spaces.observation);
  const Activation default_activation = DefaultActivation(words, observation);
  PolicyAndValue spec;
  spec.spaces = spaces;
  spec.continuous = words.continuous;
  spec.continuous.scaled &=
      !words.continuous.squashed && !words.continuous.deterministic && ScalesActions(spaces.action);
  spec.previous = words.previous;
  spec.normalize_observation = words.normalize_observation;
  MURMURATE_RETURN_IF_ERROR(AddListed(words, observation, default_activation, &spec.encoders));
  const Result<Texts> layers = AddDefault(words, observation, &spec.encoders);
  if (!layers.ok()) return layers.status();
  MURMURATE_RETURN_IF_ERROR(
      AddLayers(words.layers.value_or(*layers), default_activation, &spec.trunk));
  if (!words.recurrent.empty()) {
    MURMURATE_RETURN_IF_ERROR(AddLayers({words.recurrent}, default_activation, &spec.trunk));
    if (!spec.trunk.back().recurrent()) {
      return InvalidArgument("recurrent is \"" + words.recurrent +
                             "\" where \"lstm UNITS\" or \"gru UNITS\" was expected");
    }
  }
  const bool privileged = spaces.privileged.kind != Space::Kind::kNone;
  spec.separate_value = words.separate_value.value_or(
      privileged || (!Recurs(words) && !EncodesPictures(words, observation)));
  if (privileged && spec.separate_value) {
    MURMURATE_RETURN_IF_ERROR(AddPrivileged(spaces, &spec.encoders));
    auto trunk = LayersWithoutMemory(spec.trunk, default_activation);
    if (!trunk.ok()) return trunk.status();
    spec.value_trunk = *std::move(trunk);
  }
  ModelSpec model = spec.ToSpec();
  MURMURATE_RETURN_IF_ERROR(CheckModel(model));
  return model;
}

}  // namespace murmurate
