#include "shared/model/layer.h"

#include <vector>

#include "shared/model/text.h"

namespace murmurate {
namespace {

constexpr std::uint64_t kMaxUnits = 65536, kMaxWindow = 1024;
using Kind = Layer::Kind;

/// The form's words taken one by one; `usual` fills what a config leaves out at the end.
class Reader {
 public:
  Reader(const std::vector<std::string_view>& words, const Activation* usual)
      : words_(words), default_activation_(usual) {}

  bool Number(std::uint64_t least, std::uint64_t limit, int* into) {
    if (next_ == words_.size()) return false;
    const auto number = ParseCount(words_[next_++], limit);
    if (!number || *number < least) return false;
    *into = static_cast<int>(*number);
    return true;
  }
  bool Padding(int* into) {
    const bool given = next_ < words_.size() && !Named<Activation>(words_[next_]);
    if (!given) return default_activation_ != nullptr;
    return Number(0, kMaxWindow, into);
  }
  bool Name(Activation* into) {
    if (next_ == words_.size()) {
      if (default_activation_ != nullptr) *into = *default_activation_;
      return default_activation_ != nullptr;
    }
    const auto activation = Named<Activation>(words_[next_++]);
    if (activation) *into = *activation;
    return activation.has_value();
  }
  bool done() const { return next_ == words_.size(); }

 private:
  const std::vector<std::string_view>& words_;
  const Activation* default_activation_;
  std::size_t next_ = 1;
};

bool Read(const LayerForm& form, Reader reader, Layer* layer) {
  layer->kind = form.kind;
  if (form.units && !reader.Number(1, kMaxUnits, &layer->units)) return false;
  if (form.window &&
      !(reader.Number(1, kMaxWindow, &layer->kernel) &&
        reader.Number(1, kMaxWindow, &layer->stride) && reader.Padding(&layer->padding))) {
    return false;
  }
  if (form.activation && !reader.Name(&layer->activation)) return false;
  return reader.done();
}

Status Unexpected(std::string_view text, const std::string& expected) {
  return InvalidData("a layer is " + Quote(text) + " where " + expected +
                     " was expected (1 to 65536 units or filters, kernel and stride 1 to 1024, "
                     "activation none, tanh, relu, elu or sigmoid)");
}

}  // namespace

std::string Layer::ToText() const {
  if (kind == Kind::kActivation) return TextOf(activation);
  std::string text = form().name;
  if (form().units) text += " " + std::to_string(units);
  if (form().window) {
    for (const int number : {kernel, stride, padding}) text += " " + std::to_string(number);
  }
  if (form().activation) text += std::string(" ") + TextOf(activation);
  return text;
}

Result<Layer> Layer::Parse(std::string_view text, const Activation* usual) {
  const std::vector<std::string_view> words = SplitWords(text);
  Layer layer;
  if (words.size() == 1) {
    if (const auto activation = Named<Activation>(words[0])) {
      layer.kind = Kind::kActivation;
      layer.activation = *activation;
      return layer;
    }
  }
  std::string names;
  for (const LayerForm& form : kLayerForms) {
    if (form.kind == Kind::kActivation) continue;
    names += (names.empty() ? "" : ", ") + std::string(form.name);
    if (words.empty() || words[0] != form.name) continue;
    if (Read(form, Reader(words, usual), &layer)) return layer;
    return Unexpected(text, Quote(form.words));
  }
  return Unexpected(text, "one of " + names + " or an activation");
}

}  // namespace murmurate
