// The C interface of ArrayWorker: checks what a C caller can get wrong, and nothing more.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/c_abi/last_error.h"
#include "client/c_abi/structs.h"
#include "client/stderr_log.h"
#include "murmurate_parameters.h"
#include "server/parameters/array_worker.h"
#include "shared/transport/socket.h"

using murmurate::ArrayReport;
using murmurate::ArrayWorker;
using murmurate::ArrayWorkerOptions;
using murmurate::LogLevel;
using murmurate::NamedArray;
using murmurate::Status;
using namespace murmurate::c_abi;

namespace {

constexpr std::uint64_t kOpen = 0x6d6d722d70617261;
constexpr std::uint64_t kMostArrays = 4096;

}  // namespace

struct mmr_parameters {
  std::uint64_t kind = kOpen;
  std::vector<std::size_t> sizes;  ///< of each array, in numbers
  std::unique_ptr<ArrayWorker> worker;
  std::vector<std::span<const float>> gradients;  ///< of the push under way
};

namespace {

/// The arrays as the worker takes them.
struct Arrays {
  std::vector<NamedArray> named;
  std::vector<std::span<float>> memory;
};

mmr_status ReadArray(const mmr_array& given, std::uint64_t index, Arrays* arrays) {
  const std::string who = "arrays[" + std::to_string(index) + "]";
  if (given.name == nullptr) return Fail(who + ".name is NULL");
  if (given.values == nullptr) return Fail(who + ".values is NULL");
  if (given.dimensions < 0 || given.dimensions > 8)
    return Fail(who + ".dimensions is " + std::to_string(given.dimensions) + ", expected 0 to 8");
  if (given.dimensions > 0 && given.shape == nullptr) return Fail(who + ".shape is NULL");
  arrays->named.push_back({given.name, {given.shape, given.shape + given.dimensions}});
  return MMR_OK;
}

mmr_status ReadArrays(const mmr_array* given, std::uint64_t count, Arrays* arrays) {
  if (given == nullptr || count == 0) return Fail("expected at least one array");
  if (count > kMostArrays) return Fail("expected at most 4096 arrays; join small ones into one");
  std::vector<float*> values;
  for (std::uint64_t i = 0; i < count; ++i) {
    mmr_array copy;
    const mmr_array* const array = Known(At(given, i), "mmr_array", &copy);
    if (array == nullptr) return mmr_last_status();
    if (const mmr_status status = ReadArray(*array, i, arrays); status != MMR_OK) return status;
    values.push_back(array->values);
  }
  if (Status status = murmurate::CheckArrays(arrays->named); !status.ok()) return Fail(status);
  for (std::size_t i = 0; i < values.size(); ++i)
    arrays->memory.emplace_back(values[i], arrays->named[i].count());
  return MMR_OK;
}

mmr_status ReadOptions(const mmr_parameters_options* given, ArrayWorkerOptions* options) {
  options->log = murmurate::StderrLog::Make();
  if (given == nullptr) return MMR_OK;
  mmr_parameters_options read;
  if (const mmr_status status = Read(given, "mmr_parameters_options", &read); status != MMR_OK)
    return status;
  options->worker = read.worker;
  if (read.model != nullptr) options->model = read.model;
  const std::string_view optimizer = read.optimizer != nullptr ? read.optimizer : "sgd";
  const auto name = murmurate::Named<murmurate::OptimizerSettings::Name>(optimizer);
  if (!name)
    return Fail("mmr_parameters_options.optimizer is \"" + std::string(optimizer) +
                "\", expected sgd, momentum, adam, rmsprop or adagrad");
  options->optimizer.name = *name;
  if (!(read.max_grad_norm >= 0.0))
    return Fail("mmr_parameters_options.max_grad_norm: expected 0 or more");
  options->max_grad_norm = read.max_grad_norm;
  options->overlap = read.overlap != 0;
  if (read.messages_only != 0) options->share_from_bytes = SIZE_MAX;
  if (read.log != nullptr)
    options->log = [log = read.log, user = read.log_user](LogLevel level, std::string_view text) {
      log(user, level == LogLevel::kInfo ? 1 : 2, std::string(text).c_str());
    };
  return MMR_OK;
}

/// The addresses between commas.
std::vector<std::string> ReadAddresses(const char* addresses) {
  std::vector<std::string> list;
  std::string_view rest = addresses != nullptr ? addresses : "";
  while (!rest.empty()) {
    const std::size_t end = rest.find(',');
    std::string_view one = rest.substr(0, end);
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    list.emplace_back(one);
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
  }
  return list;
}

mmr_status CheckOpen(const mmr_parameters* parameters) {
  if (parameters == nullptr) return FailForNull("mmr_parameters");
  if (parameters->kind == kOpen) return MMR_OK;
  return Fail(MMR_BAD_HANDLE, "this is no open mmr_parameters");
}

mmr_status Ended(const Status& status) { return status.ok() ? MMR_OK : Fail(status); }

template <std::size_t N>
void CopyText(std::string_view text, char (&to)[N]) {
  const std::size_t size = std::min(text.size(), N - 1);
  std::memcpy(to, text.data(), size);
  std::memset(to + size, 0, N - size);
}

}  // namespace

