// CsvScanner: one line of cells (payload.h has the rules).
#pragma once

#include <string_view>
#include <vector>

#include "server/stream/payload.h"

namespace murmurate {

class CsvScanner final : public PayloadScanner {
 public:
  /// `slots`: of each column from the first on, as sample_draft.h names them. `exactly`: a line has
  /// that many columns, not only so many at least.
  CsvScanner(std::vector<int> slots, char separator, bool exactly)
      : slots_(std::move(slots)), separator_(separator), exactly_(exactly) {}

  void Scan(std::string_view payload, SampleDraft* draft) override;

 private:
  std::vector<int> slots_;
  char separator_;
  bool exactly_;
};

}  // namespace murmurate
