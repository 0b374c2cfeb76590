// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvcc's words in Clang's. Expectations about commas, quotes and backslashes are what `nvcc --dryrun` of CUDA 13.0
// makes of the same words.
#include "analyzer/tool/nvcc_flags.h"

#include <gtest/gtest.h>

#include <map>

namespace streamsan::analyzer {
namespace {

using Words = std::vector<std::string>;

Translation translated(const Words& words, const std::map<std::string, std::string>& files = {},
                       const std::string& program = "/opt/cuda/bin/nvcc") {
  Command command{"/p/build", "../src/a.cu", {program}};
  command.arguments.insert(command.arguments.end(), words.begin(), words.end());
  command.arguments.push_back("/p/src/a.cu");
  return translate(command, [&files](const std::string& path) {
    const auto found = files.find(path);
    return found == files.end() ? std::nullopt : std::optional(found->second);
  });
}

Words kept(const Words& words, const std::map<std::string, std::string>& files = {}) {
  const Translation translation = translated(words, files);
  EXPECT_EQ(translation.error, "");
  return translation.arguments;
}

TEST(NvccFlags, ProgramsAreToldApart) {
  const auto dialect = [](const std::string& program) { return translated({}, {}, program).dialect; };
  EXPECT_EQ(dialect("/usr/local/cuda-13.0/bin/nvcc"), Dialect::Nvcc);
  EXPECT_EQ(dialect("nvcc.exe"), Dialect::Nvcc);
  EXPECT_EQ(dialect("/usr/bin/clang++-22"), Dialect::Clang);
  EXPECT_EQ(dialect("/opt/rocm/bin/amdclang++"), Dialect::Clang);
  EXPECT_EQ(dialect("hipcc"), Dialect::Hipcc);
  EXPECT_EQ(dialect("/usr/bin/x86_64-linux-gnu-g++-12"), Dialect::Host);
}

TEST(NvccFlags, LaunchersAreSkipped) {
  const Command command{"/p", "a.cu", {"/usr/bin/ccache", "/opt/cuda/bin/nvcc", "-DX", "-c", "a.cu"}};
  const Translation translation = translate(command, {});
  EXPECT_EQ(translation.compiler, "/opt/cuda/bin/nvcc");
  EXPECT_EQ(translation.arguments, Words{"-DX"});
  const Command with_env{"/p", "a.cu", {"env", "A=b", "nvcc", "-DY", "a.cu"}};
  EXPECT_EQ(translate(with_env, {}).compiler, "nvcc");
}

TEST(NvccFlags, NoCompilerIsAnError) { EXPECT_NE(translate({"/p", "a.cu", {}}, {}).error, ""); }

TEST(NvccFlags, TheSourceAndOtherInputsAreNoFlags) {
  EXPECT_EQ(kept({"-DX", "../src/a.cu", "other.o", "-DY"}), (Words{"-DX", "-DY"}));
}

TEST(NvccFlags, Languages) {
  const auto language = [](const Words& words) { return translated(words).language; };
  EXPECT_EQ(language({}), Language::Cuda);
  EXPECT_EQ(language({"-x", "cu"}), Language::Cuda);
  EXPECT_EQ(language({"-x=cu"}), Language::Cuda);
  EXPECT_EQ(language({"--x", "c++"}), Language::Cxx);
  EXPECT_EQ(language({"-x", "c++", "-x", "cu"}), Language::Cuda);
  EXPECT_EQ(translate({"/p", "a.cpp", {"nvcc", "-x", "cu", "a.cpp"}}, {}).language, Language::Cuda);
  EXPECT_EQ(translate({"/p", "a.cpp", {"nvcc", "a.cpp"}}, {}).language, Language::Cxx);
  EXPECT_EQ(translate({"/p", "a.cpp", {"hipcc", "a.cpp"}}, {}).language, Language::Hip);
}

TEST(NvccFlags, Standards) {
  EXPECT_EQ(kept({"-std=c++17", "--std", "c++20", "-std", "c++14", "--std=c++11"}),
            (Words{"-std=c++17", "-std=c++20", "-std=c++14", "-std=c++11"}));
}

TEST(NvccFlags, ListsAreParted) {
  EXPECT_EQ(kept({"-DA=1,B=2", "-D", "C", "-D=Q", "--define-macro=E,F"}),
            (Words{"-DA=1", "-DB=2", "-DC", "-DQ", "-DE", "-DF"}));
  EXPECT_EQ(kept({"-Ia,b", "-I", "c", "-I=d", "--include-path=e,f", "-isystem=g,h", "--system-include", "i"}),
            (Words{"-Ia", "-Ib", "-Ic", "-Id", "-Ie", "-If", "-isystem", "g", "-isystem", "h", "-isystem", "i"}));
  EXPECT_EQ(kept({"-include", "x.h,y.h", "--pre-include=z.h", "-UQ", "--undefine-macro", "Z"}),
            (Words{"-include", "x.h", "-include", "y.h", "-include", "z.h", "-UQ", "-UZ"}));
}

TEST(NvccFlags, QuotesAndBackslashesKeepACommaTogether) {
  EXPECT_EQ(kept({R"(-DS="x,y")"}), Words{R"(-DS="x,y")"});
  EXPECT_EQ(kept({R"(-DS=x\,y)"}), Words{"-DS=x,y"});
  EXPECT_EQ(kept({R"(-DS="x y")"}), Words{R"(-DS="x y")"});
}

TEST(NvccFlags, HostCompilerOptions) {
  EXPECT_EQ(kept({"-Xcompiler", "-Wall -Wextra"}), (Words{"-Wall", "-Wextra"}));
  EXPECT_EQ(kept({"-Xcompiler=-fPIE,-fopenmp", "--compiler-options", "-DZ"}), (Words{"-fPIE", "-fopenmp", "-DZ"}));
  EXPECT_EQ(kept({R"(-Xcompiler)", R"(-DX=a\,b,-DY)"}), (Words{"-DX=a,b", "-DY"}));
  EXPECT_EQ(kept({"-Xcompiler", R"(-DX="a b")"}), Words{"-DX=a b"});
  EXPECT_EQ(kept({"-Xcompiler", R"(-DX="a,b")"}), Words{"-DX=a,b"});
  EXPECT_EQ(kept({"-Xcompiler", "-I,inc,-isystem,sys"}), (Words{"-I", "inc", "-isystem", "sys"}));
  EXPECT_EQ(kept({"-Xcompiler", "-MD,-MF,x.d,-o,y,-DX"}), Words{"-DX"});
}

TEST(NvccFlags, WerrorOfAnyCompilerIsDropped) {
  EXPECT_EQ(kept({"-Werror", "all-warnings", "-DA"}), Words{"-DA"});
  EXPECT_EQ(kept({"-Werror", "-DA"}), Words{"-DA"});
  EXPECT_EQ(kept({"-Werror=cross-execution-space-call,reorder", "--Werror", "deprecated-declarations"}), Words{});
  EXPECT_EQ(kept({"-Xcompiler", "-Werror,-Werror=unused,-Wall"}), Words{"-Wall"});
}

TEST(NvccFlags, RelocatableDeviceCode) {
  const Words relocatable{"-fgpu-rdc", "-D__CUDACC_RDC__"};
  EXPECT_EQ(kept({"-rdc=true"}), relocatable);
  EXPECT_EQ(kept({"--relocatable-device-code", "true"}), relocatable);
  EXPECT_EQ(kept({"-dc"}), relocatable);
  EXPECT_EQ(kept({"--device-c"}), relocatable);
  EXPECT_EQ(kept({"-rdc=true", "-rdc=false"}), Words{});
}

TEST(NvccFlags, DefaultStream) {
  const Words per_thread{"-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1"};
  EXPECT_EQ(kept({"--default-stream", "per-thread"}), per_thread);
  EXPECT_EQ(kept({"-default-stream=per-thread"}), per_thread);
  EXPECT_TRUE(translated({"--default-stream=per-thread"}).per_thread_default_stream);
  EXPECT_EQ(kept({"--default-stream=per-thread", "--default-stream=legacy"}), Words{});
  EXPECT_FALSE(translated({"--default-stream", "legacy"}).per_thread_default_stream);
}

TEST(NvccFlags, Toggles) {
  EXPECT_EQ(kept({"--expt-relaxed-constexpr"}), Words{"-D__CUDACC_RELAXED_CONSTEXPR__"});
  EXPECT_EQ(kept({"-extended-lambda"}), Words{"-D__CUDACC_EXTENDED_LAMBDA__=1"});
  EXPECT_EQ(kept({"--expt-extended-lambda"}), Words{"-D__CUDACC_EXTENDED_LAMBDA__=1"});
  EXPECT_EQ(kept({"--no-exceptions"}), Words{"-fno-exceptions"});
  EXPECT_EQ(kept({"-ftemplate-depth", "99", "-m64"}), (Words{"-ftemplate-depth=99", "-m64"}));
}

// Each of these takes the next word, or a value after `=`.
class DroppedWithValue : public testing::TestWithParam<const char*> {};
TEST_P(DroppedWithValue, TakesItsValueAlong) {
  EXPECT_EQ(kept({"-DA", GetParam(), "v", "-DB"}), (Words{"-DA", "-DB"}));
  EXPECT_EQ(kept({"-DA", std::string(GetParam()) + "=v", "-DB"}), (Words{"-DA", "-DB"}));
}
INSTANTIATE_TEST_SUITE_P(
    NvccFlags, DroppedWithValue,
    testing::Values("-gencode", "--generate-code", "-arch", "--gpu-architecture", "-code", "--gpu-code", "-Xptxas",
                    "--ptxas-options", "-Xnvlink", "--nvlink-options", "-Xfatbin", "--fatbin-options", "-Xarchive",
                    "--archive-options", "-Xlinker", "--linker-options", "-Xcudafe", "-t", "--threads",
                    "-split-compile", "--split-compile-extended", "-keep-dir", "--keep-dir", "-maxrregcount",
                    "--maxrregcount", "-cudart", "--cudart", "-cudadevrt", "-ldir", "--libdevice-directory",
                    "-target-dir", "-arbin", "-ccbin", "--compiler-bindir", "-odir", "--output-directory", "-o",
                    "--output-file", "-opt-info", "-Ofc", "-dopt", "-time", "-run-args", "-idp", "-ddp", "-dp", "-e",
                    "--entries", "-ftz", "--ftz", "-prec-div", "-prec-sqrt", "-fmad", "-diag-error", "-diag-suppress",
                    "--diag-warn", "-diag_suppress", "--diag_suppress", "--diag_error", "-hls", "-brief-diag", "-jtd",
                    "-device-stack-protector", "-compress-mode", "-frandom-seed", "-sanitize",
                    "-static-global-template-stub", "-device-entity-has-hidden-visibility", "-fdevice-time-trace",
                    "-ftemplate-backtrace-limit", "--machine", "-m", "-MF", "-MT", "--dependency-output", "-O",
                    "--optimize", "-l", "-L"));

// Each of these stands alone: what follows stays.
class DroppedAlone : public testing::TestWithParam<const char*> {};
TEST_P(DroppedAlone, LeavesTheNextWord) { EXPECT_EQ(kept({GetParam(), "-DB"}), Words{"-DB"}); }
INSTANTIATE_TEST_SUITE_P(
    NvccFlags, DroppedAlone,
    testing::Values("-forward-unknown-to-host-compiler", "--forward-unknown-to-host-compiler",
                    "-forward-unknown-to-host-linker", "-forward-unknown-opts", "-use_fast_math", "--use_fast_math",
                    "--use-fast-math", "-lineinfo", "--generate-line-info", "-G", "--device-debug", "-g", "--debug",
                    "-dlink", "-dw", "-dlto", "-lto", "-gen-opt-lto", "-keep", "--keep", "--save-temps", "-res-usage",
                    "--resource-usage", "-ewp", "-no-compress", "-src-in-ptx", "-restrict", "--restrict",
                    "-keep-device-functions", "-extra-device-vectorization", "--Wreorder", "-Wdefault-stream-launch",
                    "-Wmissing-launch-bounds", "-Wext-lambda-captures-this", "-Wno-deprecated-gpu-targets", "-err-no",
                    "--display-error-number", "-no-err-no", "--disable-warnings", "-w", "-allow-unsupported-compiler",
                    "-objtemp", "-use-local-env", "-dryrun", "--verbose", "-clean", "-nodlink", "-nohdinitlist",
                    "-nohdmoveforward", "-aug-hls", "-reloc-ptx", "-ptx", "-cubin", "-fatbin", "-cuda", "-optix-ir",
                    "-ltoir", "-c", "--compile", "--profile", "-jobserver", "-noprof", "-fdevice-syntax-only", "-MD",
                    "-MMD", "-MP", "-fcoroutines", "-t4", "-O3", "-lcudart", "-L/x", "-oa.o", "-gpu=cc90",
                    "-stdpar=gpu", "-shared"));

TEST(NvccFlags, UnknownOptionsAreTheHostCompilersAndStay) {
  EXPECT_EQ(kept({"-fPIC", "-march=native", "-Wall", "-pthread", "-fno-rtti", "-traditional"}),
            (Words{"-fPIC", "-march=native", "-Wall", "-pthread", "-fno-rtti", "-traditional"}));
}

TEST(NvccFlags, DroppedWordsAreRemembered) {
  EXPECT_EQ(translated({"-arch", "sm_90", "--threads=4", "-G"}).dropped, (Words{"-arch sm_90", "--threads=4", "-G"}));
}

TEST(NvccFlags, ResponseFiles) {
  EXPECT_EQ(kept({"--options-file", "inc.rsp", "-DZ"}, {{"/p/build/inc.rsp", "-Ia -I\"b c\" 'd.o'\n-DX=\\\"s\\\""}}),
            (Words{"-Ia", "-Ib c", "-DX=\"s\"", "-DZ"}));
  EXPECT_EQ(kept({"-optf=/a.rsp,b/b.rsp"}, {{"/a.rsp", "-DA"}, {"/p/build/b/b.rsp", "-DB"}}), (Words{"-DA", "-DB"}));
  EXPECT_EQ(kept({"-optf", "1"}, {{"/p/build/1", "-optf 2 -D1"},
                                  {"/p/build/2", "-optf 3 -D2"},
                                  {"/p/build/3", "-optf 4 -D3"},
                                  {"/p/build/4", "-D4"}}),
            (Words{"-D4", "-D3", "-D2", "-D1"}));
}

TEST(NvccFlags, ResponseFilesThatCannotBeRead) {
  EXPECT_EQ(translated({"-optf", "no.rsp"}).error, "response file /p/build/no.rsp cannot be read");
  EXPECT_EQ(translated({"-optf", "a"}, {{"/p/build/a", "-optf a"}}).error, "response file /p/build/a includes itself");
  EXPECT_EQ(translated({"-optf", "a"}, {{"/p/build/a", "-optf b"}, {"/p/build/b", "-DB -optf ./a"}}).error,
            "response file /p/build/a includes itself");
  EXPECT_EQ(kept({"-optf", "a", "-optf", "a"}, {{"/p/build/a", "-DA"}}), (Words{"-DA", "-DA"}));
  for (const char* option : {"@no.rsp", "-Xcompiler=@no.rsp"}) {
    EXPECT_EQ(translated({option}).error, "response file /p/build/no.rsp cannot be read") << option;
    EXPECT_EQ(kept({option}, {{"/p/build/no.rsp", "-DA"}}), Words{"-DA"}) << option;
  }
}

TEST(NvccFlags, AFlagWithoutItsValue) {
  const auto error = [](const char* compiler, const char* last) {
    return translate({"/p", "a.cu", {compiler, "a.cu", last}}, {}).error;
  };
  for (const char* option : {"-arch", "-Xcompiler", "-optf", "-std", "-x", "-o", "-isystem"}) {
    EXPECT_EQ(error("nvcc", option), std::string("the compiler flag ") + option + " lacks its value");
  }
  EXPECT_EQ(error("clang++", "-x"), "the compiler flag -x lacks its value");
  EXPECT_EQ(kept({"-Xcompiler", "-isystem", "-Xcompiler", "dir"}), (Words{"-isystem", "dir"}));
}

TEST(NvccFlags, ADanglingOptionIsNoCrash) {
  for (const char* option : {"-arch", "-D", "-Xcompiler", "-optf", "-std", "-x", "-o", "-isystem", "-", "--"}) {
    translated({option});
    const Translation last = translate({"/p", "a.cu", {"nvcc", "a.cu", option}},
                                       [](const std::string&) { return std::optional<std::string>(""); });
    EXPECT_EQ(last.compiler, "nvcc") << option;
  }
}

TEST(NvccFlags, Clang) {
  const Translation translation =
      translated({"--cuda-gpu-arch=sm_80", "-x", "cuda", "--cuda-path=/opt/c", "-c", "--cuda-device-only", "-Xclang",
                  "-c", "-Werror", "-DX=a,b", "-G0", "-o", "a.o", "-MD", "-MF", "a.d", "-nocudainc"},
                 {}, "clang++");
  EXPECT_EQ(translation.arguments, (Words{"--cuda-gpu-arch=sm_80", "-Xclang", "-c", "-DX=a,b", "-G0", "-nocudainc"}));
  EXPECT_EQ(translation.cuda_path, "/opt/c");
  EXPECT_EQ(translation.language, Language::Cuda);
  EXPECT_TRUE(translation.no_toolkit);
}

TEST(NvccFlags, Host) {
  const Translation translation = translate(
      {"/p", "a.cpp", {"g++", "-O2", "-Ix,y", "@a.rsp", "-c", "a.cpp", "-o", "a.o"}},
      [](const std::string& path) { return path == "/p/a.rsp" ? std::optional<std::string>("-DR") : std::nullopt; });
  EXPECT_EQ(translation.arguments, (Words{"-O2", "-Ix,y", "-DR"}));
  EXPECT_EQ(translation.language, Language::Cxx);
}

TEST(NvccFlags, FlagsByHand) {
  const auto flags = [](const Words& words) { return translate_flags({"/p", "/p/a.cu", words}, {}); };
  // Clang's words: a comma in -D parts nothing.
  EXPECT_EQ(flags({"-x", "cuda", "--cuda-host-only", "-nocudainc", "-DX=f(a,b)"}).arguments,
            (Words{"-nocudainc", "-DX=f(a,b)"}));
  // nvcc's words.
  EXPECT_EQ(flags({"-arch", "sm_90", "-DA,B", "--extended-lambda"}).arguments,
            (Words{"-DA", "-DB", "-D__CUDACC_EXTENDED_LAMBDA__=1"}));
  EXPECT_EQ(flags({"-std=c++17"}).compiler, "");
}

// A whole command as CMake 3.25 writes it for Ninja.
TEST(NvccFlags, CMake) {
  EXPECT_EQ(kept({"-forward-unknown-to-host-compiler", "-DNAME=\"x\"", "-I/p/include", "-isystem=/p/third",
                  "-Wno-deprecated-gpu-targets", "-lineinfo", "--extended-lambda",
                  "--generate-code=arch=compute_90,code=[compute_90,sm_90]", "-Xcompiler=-fPIE", "-std=c++17", "-MD",
                  "-MT", "a.o", "-MF", "a.d", "-x", "cu", "-rdc=true", "-c"}),
            (Words{"-DNAME=\"x\"", "-I/p/include", "-isystem", "/p/third", "-D__CUDACC_EXTENDED_LAMBDA__=1", "-fPIE",
                   "-std=c++17", "-fgpu-rdc", "-D__CUDACC_RDC__"}));
}

TEST(SplitWords, AsAShellDoes) {
  EXPECT_EQ(split_words(R"( a  'b c' "d \"e\"" f\ g "" h'i'j )"), (Words{"a", "b c", "d \"e\"", "f g", "", "hij"}));
  EXPECT_EQ(split_words(R"('a\b' "unfinished)"), (Words{R"(a\b)", "unfinished"}));
  EXPECT_EQ(split_words(""), Words{});
}

TEST(SplitList, CommasQuotesBackslashes) {
  EXPECT_EQ(split_list(R"(a,b\,c,"d,e",,f)"), (Words{"a", "b,c", "\"d,e\"", "f"}));
  EXPECT_EQ(split_list(""), Words{});
}

}  // namespace
}  // namespace streamsan::analyzer
