// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The search for the agents, NVIDIA's Sanitizer library and CUPTI, in trees made for each test: each place is found
// when it is the only one, and nothing is found where there is only something like it.
#include "cli/footprint_files.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "cli/tests/command.h"

namespace streamsan::cli {
namespace {

namespace fs = std::filesystem;

class FootprintFiles : public ::testing::Test {
 protected:
  FootprintFiles() {
    surroundings_.root = directory_.path();
    surroundings_.environment = [this](const char* name) { return environment_[name]; };
  }
  std::string make(const std::string& name) {
    fs::path path = directory_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "x";
    return path.string();
  }
  std::string link(const std::string& name, const std::string& target) {
    fs::path path = directory_ / name;
    fs::create_directories(path.parent_path());
    fs::create_symlink(target, path);
    return path.string();
  }
  std::string cupti() { return find_cupti(options_, surroundings_).path; }
  std::string sanitizer() { return find_sanitizer(options_, surroundings_).path; }

  TemporaryDirectory directory_;
  std::map<std::string, std::string> environment_;
  Surroundings surroundings_;
  Options options_;
};

TEST_F(FootprintFiles, NothingIsFoundWhereThereIsNothing) {
  make("usr/local/cuda-13.0/bin/nvcc");
  make("usr/local/cuda-13.0/compute-sanitizer/libsanitizer-collection.so");
  fs::create_directories(directory_ / "opt/cuda/compute-sanitizer/libsanitizer-public.so");  // a directory
  environment_ = {{"CUDA_HOME", directory_ / "no/such"}, {"PATH", ""}};
  FoundFile found = find_sanitizer(options_, surroundings_);
  EXPECT_EQ(found.path, "");
  EXPECT_NE(std::find(found.tried.begin(), found.tried.end(), directory_ / "usr/local/cuda-13.0/compute-sanitizer"),
            found.tried.end());
}

TEST_F(FootprintFiles, TheOptionDecidesAlone) {
  make("opt/cuda/compute-sanitizer/libsanitizer-public.so");
  options_.sanitizer_library = make("elsewhere/my sanitizer.so");
  EXPECT_EQ(sanitizer(), options_.sanitizer_library);
  options_.sanitizer_library = directory_ / "missing.so";
  EXPECT_EQ(sanitizer(), "") << "another one would not be what was asked for";
}

TEST_F(FootprintFiles, ToolkitsInTheOrderOfTheirNearness) {
  std::string optional = make("opt/cuda/compute-sanitizer/libsanitizer-public.so");
  EXPECT_EQ(sanitizer(), optional);
  std::string older = make("usr/local/cuda-9.2/compute-sanitizer/libsanitizer-public.so");
  EXPECT_EQ(sanitizer(), older);
  std::string newer = make("usr/local/cuda-13.0/compute-sanitizer/libsanitizer-public.so");
  EXPECT_EQ(sanitizer(), newer) << "13.0 is newer than 9.2";
  std::string of_compiler = make("kit/compute-sanitizer/libsanitizer-public.so");
  make("kit/bin/nvcc");
  environment_["PATH"] = directory_ / "empty" + ":" + (directory_ / "kit/bin");
  EXPECT_EQ(sanitizer(), of_compiler);
  std::string named = make("home/compute-sanitizer/libsanitizer-public.so");
  environment_["CUDA_PATH"] = directory_ / "home";
  EXPECT_EQ(sanitizer(), named);
}

TEST_F(FootprintFiles, ACompilerThatIsALinkLeadsToItsToolkit) {
  std::string library = make("kit/compute-sanitizer/libsanitizer-public.so");
  make("kit/bin/nvcc");
  link("bin/nvcc", directory_ / "kit/bin/nvcc");
  environment_["PATH"] = directory_ / "bin";
  EXPECT_EQ(sanitizer(), fs::canonical(library).string());
}

TEST_F(FootprintFiles, ThePackageInAVirtualEnvironment) {
  std::string library =
      make("venv/lib/python3.11/site-packages/nvidia/cuda_sanitizer_api/compute-sanitizer/libsanitizer-public.so");
  EXPECT_EQ(sanitizer(), "") << "it is not the active one";
  environment_["VIRTUAL_ENV"] = directory_ / "venv";
  EXPECT_EQ(sanitizer(), library);
}

TEST_F(FootprintFiles, ThePackageOfAToolkitInACondaEnvironment) {
  std::string library =
      make("conda/lib/python3.12/site-packages/nvidia/cu13/compute-sanitizer/x86/libsanitizer-public.so");
  environment_["CONDA_PREFIX"] = directory_ / "conda";
  EXPECT_EQ(sanitizer(), library);
  std::string own = make("conda/compute-sanitizer/libsanitizer-public.so");
  EXPECT_EQ(sanitizer(), own) << "conda's own package puts it at the top";
}

TEST_F(FootprintFiles, ThePackagesOfThePythonInThePath) {
  make("usr/bin/python3.11");
  link("venv/bin/python3", directory_ / "usr/bin/python3.11");
  environment_["PATH"] = directory_ / "venv/bin";
  std::string system = make("usr/lib/python3/dist-packages/nvidia/cu12/lib/libsanitizer-public.so");
  EXPECT_EQ(sanitizer(), fs::canonical(system).string()) << "from its real path";
  std::string own = make("venv/lib/python3.11/site-packages/nvidia/cuda_sanitizer_api/libsanitizer-public.so");
  EXPECT_EQ(sanitizer(), own) << "the environment it was found in comes first";
}

TEST_F(FootprintFiles, ThePackageOfThePythonThatIsRun) {
  make("usr/bin/python3.11");
  link("venv/bin/python", directory_ / "usr/bin/python3.11");
  const std::string active = make("active/lib/python3.11/site-packages/nvidia/cu13/lib/libsanitizer-public.so");
  environment_ = {{"VIRTUAL_ENV", directory_ / "active"}, {"PATH", directory_ / "venv/bin"}};
  const std::string own = make("venv/lib/python3.11/site-packages/nvidia/cu13/lib/libsanitizer-public.so");
  surroundings_.program = directory_ / "venv/bin/missing";
  EXPECT_EQ(sanitizer(), active) << "there is no such program";
  surroundings_.program = directory_ / "venv/bin/python";
  EXPECT_EQ(sanitizer(), own) << "named by its path";
  surroundings_.program = "python";
  EXPECT_EQ(sanitizer(), own) << "found in PATH";
  surroundings_.program = "python3";
  EXPECT_EQ(sanitizer(), active) << "not in PATH";
}

TEST_F(FootprintFiles, ThePackagesBesideOurOwn) {
  const std::string library = make("env/lib/python3.9/site-packages/nvidia/cuda_sanitizer_api/libsanitizer-public.so");
  surroundings_.self = directory_ / "env/lib/python3.9/other-packages/streamsan/bin/streamsan";
  EXPECT_EQ(sanitizer(), "") << "not a place for packages";
  surroundings_.self = directory_ / "env/lib/python3.9/site-packages/streamsan/bin/streamsan";
  EXPECT_EQ(sanitizer(), library);
}

TEST_F(FootprintFiles, PackagesOfTheUserAndDirectoriesOfTheLoader) {
  environment_ = {{"HOME", directory_ / "me"}, {"LD_LIBRARY_PATH", ":" + (directory_ / "lib")}};
  std::string listed = make("lib/libsanitizer-public.so");
  EXPECT_EQ(sanitizer(), listed);
  std::string user =
      make("me/.local/lib/python3.10/site-packages/nvidia/cuda_sanitizer_api/lib/libsanitizer-public.so");
  EXPECT_EQ(sanitizer(), user);
}

TEST_F(FootprintFiles, TheAgentIsBesideTheRecorder) {
  std::string recorder = make("lib/libstreamsan.so");
  EXPECT_EQ(find_agent(options_, recorder).path, "");
  std::string agent = make("lib/libstreamsan_footprints.so");
  EXPECT_EQ(find_agent(options_, recorder).path, agent);
  std::string linked = link("bin/libstreamsan.so", recorder);
  EXPECT_EQ(find_agent(options_, linked).path, fs::canonical(agent).string()) << "beside the file the link names";
  options_.agent_path = directory_ / "other.so";
  EXPECT_EQ(find_agent(options_, recorder).path, "");
  make("other.so");
  EXPECT_EQ(find_agent(options_, recorder).path, options_.agent_path);
}

TEST_F(FootprintFiles, ThePlanSaysWhatIsInTheWay) {
  std::string recorder = make("lib/libstreamsan.so");
  FootprintPlan plan = plan_footprints(options_, recorder, surroundings_);
  EXPECT_FALSE(plan.measure);
  EXPECT_EQ(plan.obstacle, "there is no libstreamsan_footprints.so beside the recorder (option agent_path)");

  std::string agent = make("lib/libstreamsan_footprints.so");
  plan = plan_footprints(options_, recorder, surroundings_);
  EXPECT_FALSE(plan.measure);
  EXPECT_EQ(plan.obstacle, "no libsanitizer-public.so was found (option sanitizer_library)");

  std::string library = make("opt/cuda/compute-sanitizer/libsanitizer-public.so");
  plan = plan_footprints(options_, recorder, surroundings_);
  EXPECT_TRUE(plan.measure);
  EXPECT_EQ(plan.agent, agent);
  EXPECT_EQ(plan.sanitizer, library);
  EXPECT_EQ(plan.obstacle, "");

  options_.sanitizer_library = "/no/such.so";
  EXPECT_EQ(plan_footprints(options_, recorder, surroundings_).obstacle, "there is no /no/such.so");
  options_.agent_script = "/any";
  EXPECT_TRUE(plan_footprints(options_, recorder, surroundings_).measure) << "a scripted agent needs no library";

  options_.footprints = "inferred";
  plan = plan_footprints(options_, recorder, surroundings_);
  EXPECT_FALSE(plan.measure);
  EXPECT_EQ(plan.obstacle, "") << "nobody wanted it";
}

TEST_F(FootprintFiles, CuptiInTheOrderOfItsNearness) {
  make("usr/local/cuda-13.0/extras/CUPTI/lib64/libcupti_static.a");
  make("usr/local/cuda-13.0/compute-sanitizer/libsanitizer-public.so");
  fs::create_directories(directory_ / "opt/cuda/lib64/libcupti.so");  // a directory
  EXPECT_EQ(cupti(), "");
#if defined __aarch64__
  const std::string of_loader = make("usr/local/cuda-13.0/targets/sbsa-linux/lib/libcupti.so.13");
#else
  const std::string of_loader = make("usr/local/cuda-13.0/targets/x86_64-linux/lib/libcupti.so.13");
#endif
  EXPECT_EQ(cupti(), of_loader);
  const std::string extras = make("usr/local/cuda-13.0/extras/CUPTI/lib64/libcupti.so.12");
  EXPECT_EQ(cupti(), extras) << "where toolkits have kept it from the first";
  const std::string listed = make("lib/libcupti.so.12");
  environment_["LD_LIBRARY_PATH"] = directory_ / "empty" + ":" + (directory_ / "lib");
  EXPECT_EQ(cupti(), listed);
  const std::string package = make("venv/lib/python3.11/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12");
  environment_["VIRTUAL_ENV"] = directory_ / "venv";
  EXPECT_EQ(cupti(), package);
  const std::string home = make("home/lib64/libcupti.so");
  environment_["CUDA_HOME"] = directory_ / "home";
  EXPECT_EQ(cupti(), home);
  options_.cupti_library = make("elsewhere/my cupti.so");
  EXPECT_EQ(cupti(), options_.cupti_library);
  options_.cupti_library = directory_ / "missing.so";
  EXPECT_EQ(cupti(), "") << "another one would not be what was asked for";
}

TEST_F(FootprintFiles, CuptiInTheToolkitOfAPythonPackage) {
  const std::string cupti13 = make("venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13");
  environment_["VIRTUAL_ENV"] = directory_ / "venv";
  EXPECT_EQ(cupti(), cupti13);
}

TEST_F(FootprintFiles, ThePlanOfTimesSaysWhatIsInTheWay) {
  const std::string recorder = make("lib/libstreamsan.so");
  TimingPlan plan = plan_timings(options_, recorder, surroundings_);
  EXPECT_FALSE(plan.take);
  EXPECT_EQ(plan.obstacle, "") << "nobody wanted them";

  options_.timings = true;
  plan = plan_timings(options_, recorder, surroundings_);
  EXPECT_FALSE(plan.take);
  EXPECT_EQ(plan.obstacle, "there is no libstreamsan_timings.so beside the recorder");

  make("lib/libstreamsan_timings.so");
  plan = plan_timings(options_, recorder, surroundings_);
  EXPECT_TRUE(plan.take) << "the program may bring CUPTI along";
  EXPECT_EQ(plan.cupti, "");

  const std::string library = make("opt/cuda/extras/CUPTI/lib64/libcupti.so");
  EXPECT_EQ(plan_timings(options_, recorder, surroundings_).cupti, library);
  options_.cupti_library = "/no/such.so";
  plan = plan_timings(options_, recorder, surroundings_);
  EXPECT_FALSE(plan.take);
  EXPECT_EQ(plan.obstacle, "there is no /no/such.so");
}

TEST_F(FootprintFiles, WhoTakesTimesMeasuresNoKernels) {
  const std::string recorder = make("lib/libstreamsan.so");
  make("lib/libstreamsan_footprints.so");
  make("opt/cuda/compute-sanitizer/libsanitizer-public.so");
  EXPECT_TRUE(plan_footprints(options_, recorder, surroundings_).measure);
  options_.timings = true;
  const FootprintPlan plan = plan_footprints(options_, recorder, surroundings_);
  EXPECT_FALSE(plan.measure);
  EXPECT_EQ(plan.obstacle, "");
}

}  // namespace
}  // namespace streamsan::cli
