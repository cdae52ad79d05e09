// The benches of `murmurate bench`: each measures something that murmurate does and, in turn with it,
// what this machine could do at best. A new one is a Bench and a line of the table in bench_kinds.cc.
// The programs in bench/ measure more, with the targets of docs/performance.md.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "murmurate/status.h"

namespace murmurate {

/// In the unit of the bench's kind.
struct BenchSample {
  double ours = 0, limit = 0;
};

class Bench {
 public:
  virtual ~Bench() = default;
  /// Takes at most about 0.1 s.
  virtual BenchSample Measure() = 0;
};

struct BenchKind {
  std::string_view name;
  std::string_view what;
  std::string_view unit;
  std::string_view limit;  ///< what the limit is
  bool smaller_is_better;
  /// A status where this machine lacks what it needs.
  Result<std::unique_ptr<Bench>> (*make)();
};

std::span<const BenchKind> BenchKinds();
/// Null: there is none of that name.
const BenchKind* FindBench(std::string_view name);

/// Medians over all samples.
struct BenchResult {
  double ours = 0, limit = 0;
  double ratio = 0;  ///< ours / limit
  int samples = 0;
};

/// Measures until `seconds` have passed, and at least three times.
Result<BenchResult> RunBench(const BenchKind& kind, double seconds);

}  // namespace murmurate
