#include "murmurate/predictor.h"

#include "client/predictor_link.h"
#include "shared/core/check.h"

namespace murmurate {

Predictor::Predictor(std::unique_ptr<PredictorLink> link) : link_(std::move(link)) {}
Predictor::~Predictor() = default;

Result<std::unique_ptr<Predictor>> Predictor::Connect(const std::string& address,
                                                      PredictorOptions options) {
  if (!wire::IsGoodName(options.name))
    return InvalidArgument("a predictor's name: got \"" + options.name +
                           "\", expected 1 to 64 letters, digits, '.', '_' or '-'");
  if (!options.stream.empty() && !wire::IsGoodName(options.stream))
    return InvalidArgument("a stream's name: got \"" + options.stream +
                           "\", expected what [stream.NAME] has, or nothing");
  auto link = std::make_unique<PredictorLink>(address, std::move(options));
  MURMURATE_RETURN_IF_ERROR(link->Open());
  return std::unique_ptr<Predictor>(new Predictor(std::move(link)));
}

Predictor::Sent Predictor::Send(std::string_view device, std::span<const double> values,
                                const SampleOptions& options) {
  return link_->Send(device, values, options);
}

Predictor::Sent Predictor::Send(std::string_view device, std::span<const float> values,
                                const SampleOptions& options) {
  return link_->Send(device, values, options);
}

bool Predictor::Receive(Answer* answer, int timeout_ms) {
  return link_->Receive(answer, timeout_ms);
}

Predictor::StateReport Predictor::State() const { return link_->State(); }
const Predictor::Stream& Predictor::stream() const { return link_->stream(); }
std::uint64_t Predictor::sessions() const { return link_->sessions(); }
std::optional<std::uint64_t> Predictor::Committed(std::string_view device) const {
  return link_->Committed(device);
}
std::size_t Predictor::in_flight() const { return link_->in_flight(); }

}  // namespace murmurate
