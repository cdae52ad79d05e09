// CudaRanks of a build without the headers of NCCL.
#include "server/compute/device/cuda/cuda_ranks.h"

namespace murmurate {
namespace {

Status Missing() {
  return ResourceError(
      "murmurate was built without NCCL; install its headers (`pip install nvidia-nccl-cu13`) and "
      "build murmurate again");
}

class WithoutRanks final : public RankSums {
 public:
  Status Prepare() override { return Missing(); }
  Result<RankId> MakeId() override { return Missing(); }
  Status Join(const RankId&, int, int, Waiting) override { return Missing(); }
  void Sum(Stream, float*, std::size_t) override {}
  Status Health() override { return {}; }
  void Abort(const std::string&) override {}
};

}  // namespace

std::unique_ptr<RankSums> MakeCudaRanks(int, CudaFault*, std::function<CudaQueue(Stream)>) {
  return std::make_unique<WithoutRanks>();
}

}  // namespace murmurate
