// CudaRanks asks NCCL for what RankSums means: against a stand-in for the library (fake_nccl.h), whose
// calls return before they are done. What the real one does only GPUs can show.
#include "server/compute/device/cuda/cuda_ranks.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "tests/device/fake_nccl.h"

// What the runtime is asked for.
static int chosen_gpu = -1;
cudaError_t cudaSetDevice(int index) {
  chosen_gpu = index;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "failed"; }
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorUnknown"; }

namespace murmurate {
namespace {

using ::testing::HasSubstr;

class CudaRanksTest : public testing::Test {
 protected:
  CudaRanksTest() {
    setenv("MURMURATE_CUDA_PATH", MURMURATE_FAKE_NCCL, 1);
    void* const handle =
        dlopen((MURMURATE_FAKE_NCCL "/" + NcclName().file).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr)
      nccl = reinterpret_cast<FakeNccl* (*)()>(dlsym(handle, "FakeNcclState"))();
    if (nccl != nullptr) *nccl = {};
    chosen_gpu = -1;
  }
  void SetUp() override { ASSERT_NE(nccl, nullptr); }

  Status Join(RankSums& ranks, Status waiting = {}) {
    EXPECT_EQ(ranks.Prepare().message(), "");
    const auto id = ranks.MakeId();
    if (!id.ok()) return id.status();
    return ranks.Join(*id, 1, 3, [this, waiting] {
      ++waits;
      return waiting;
    });
  }

  FakeNccl* nccl = nullptr;
  CudaFault fault;
  int waits = 0;
  cudaStream_t stream = reinterpret_cast<cudaStream_t>(0x10);
  std::unique_ptr<RankSums> ranks = MakeCudaRanks(2, &fault, [this](Stream asked) {
    EXPECT_EQ(asked, Stream::kMain);
    return CudaQueue{.number = 0, .stream = stream};
  });
};

TEST_F(CudaRanksTest, JoinsWithoutBlockingAndSumsInPlaceOnTheStream) {
  ASSERT_EQ(Join(*ranks).message(), "");
  EXPECT_EQ(nccl->size, 3);
  EXPECT_EQ(nccl->rank, 1);
  EXPECT_EQ(nccl->blocking, 0);
  EXPECT_EQ(chosen_gpu, 2);
  EXPECT_EQ(waits, 3) << "it was in progress for two looks more";
  std::vector<float> numbers = {1, 2, 3, 4};
  ranks->Sum(Stream::kMain, numbers.data(), 3);
  EXPECT_EQ(numbers, (std::vector<float>{3, 6, 9, 4}));
  EXPECT_EQ(nccl->stream, stream);
  EXPECT_EQ(waits, 6) << "a graph may not go on before";
  EXPECT_EQ(fault.text(), "");
  EXPECT_EQ(ranks->Health().message(), "");
  ranks.reset();
  EXPECT_EQ(nccl->aborts, 1) << "it waits for no rank";
}

TEST_F(CudaRanksTest, SaysTheLibrarysWordsWhereItDoesNotJoin) {
  nccl->fails = ncclInvalidUsage;
  const Status prepared = ranks->Prepare();
  ASSERT_EQ(prepared.message(), "");
  EXPECT_EQ(ranks->MakeId().status().message(),
            "NCCL failed while making the id of a job: failed (Duplicate GPU detected)");
  RankId id;
  id.fill(std::byte{5});
  const Status joined = ranks->Join(id, 0, 2, [] { return Status(); });
  EXPECT_EQ(joined.code(), StatusCode::kResource);
  EXPECT_EQ(joined.message(),
            "NCCL failed while joining the ranks: failed (Duplicate GPU detected)");
}

TEST_F(CudaRanksTest, GivesUpWhereTheWaitDoes) {
  nccl->asks = 1'000'000;
  EXPECT_EQ(Join(*ranks, ResourceError("rank 2 is missing")).message(), "rank 2 is missing");
  EXPECT_EQ(waits, 1);
  EXPECT_EQ(nccl->aborts, 1);
}

TEST_F(CudaRanksTest, NoticesARankThatIsGoneAndAborts) {
  ASSERT_EQ(Join(*ranks).message(), "");
  nccl->fails = ncclRemoteError;
  EXPECT_THAT(ranks->Health().message(),
              HasSubstr("NCCL failed while summing over ranks: remote process exited"));
  float number = 1;
  ranks->Sum(Stream::kMain, &number, 1);
  EXPECT_THAT(fault.text(), HasSubstr("enqueueing a sum over ranks: remote process exited"));
  ranks->Abort("later");
  EXPECT_EQ(nccl->aborts, 1);
  EXPECT_THAT(fault.text(), HasSubstr("remote process")) << "the first failure stays";
  ranks->Sum(Stream::kMain, &number, 1);
  EXPECT_EQ(nccl->sums, 1) << "nothing is enqueued after a failure";
  EXPECT_EQ(ranks->Health().message(), "");
}

TEST_F(CudaRanksTest, SaysItsVersionAndWhereItIsLookedFor) {
  const auto library = CudaLibrary::Open(NcclName());
  ASSERT_TRUE(library.ok());
  EXPECT_EQ(NcclVersion(*library), "2.28.9");
  EXPECT_EQ(library->path(), MURMURATE_FAKE_NCCL "/libnccl.so.2");
}

}  // namespace
}  // namespace murmurate
