// Parameters: the parameter server of murmurate for a program that has its own loss
// (murmurate_parameters.h, which this is a form of for C++; link with -lmurmurate-parameters).
//
//   murmurate params own-program --shard 0          (the server; docs/parameters.md)
//
//   std::vector<float> weights(10), bias(1), dw(10), db(1);
//   auto joined = murmurate::Parameters::Join(
//       "ipc:///tmp/murmurate-own", {{"weights", {10}, weights}, {"bias", {1}, bias}});
//   if (!joined.ok()) return std::cerr << joined.status().message() << '\n', 1;
//   murmurate::Parameters parameters = *std::move(joined);
//   for (int step = 0; step < 1000; ++step) {
//     GradientsAt(weights, bias, dw, db);
//     if (auto pushed = parameters.Push({dw.data(), db.data()}, 0.01); !pushed.ok()) ...
//   }
//
// The arrays are the caller's and must outlive this; calls that wait write them. One thread at a
// time, but for Interrupt. Nothing throws.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "murmurate/status.h"
#include "murmurate_parameters.h"

namespace murmurate {

/// A worker of a parameter server: named arrays of this process, trained together with others.
class Parameters {
 public:
  /// Numbers in C order; `values` has as many as `shape` says.
  struct Array {
    std::string name;
    std::vector<std::int32_t> shape;
    std::span<float> values;
  };
  using Options = mmr_parameters_options;
  using Report = mmr_parameters_report;
  /// The defaults, and the size that the C interface asks for.
  static Options DefaultOptions() {
    Options options = {};
    options.size = sizeof options;
    return options;
  }

  /// A worker of the shards at `addresses` (separated by commas), once they answer; for ever where
  /// they do not. The arrays have the model's numbers then.
  static Result<Parameters> Join(const std::string& addresses, const std::vector<Array>& arrays,
                                 const Options& options = DefaultOptions()) {
    Result<Parameters> opened = Open(addresses, arrays, options);
    if (!opened.ok()) return opened;
    if (Status status = opened->Pull(); !status.ok()) return status;
    return opened;
  }
  /// Without waiting: BeginPull and Wait come first then.
  static Result<Parameters> Open(const std::string& addresses, const std::vector<Array>& arrays,
                                 const Options& options = DefaultOptions()) {
    std::vector<mmr_array> list;
    for (const Array& array : arrays) {
      std::size_t count = 1;
      for (const std::int32_t size : array.shape) count *= static_cast<std::size_t>(size);
      if (count != array.values.size())
        return Status(StatusCode::kInvalidArgument,
                      "the array \"" + array.name + "\" has " +
                          std::to_string(array.values.size()) + " numbers, expected " +
                          std::to_string(count) + ", as its shape says");
      list.push_back(mmr_array_of(array.name.c_str(), array.values.data(),
                                  static_cast<std::int32_t>(array.shape.size()),
                                  array.shape.data()));
    }
    Parameters made;
    made.handle_.reset(mmr_parameters_open(addresses.c_str(), list.data(), list.size(), &options));
    if (!made.handle_) return LastError(MMR_INVALID_ARGUMENT);
    return made;
  }

  /// Reads the center into the arrays.
  Status Pull() { return Finished(BeginPull()); }
  /// Pushes a gradient: a pointer for each array. See mmr_parameters_push.
  Status Push(std::span<const float* const> gradients, double learning_rate) {
    return Finished(BeginPush(gradients, learning_rate));
  }
  /// The same for pointers that are written out.
  Status Push(std::initializer_list<const float*> gradients, double learning_rate) {
    return Push(std::span(gradients.begin(), gradients.size()), learning_rate);
  }
  /// Exchanges the arrays as they are, after `steps` steps of the caller's.
  Status Exchange(int steps = 1) { return Finished(BeginExchange(steps)); }

  /// As Pull, without waiting: compute, then Wait.
  Status BeginPull() { return StatusOf(mmr_parameters_pull(handle_.get())); }
  /// As Push, without waiting.
  Status BeginPush(std::span<const float* const> gradients, double learning_rate) {
    return StatusOf(
        mmr_parameters_push(handle_.get(), gradients.data(), gradients.size(), learning_rate));
  }
  /// As Exchange, without waiting.
  Status BeginExchange(int steps = 1) {
    return StatusOf(mmr_parameters_exchange(handle_.get(), steps));
  }
  /// True when nothing is under way any more; false when the time is over (-1: never).
  Result<bool> Wait(int timeout_ms = -1) {
    const std::int32_t done = mmr_parameters_wait(handle_.get(), timeout_ms);
    if (done < 0) return LastError(done);
    return done == 1;
  }

  Report report() const {
    Report report = {};
    report.size = sizeof report;
    (void)mmr_parameters_get_report(handle_.get(), &report);
    return report;
  }
  /// Any thread, and a signal handler: a call that waits returns, and so do all later ones.
  void Interrupt() { (void)mmr_parameters_interrupt(handle_.get()); }

 private:
  struct Close {
    void operator()(mmr_parameters* handle) const { (void)mmr_parameters_close(handle); }
  };

  static Status LastError(mmr_status status) {
    const auto code = status == MMR_UNAVAILABLE ? StatusCode::kUnavailable
                      : status == MMR_RESOURCE  ? StatusCode::kResource
                                                : StatusCode::kInvalidArgument;
    return {code, mmr_parameters_last_error()};
  }
  static Status StatusOf(mmr_status status) {
    return status == MMR_OK ? Status() : LastError(status);
  }
  Status Finished(Status begun) {
    if (!begun.ok()) return begun;
    return Wait().status();
  }

  std::unique_ptr<mmr_parameters, Close> handle_;
};

}  // namespace murmurate
