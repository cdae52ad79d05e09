// RowMaker: from the messages of a device to its rows: what is missing is held from before, and on
// a grid the messages of one cell make one row.
//
//   message --(grid: cell)--> whole row --> on_row
//                                      `--> on_break: too much was missing in between
//
// Without a grid, messages = rows + incomplete + skipped; on a grid, where these are cells,
// messages = rows + incomplete + skipped - empty + joined + open cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "server/stream/device.h"

namespace murmurate {

/// The values of one row of a device, valid during the call that gets them.
struct RowValues {
  std::span<const double> values;  ///< one for every field
  std::span<const char> held;      ///< [fields] an earlier value stands in for it
  /// The row's own value of a field; NaN where another value stands in for it.
  double Actual(int field) const {
    const auto at = static_cast<std::size_t>(field);
    return held[at] ? std::numeric_limits<double>::quiet_NaN() : values[at];
  }
};

class RowMaker {
 public:
  struct Counts {
    std::uint64_t incomplete = 0;  ///< a field has had no value yet, so nothing can stand in for it
    std::uint64_t skipped = 0;  ///< values were missing, and `missing` and `max_gap` allow no row
    std::uint64_t joined = 0;   ///< messages that came to a cell which had one
    std::uint64_t empty = 0;    ///< cells without a message
  };
  struct Events {
    /// `gap_s`: since the message before; 0 on a grid.
    std::function<void(const std::shared_ptr<StreamDevice>&, const RowValues&, std::int64_t time_ns,
                       float gap_s)>
        on_row;
    std::function<void(StreamDevice*)> on_break;  ///< what comes next of it has no past
  };

  /// Both outlive it.
  RowMaker(const ForecastSettings& settings, const DeviceShape& shape, Events events);

  /// kNone without a grid.
  CellState CellOf(const StreamDevice& device, std::int64_t time_ns) const;
  /// A message that its device's order has accepted. True: it is a row by itself; on a grid no
  /// message is.
  bool Add(const std::shared_ptr<StreamDevice>& device, std::span<const double> values,
           std::int64_t time_ns, float gap_s);
  /// The messages of an open cell make no row.
  void DiscardCell(StreamDevice* device);

  /// A sentence on the first device that sends but makes no row; "" while there is none.
  const std::string& stuck() const { return stuck_; }
  const Counts& counts() const { return counts_; }
  void GoOnFrom(const Counts& counts) { counts_ = counts; }

 private:
  bool Complete(StreamDevice* device, std::span<const double> values);
  void NoteRowless(StreamDevice* device);
  std::int64_t CellAt(std::int64_t time_ns) const;
  void AddToCell(const std::shared_ptr<StreamDevice>& device, std::span<const double> values,
                 std::int64_t time_ns);
  void CloseCell(const std::shared_ptr<StreamDevice>& device, std::int64_t cell);

  const ForecastSettings& settings_;
  const DeviceShape& shape_;
  const Events events_;
  std::vector<double> whole_, cell_;
  std::vector<char> held_;  ///< [fields] of the row in whole_
  Counts counts_;
  std::string stuck_;
};

}  // namespace murmurate
