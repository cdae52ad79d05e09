// Collective: sums and broadcasts over the ranks of a job that mpirun (or the like) started: what
// synchronous training on an existing engine needs, and nothing else. The seam between
// collective_store.h and MPI (server/collective), or threads of one process (tests).
//
// All ranks begin the same operations, of the same lengths, in the same order; one at a time. Any
// thread, but one at a time. An operation that was begun must be waited for.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "murmurate/log.h"
#include "murmurate/status.h"

namespace murmurate {

class RankWatch;

class Collective {
 public:
  virtual ~Collective() = default;

  virtual int rank() const = 0;  ///< of 0 to size() - 1
  virtual int size() const = 0;

  /// `values`, as long on every rank, becomes the sum over the ranks: the same bits on every rank.
  /// It stays where it is until Done. kResource here and below: the engine's words, and the job is
  /// over.
  virtual Status BeginSum(std::span<float> values) = 0;
  /// `values` becomes that of rank `root`.
  virtual Status BeginBroadcast(std::span<float> values, int root) = 0;
  /// Whether what was begun is done; never waits.
  virtual Result<bool> Done() = 0;

  // Beside operations: numbers that a rank tells all others (rank_watch.h). Neither waits.
  /// Does not reach a rank that has not got the last one yet.
  virtual Status Post(std::uint64_t /*number*/) { return {}; }
  struct PostedNumber {
    int rank = 0;  ///< that posted it
    std::uint64_t number = 0;
  };
  /// One that has come from another rank, if there is one.
  virtual Result<std::optional<PostedNumber>> NextPost() { return std::optional<PostedNumber>(); }
  /// The name of the host that a rank runs on; "": it is not known.
  virtual std::string host(int /*rank*/) const { return ""; }

  /// Waits for all ranks, then ends the engine; nothing may be called afterwards. A process that
  /// ends without it takes the job with it, which is what one that failed wants.
  virtual Status Close() = 0;
};

/// Waits for what was begun: for some microseconds at full speed, then ever more rarely (an eighth
/// of the time waited, at most 1 ms), because what keeps a rank waiting may want its core. False:
/// `interrupted` (which may be null) has been set for `patience_ns`, and the operation is still
/// under way. `watch`, whose wait has begun, is polled meanwhile; null: there is none.
Result<bool> Await(Collective& collective, const std::atomic<bool>* interrupted = nullptr,
                   std::int64_t patience_ns = 0, RankWatch* watch = nullptr);

Status Sum(Collective& collective, std::span<float> values, RankWatch* watch = nullptr);
Status Broadcast(Collective& collective, std::span<float> values, int root = 0);
/// Every rank gets rank 0's text; at most 4000 bytes of it.
Result<std::string> BroadcastText(Collective& collective, const std::string& text);

/// "mpi": loads murmurate_collective_NAME.so from the folder of this executable, or from
/// ../lib/murmurate, and waits until all ranks have. Its threads get no signals. Once a process, on
/// the thread that will close it.
Result<std::unique_ptr<Collective>> OpenCollective(const std::string& name);

}  // namespace murmurate
