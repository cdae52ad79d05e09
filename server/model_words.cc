#include "server/model_words.h"

#include <algorithm>
#include <array>

#include "shared/core/check.h"
#include "shared/model/observation_layout.h"

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

Status AddLayers(const Texts& texts, Activation usual, std::vector<Layer>* layers) {
  for (const std::string& text : texts) {
    Result<Layer> layer = Layer::Parse(text, &usual);
    if (!layer.ok()) return InvalidArgument(layer.status().message());
    layers->push_back(*layer);
  }
  return Status();
}

bool IsPicture(const ObservationInput& input) {
  return input.element != ObservationInput::Element::kInt32 && input.shape.size() == 3;
}

InputEncoder* EncoderOf(const std::string& input, std::vector<InputEncoder>* encoders) {
  for (InputEncoder& encoder : *encoders) {
    if (encoder.input == input) return &encoder;
  }
  return &encoders->emplace_back(InputEncoder{input, 1, {}});
}

/// The layers that `inputs` lists.
Status AddListed(const ModelWords& words, Activation usual, std::vector<InputEncoder>* encoders) {
  for (const std::string& entry : words.inputs) {
    const std::size_t colon = entry.find(": ");
    if (colon == entry.npos) {
      return InvalidArgument("an input is \"" + entry +
                             "\" where \"NAME: LAYER\" was expected, e.g. \"camera: flatten\"");
    }
    std::string name = entry.substr(0, colon);
    if (name == "observation") name.clear();  // how the only input is called
    MURMURATE_RETURN_IF_ERROR(
        AddLayers({entry.substr(colon + 2)}, usual, &EncoderOf(name, encoders)->layers));
  }
  return Status();
}

/// The layers and stacks that follow from `trunk` and `frame_stack`.
Status AddUsual(const ModelWords& words, const ObservationLayout& observation,
                std::vector<InputEncoder>* encoders) {
  const auto& inputs = observation.inputs();
  const bool pictures = std::any_of(inputs.begin(), inputs.end(), IsPicture);
  for (const ObservationInput& input : inputs) {
    const bool encodes = words.trunk != "mlp" && IsPicture(input);
    const bool numbers = input.element != ObservationInput::Element::kInt32;
    const bool stacks = words.frame_stack > 1 && (pictures ? IsPicture(input) : numbers);
    if (!encodes && !stacks) continue;
    InputEncoder* encoder = EncoderOf(input.name, encoders);
    if (stacks) encoder->stack = words.frame_stack;
    if (!encodes || !encoder->layers.empty()) continue;
    MURMURATE_RETURN_IF_ERROR(AddLayers(words.trunk == "nature_cnn" ? NatureCnn() : ImpalaCnn(),
                                        Activation::kRelu, &encoder->layers));
  }
  if (words.trunk == "mlp" || pictures) return Status();
  return InvalidArgument("trunk " + words.trunk +
                         " encodes pictures of height, width and channels, and the observation has "
                         "none: use trunk = \"mlp\"");
}

Texts UsualLayers(const std::string& trunk) {
  if (trunk == "mlp") return {"dense 64", "dense 64"};
  return {trunk == "nature_cnn" ? "dense 512" : "dense 256"};
}

}  // namespace

bool Recurs(const ModelWords& words) {
  const Texts layers = words.layers.value_or(Texts{});
  const Activation usual = Activation::kTanh;
  return !words.recurrent.empty() ||
         std::any_of(layers.begin(), layers.end(), [&](const std::string& text) {
           const Result<Layer> layer = Layer::Parse(text, &usual);
           return layer.ok() && layer->recurrent();
         });
}

Result<ModelSpec> MakeSpec(const ModelWords& words, const Spaces& spaces) {
  MURMURATE_RETURN_IF_ERROR(CheckSpaces(spaces));
  const bool mlp = words.trunk == "mlp";
  const Activation usual = words.activation.value_or(mlp ? Activation::kTanh : Activation::kRelu);
  ModelSpec spec;
  spec.spaces = spaces;
  spec.continuous = words.continuous;
  spec.normalize_observation = words.normalize_observation;
  MURMURATE_RETURN_IF_ERROR(AddListed(words, usual, &spec.encoders));
  MURMURATE_RETURN_IF_ERROR(AddUsual(words, ObservationLayout(spaces.observation), &spec.encoders));
  MURMURATE_RETURN_IF_ERROR(
      AddLayers(words.layers.value_or(UsualLayers(words.trunk)), usual, &spec.trunk));
  if (!words.recurrent.empty()) {
    MURMURATE_RETURN_IF_ERROR(AddLayers({words.recurrent}, usual, &spec.trunk));
    if (!spec.trunk.back().recurrent()) {
      return InvalidArgument("recurrent is \"" + words.recurrent +
                             "\" where \"lstm UNITS\" or \"gru UNITS\" was expected");
    }
  }
  const bool recurs = std::any_of(spec.trunk.begin(), spec.trunk.end(),
                                  [](const Layer& layer) { return layer.recurrent(); });
  spec.separate_value = words.separate_value.value_or(!recurs);
  MURMURATE_RETURN_IF_ERROR(CheckModel(spec));
  return spec;
}

}  // namespace murmurate
