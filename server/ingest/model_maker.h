// ModelMaker: makes the models that HELLOs ask for on a thread other than the one that receives,
// which must not wait for seconds.
//
//   Ask --asked--> PollOnce: offer() --made--> PopMade
//
// Ask, PopMade and pending belong to one thread (ingest's), PollOnce to one that may be another.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>

#include "server/ingest/ingest.h"
#include "shared/core/bounded_queue.h"

namespace murmurate {

class ModelMaker {
 public:
  static constexpr std::size_t kMaxModels = 256;  ///< of one learner

  explicit ModelMaker(OfferModel offer) : offer_(std::move(offer)) {}

  struct Made {
    std::string name, text;  ///< as asked: `text` is that of the spaces
    Result<OfferedModel> offered;
  };

  /// Has `name` made; it must not be pending. At most kMaxModels may be.
  void Ask(std::string name, std::string text, Spaces spaces);
  bool pending(const std::string& name) const { return pending_.contains(name); }
  std::size_t pending_count() const { return pending_.size(); }
  /// The next model that was made or refused, which is then no longer pending; none: there is none.
  std::optional<Made> PopMade();

  /// Makes the one asked for first, waiting up to `timeout` for one; false when there was none.
  bool PollOnce(std::chrono::milliseconds timeout);
  /// Makes PollOnce neither wait nor begin a model from now on. Any thread.
  void Stop();

 private:
  struct Asked {
    std::string name, text;
    Spaces spaces;
  };

  const OfferModel offer_;
  std::set<std::string> pending_;
  std::atomic<bool> stopped_{false};
  BoundedQueue<Asked> asked_{kMaxModels};
  BoundedQueue<Made> made_{kMaxModels};
};

}  // namespace murmurate
