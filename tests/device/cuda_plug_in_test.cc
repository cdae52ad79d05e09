// The plug-in for NVIDIA GPUs on a machine that may have none: what it says, where it looks for
// libraries, and how its kernels were compiled.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "server/compute/device/cuda/cuda_libraries.h"
#include "server/compute/device/device_build.h"
#include "server/compute/device/kernel_list.h"
#include "server/device/open_device.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

template <typename Function>
Function FunctionOf(const char* name) {
  void* const handle = dlopen(MURMURATE_CUDA_PLUG_IN, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(handle, nullptr) << dlerror();
  return handle == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(handle, name));
}

DeviceSurvey Survey() {
  DeviceSurvey survey;
  const auto look = FunctionOf<MurmurateSurveyDevicesFunction>(kMurmurateSurveyDevices);
  EXPECT_TRUE(look != nullptr && look(DeviceBuild(), &survey));
  return survey;
}

std::string WhyNotOpened(const DeviceRequest& request) {
  const auto open = FunctionOf<MurmurateOpenDeviceFunction>(kMurmurateOpenDevice);
  if (open == nullptr) return "there is no such function";
  std::array<char, 2048> error{};
  const std::unique_ptr<Device> device(open(&request, error.data(), error.size()));
  return device == nullptr ? error.data() : "it was opened";
}

