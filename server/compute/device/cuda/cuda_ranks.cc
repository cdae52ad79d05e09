#include "server/compute/device/cuda/cuda_ranks.h"

#include <nccl.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::chrono::microseconds kLookAgain{100};

struct NcclFunctions {
  decltype(&ncclGetVersion) get_version = nullptr;
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRankConfig) init_rank = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclCommGetAsyncError) get_async_error = nullptr;
  decltype(&ncclCommAbort) abort = nullptr;
  decltype(&ncclGetErrorString) error_string = nullptr;
  decltype(&ncclGetLastError) last_error = nullptr;

  Status Find(const CudaLibrary& library) {
    return library.Find({{"ncclGetVersion", &get_version},
                         {"ncclGetUniqueId", &get_unique_id},
                         {"ncclCommInitRankConfig", &init_rank},
                         {"ncclAllReduce", &all_reduce},
                         {"ncclCommGetAsyncError", &get_async_error},
                         {"ncclCommAbort", &abort},
                         {"ncclGetErrorString", &error_string},
                         {"ncclGetLastError", &last_error}});
  }
};

class CudaRanks final : public RankSums {
 public:
  CudaRanks(int index, CudaFault* fault, std::function<CudaQueue(Stream)> queue)
      : index_(index), fault_(fault), queue_(std::move(queue)) {}
  ~CudaRanks() override { Leave(); }

  Status Prepare() override;
  Result<RankId> MakeId() override;
  Status Join(const RankId& id, int rank, int size, Waiting waiting) override;
  void Sum(Stream stream, float* data, std::size_t count) override;
  Status Health() override;
  void Abort(const std::string& why) override;

 private:
  /// Waits until a call that returned `code` has done what it is for.
  Status AwaitCall(ncclResult_t code, const char* doing);
  Status Checked(ncclResult_t code, const char* doing) const;
  /// Waits for no other rank.
  void Leave();

  const int index_;
  CudaFault* const fault_;
  const std::function<CudaQueue(Stream)> queue_;
  std::optional<NcclFunctions> functions_;
  ncclComm_t communicator_ = nullptr;
  Waiting waiting_;
};

Status CudaRanks::Prepare() {
  if (functions_) return {};
  const auto library = CudaLibrary::Open(NcclName());
  if (!library.ok()) return library.status();
  NcclFunctions functions;
  MURMURATE_RETURN_IF_ERROR(functions.Find(*library));
  functions_ = functions;
  return {};
}

Status CudaRanks::Checked(ncclResult_t code, const char* doing) const {
  if (code == ncclSuccess) return {};
  const char* const more = functions_->last_error(communicator_);
  return ResourceError(std::string("NCCL failed while ") + doing + ": " +
                       functions_->error_string(code) +
                       (more == nullptr || *more == '\0' ? "" : std::string(" (") + more + ')'));
}

Result<RankId> CudaRanks::MakeId() {
  ncclUniqueId made{};
  MURMURATE_RETURN_IF_ERROR(Checked(functions_->get_unique_id(&made), "making the id of a job"));
  RankId id{};
  static_assert(sizeof made == sizeof id);
  std::memcpy(id.data(), &made, sizeof made);
  return id;
}

Status CudaRanks::AwaitCall(ncclResult_t code, const char* doing) {
  while (code == ncclInProgress) {
    if (Status status = waiting_(); !status.ok()) {
      Leave();
      return status;
    }
    std::this_thread::sleep_for(kLookAgain);
    const ncclResult_t asked = functions_->get_async_error(communicator_, &code);
    if (asked != ncclSuccess) code = asked;
  }
  return Checked(code, doing);
}

Status CudaRanks::Join(const RankId& id, int rank, int size, Waiting waiting) {
  MURMURATE_CHECK(functions_ && communicator_ == nullptr, "joined once, after Prepare");
  ncclUniqueId given{};
  std::memcpy(&given, id.data(), sizeof given);
  waiting_ = std::move(waiting);
  if (!fault_->Check(cudaSetDevice(index_), "it was chosen")) return ResourceError(fault_->text());
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return AwaitCall(functions_->init_rank(&communicator_, size, given, rank, &config),
                   "joining the ranks");
}

void CudaRanks::Sum(Stream stream, float* data, std::size_t count) {
  if (!fault_->ok() || !fault_->Check(cudaSetDevice(index_), "it was chosen")) return;
  MURMURATE_CHECK(communicator_ != nullptr, "a sum of ranks that have joined");
  fault_->Enqueued("a sum over ranks");
  const Status status = AwaitCall(functions_->all_reduce(data, data, count, ncclFloat, ncclSum,
                                                         communicator_, queue_(stream).stream),
                                  "enqueueing a sum over ranks");
  if (!status.ok()) fault_->Set(status.message());
}

Status CudaRanks::Health() {
  if (communicator_ == nullptr) return {};
  ncclResult_t code = ncclSuccess;
  const ncclResult_t asked = functions_->get_async_error(communicator_, &code);
  return Checked(asked != ncclSuccess ? asked : code, "summing over ranks");
}

void CudaRanks::Abort(const std::string& why) {
  fault_->Set(why);
  Leave();
}

void CudaRanks::Leave() {
  if (communicator_ == nullptr) return;
  cudaSetDevice(index_);
  functions_->abort(std::exchange(communicator_, nullptr));
}

}  // namespace

std::unique_ptr<RankSums> MakeCudaRanks(int index, CudaFault* fault,
                                        std::function<CudaQueue(Stream)> queue) {
  return std::make_unique<CudaRanks>(index, fault, std::move(queue));
}

CudaLibraryName NcclName() {
  return {.name = "NCCL", .file = "libnccl.so.2", .package = "nvidia-nccl-cu13"};
}

std::string NcclVersion(const CudaLibrary& library) {
  decltype(&ncclGetVersion) get_version = nullptr;
  int version = 0;
  if (!library.Find({{"ncclGetVersion", &get_version}}).ok() ||
      get_version(&version) != ncclSuccess)
    return "";
  return std::to_string(version / 10000) + '.' + std::to_string(version / 100 % 100) + '.' +
         std::to_string(version % 100);
}

}  // namespace murmurate