mmr_parameters* mmr_parameters_open(const char* addresses, const mmr_array* arrays, uint64_t count,
                                    const mmr_parameters_options* options) {
  return GuardMaking([&]() -> mmr_parameters* {
    Arrays read;
    ArrayWorkerOptions worker_options;
    if (ReadArrays(arrays, count, &read) != MMR_OK) return nullptr;
    if (ReadOptions(options, &worker_options) != MMR_OK) return nullptr;
    auto made = std::make_unique<mmr_parameters>();
    for (const std::span<float> array : read.memory) made->sizes.push_back(array.size());
    made->gradients.resize(made->sizes.size());
    auto worker = ArrayWorker::Open(ReadAddresses(addresses), std::move(read.named),
                                    std::move(read.memory), std::move(worker_options));
    if (!worker.ok()) {
      Fail(worker.status());
      return nullptr;
    }
    made->worker = *std::move(worker);
    return made.release();
  });
}

mmr_status mmr_parameters_close(mmr_parameters* parameters) {
  return Guard([&]() -> mmr_status {
    if (parameters == nullptr) return MMR_OK;
    if (const mmr_status status = CheckOpen(parameters); status != MMR_OK) return status;
    parameters->kind = 0;
    delete parameters;
    return MMR_OK;
  });
}

mmr_status mmr_parameters_pull(mmr_parameters* parameters) {
  return Guard([&]() -> mmr_status {
    if (const mmr_status status = CheckOpen(parameters); status != MMR_OK) return status;
    return Ended(parameters->worker->Pull());
  });
}

mmr_status mmr_parameters_push(mmr_parameters* parameters, const float* const* gradients,
                               uint64_t count, double learning_rate) {
  return Guard([&]() -> mmr_status {
    if (const mmr_status status = CheckOpen(parameters); status != MMR_OK) return status;
    if (gradients == nullptr || count != parameters->sizes.size())
      return Fail("got " + std::to_string(gradients == nullptr ? 0 : count) +
                  " gradients, expected " + std::to_string(parameters->sizes.size()) +
                  ", one for each array");
    for (std::size_t i = 0; i < count; ++i) {
      if (gradients[i] == nullptr) return Fail("gradients[" + std::to_string(i) + "] is NULL");
      parameters->gradients[i] = {gradients[i], parameters->sizes[i]};
    }
    return Ended(parameters->worker->Push(parameters->gradients, learning_rate));
  });
}

mmr_status mmr_parameters_exchange(mmr_parameters* parameters, int32_t steps) {
  return Guard([&]() -> mmr_status {
    if (const mmr_status status = CheckOpen(parameters); status != MMR_OK) return status;
    return Ended(parameters->worker->Exchange(steps));
  });
}

int32_t mmr_parameters_wait(mmr_parameters* parameters, int32_t timeout_ms) {
  return Guard([&]() -> mmr_status {
    if (const mmr_status status = CheckOpen(parameters); status != MMR_OK) return status;
    const auto done =
        parameters->worker->Wait(timeout_ms < 0 ? -1 : std::int64_t{timeout_ms} * 1'000'000);
    if (!done.ok()) return Fail(done.status());
    return *done ? 1 : 0;
  });
}

mmr_status mmr_parameters_get_report(mmr_parameters* parameters, mmr_parameters_report* report) {
  return Guard([&]() -> mmr_status {
    if (const mmr_status status = CheckOpen(parameters); status != MMR_OK) return status;
    if (report == nullptr) return Fail("report is NULL");
    const ArrayReport now = parameters->worker->Report();
    mmr_parameters_report filled = {};
    filled.window = now.rule.window;
    filled.version = now.version;
    filled.pushes = now.pushes;
    filled.late = now.late;
    filled.kept = now.kept;
    filled.staleness = now.staleness;
    filled.staleness_mean = now.staleness_mean;
    filled.staleness_max = now.staleness_max;
    filled.wait_s = now.wait_s;
    CopyText(now.joined ? murmurate::TextOf(now.rule.name) : "", filled.rule);
    CopyText(now.waits, filled.waits);
    return Write(filled, "mmr_parameters_report", report);
  });
}

mmr_status mmr_parameters_interrupt(mmr_parameters* parameters) {
  if (parameters == nullptr || parameters->kind != kOpen) return MMR_BAD_HANDLE;
  parameters->worker->Interrupt();
  return MMR_OK;
}

const char* mmr_parameters_last_error(void) { return mmr_last_error(); }