TEST(DeviceName, IsCudaWithOrWithoutAnIndex) {
  EXPECT_EQ(*ParseDeviceName("cuda"), 0);
  EXPECT_EQ(*ParseDeviceName("cuda:0"), 0);
  EXPECT_EQ(*ParseDeviceName("cuda:13"), 13);
  for (const char* name :
       {"", "cpu", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "cuda:99999999999"}) {
    const auto index = ParseDeviceName(name);
    EXPECT_EQ(index.status().code(), StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(index.status().message(), HasSubstr("\"cuda\" or \"cuda:N\"")) << name;
  }
}

TEST(CudaPlugIn, ThatIsNowhereIsNamedWithItsPlaces) {
  ASSERT_EQ(FindPlugIn(kDevicePlugIn), "") << "it lies beside murmurate, not beside this test";
  const auto device = OpenDevice("cuda");
  EXPECT_EQ(device.status().code(), StatusCode::kResource);
  EXPECT_THAT(device.status().message(),
              AllOf(HasSubstr("murmurate_device_cuda.so is not in "), HasSubstr("pip install")));
  EXPECT_EQ(SurveyDevices().status().code(), StatusCode::kResource);
  EXPECT_EQ(OpenDevice("gpu").status().code(), StatusCode::kInvalidArgument);
}

TEST(CudaPlugIn, OfAnotherBuildOpensNothing) {
  EXPECT_THAT(WhyNotOpened({.build = "0.0.9 0123456789abcdef"}),
              AllOf(HasSubstr("is of another build than murmurate"), HasSubstr(DeviceBuild()),
                    HasSubstr("0.0.9 0123456789abcdef")));
  DeviceSurvey survey{.driver = "untouched"};
  const auto look = FunctionOf<MurmurateSurveyDevicesFunction>(kMurmurateSurveyDevices);
  ASSERT_NE(look, nullptr);
  EXPECT_FALSE(look("0.0.9 0123456789abcdef", &survey));
  EXPECT_EQ(survey.driver, "untouched");
}

TEST(CudaPlugIn, WithoutADriverSaysSo) {
  const DeviceSurvey survey = Survey();
  if (!survey.driver.empty()) GTEST_SKIP() << "a driver is running here: " << survey.driver;
  EXPECT_THAT(survey.devices, IsEmpty());
  EXPECT_THAT(survey.missing, HasSubstr("no NVIDIA driver is running here ("));
  EXPECT_EQ(WhyNotOpened({.build = DeviceBuild()}), survey.missing);
  EXPECT_EQ(survey.missing.find('\n'), std::string::npos);
}

TEST(CudaPlugIn, NamesEachLibraryWithItsPlaceOrHowToGetIt) {
  const DeviceSurvey survey = Survey();
  ASSERT_EQ(survey.libraries.size(), 3u);
  EXPECT_EQ(survey.libraries[0].name, "cuBLASLt");
  EXPECT_EQ(survey.libraries[1].name, "cuDNN");
  EXPECT_EQ(survey.libraries[2].name, "NCCL");
  for (const DeviceLibrary& library : survey.libraries) {
    if (library.path.empty()) {
      EXPECT_THAT(library.missing, HasSubstr("pip install nvidia-"));
    } else {
      EXPECT_TRUE(fs::exists(library.path)) << library.path;
      EXPECT_THAT(library.version, ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
    }
  }
}

/// Makes environment variables, and folders for them to name.
class CudaLibraries : public testing::Test {
 protected:
  ~CudaLibraries() override {
    for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
    fs::remove_all(root_);
  }
  void Set(const std::string& name, const std::string& value) {
    const char* const before = getenv(name.c_str());
    before_.try_emplace(name, before == nullptr ? "" : before);
    setenv(name.c_str(), value.c_str(), 1);
  }
  std::string Folder(const std::string& name) const {
    fs::create_directories(root_ / name);
    return (root_ / name).string();
  }
  std::string root() const { return root_; }

 private:
  const fs::path root_ =
      fs::temp_directory_path() / ("murmurate-libraries-" + std::to_string(::getpid()));
  std::map<std::string, std::string> before_;
};

constexpr char kNoLibrary[] = "libmurmurate_no_such_library.so.7";

TEST_F(CudaLibraries, AreLookedForWhereTheyAreGivenThenWherePipLeavesThem) {
  const std::string given = Folder("given"), second = Folder("second");
  const std::string active = Folder("venv/lib/python3.11/site-packages/nvidia/cu13/lib");
  const std::string cudnn = Folder("venv/lib/python3.11/site-packages/nvidia/cudnn/lib");
  const std::string home = Folder("home/.local/lib/python3.9/site-packages/nvidia/cublas/lib");
  Set("MURMURATE_CUDA_PATH", given + "::" + root() + "/missing:" + second);
  Set("VIRTUAL_ENV", root() + "/venv");
  Set("HOME", root() + "/home");
  const std::vector<std::string> folders = CudaLibraryFolders();
  const auto at = [&](const std::string& folder) {
    EXPECT_THAT(folders, Contains(folder));
    return std::find(folders.begin(), folders.end(), folder) - folders.begin();
  };
  EXPECT_EQ(at(given), 0);
  EXPECT_EQ(at(second), 1);
  EXPECT_LT(at(second), at(cudnn));
  EXPECT_LT(at(cudnn), at(active));
  EXPECT_LT(at(active), at(home));
  EXPECT_THAT(folders, Not(Contains(root() + "/missing")));
}

TEST_F(CudaLibraries, ThatAreMissingAreOneSentenceWithPlacesAndTheRemedy) {
  const std::string given = Folder("given");
  Set("MURMURATE_CUDA_PATH", given);
  const auto library =
      CudaLibrary::Open({.name = "cuThing", .file = kNoLibrary, .package = "nvidia-cuthing"});
  EXPECT_EQ(library.status().code(), StatusCode::kResource);
  EXPECT_THAT(library.status().message(),
              AllOf(HasSubstr("cuThing is missing: " + std::string(kNoLibrary) + " is not in "),
                    HasSubstr(given), HasSubstr("nor where the loader looks"),
                    HasSubstr("`pip install nvidia-cuthing`"), Not(HasSubstr("\n"))));
}

TEST_F(CudaLibraries, ThatAreBrokenSayWhatTheLoaderSays) {
  const std::string given = Folder("given");
  std::ofstream(given + '/' + kNoLibrary) << "no library";
  Set("MURMURATE_CUDA_PATH", given);
  const auto library =
      CudaLibrary::Open({.name = "cuThing", .file = kNoLibrary, .package = "nvidia-cuthing"});
  EXPECT_THAT(library.status().message(),
              AllOf(HasSubstr("cuThing cannot be loaded"), HasSubstr("install it again")));
}

TEST_F(CudaLibraries, AreOpenedFromTheirFolderAndSayWhichFunctionTheyLack) {
  const std::string given = Folder("given");
  fs::copy_file(MURMURATE_CUDA_PLUG_IN, given + '/' + kNoLibrary);  // any library will do
  Set("MURMURATE_CUDA_PATH", given);
  const auto library =
      CudaLibrary::Open({.name = "cuThing", .file = kNoLibrary, .package = "nvidia-cuthing"});
  ASSERT_TRUE(library.ok()) << library.status().message();
  EXPECT_EQ(library->path(), given + '/' + kNoLibrary);
  void (*function)() = nullptr;
  EXPECT_TRUE(library->Find({{kMurmurateOpenDevice, &function}}).ok());
  EXPECT_NE(function, nullptr);
  EXPECT_THAT(library->Find({{"cuthingMultiply", &function}}).message(),
              HasSubstr("has no function cuthingMultiply"));
}

/// What ptxas says of one kernel on one kind of GPU.
struct CompiledKernel {
  int spilled = -1, registers = -1;
};

/// By "sm_90a Adam".
std::map<std::string, CompiledKernel> CompiledKernels() {
  static const std::regex kEntry(
      R"(Compiling entry function '_ZN9murmurate\d+([A-Za-z]\w*)KernelE\w*' for '(\w+)')");
  static const std::regex kSpills(R"((\d+) bytes spill stores, (\d+) bytes spill loads)");
  static const std::regex kRegisters(R"(Used (\d+) registers)");
  std::map<std::string, CompiledKernel> kernels;
  std::ifstream log(MURMURATE_CUDA_KERNELS_LOG);
  CompiledKernel* kernel = nullptr;
  std::smatch match;
  for (std::string line; std::getline(log, line);) {
    if (std::regex_search(line, match, kEntry))
      kernel = &kernels[match[2].str() + ' ' + match[1].str()];
    else if (kernel != nullptr && std::regex_search(line, match, kSpills))
      kernel->spilled = std::stoi(match[1]) + std::stoi(match[2]);
    else if (kernel != nullptr && std::regex_search(line, match, kRegisters))
      kernel->registers = std::stoi(match[1]);
  }
  return kernels;
}

/// The kinds of GPU that there is code for: of "90a-real,75", sm_90a and sm_75.
std::vector<std::string> Architectures() {
  std::vector<std::string> names;
  std::istringstream list(MURMURATE_CUDA_ARCHITECTURES);
  for (std::string name; std::getline(list, name, ',');)
    if (!name.ends_with("-virtual")) names.push_back("sm_" + name.substr(0, name.find('-')));
  return names;
}

TEST(CudaKernels, AreCompiledForEachGpuWithoutSpillsAndForBlocksOf256Threads) {
  constexpr int kRegistersOfAMultiprocessor = 65536, kThreads = 256;
  const std::map<std::string, CompiledKernel> kernels = CompiledKernels();
  ASSERT_FALSE(Architectures().empty());
  for (const std::string& architecture : Architectures()) {
    for (const char* name : {
#define MURMURATE_KERNEL_NAME(Name) #Name,
             MURMURATE_DEVICE_KERNELS(MURMURATE_KERNEL_NAME)
#undef MURMURATE_KERNEL_NAME
         }) {
      const auto found = kernels.find(architecture + ' ' + name);
      ASSERT_NE(found, kernels.end()) << architecture << ' ' << name << " was not compiled";
      EXPECT_EQ(found->second.spilled, 0) << found->first << " spills registers";
      EXPECT_GT(found->second.registers, 0) << found->first;
      const std::string_view small = name;
      const int threads = small == "SmallForward" || small == "SmallBackward" ? 512 : kThreads;
      EXPECT_LE(found->second.registers * threads, kRegistersOfAMultiprocessor) << found->first;
    }
  }
}

}  // namespace
}  // namespace murmurate
