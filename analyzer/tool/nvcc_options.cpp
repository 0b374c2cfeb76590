// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvcc's options: how many words each takes and what it is to Clang. The arities are those of `nvcc --help` of
// CUDA 13.0 and of options that earlier releases had; what lists and quotes do was seen with `nvcc --dryrun`.
//
// A row that is missing makes nvcc's option look like one for the host compiler: Clang then names it in an error. A row
// with a wrong arity would swallow the next word; the test in tests/nvcc_flags_test.cpp has every one of them.
#include <algorithm>
#include <string>

#include "analyzer/tool/nvcc_flags.h"

namespace streamsan::analyzer {
namespace {

using Takes = NvccOption::Takes;
using Meaning = NvccOption::Meaning;

constexpr NvccOption kOptions[] = {
    // What the program's text means.
    {"std", "std", Takes::Value, Meaning::Standard, nullptr},
    {"x", "x", Takes::ValueMaybeJoined, Meaning::Input, nullptr},
    {"compiler-options", "Xcompiler", Takes::Value, Meaning::ForHostCompiler, nullptr},
    {"define-macro", "D", Takes::ValueMaybeJoined, Meaning::List, "-D"},
    {"undefine-macro", "U", Takes::ValueMaybeJoined, Meaning::List, "-U"},
    {"include-path", "I", Takes::ValueMaybeJoined, Meaning::List, "-I"},
    {"system-include", "isystem", Takes::Value, Meaning::List, "-isystem"},
    {"pre-include", "include", Takes::Value, Meaning::List, "-include"},
    {"relocatable-device-code", "rdc", Takes::Value, Meaning::RelocatableDevice, nullptr},
    {"device-c", "dc", Takes::Nothing, Meaning::RelocatableCompile, nullptr},
    {"default-stream", "default-stream", Takes::Value, Meaning::DefaultStream, nullptr},
    {"expt-relaxed-constexpr", "expt-relaxed-constexpr", Takes::Nothing, Meaning::Flag,
     "-D__CUDACC_RELAXED_CONSTEXPR__"},
    {"extended-lambda", "extended-lambda", Takes::Nothing, Meaning::Flag, "-D__CUDACC_EXTENDED_LAMBDA__=1"},
    {"expt-extended-lambda", "expt-extended-lambda", Takes::Nothing, Meaning::Flag, "-D__CUDACC_EXTENDED_LAMBDA__=1"},
    {"no-exceptions", "noeh", Takes::Nothing, Meaning::Flag, "-fno-exceptions"},
    {"ftemplate-depth", "ftemplate-depth", Takes::Value, Meaning::List, "-ftemplate-depth="},
    {"m64", "m64", Takes::Nothing, Meaning::Flag, "-m64"},
    {"options-file", "optf", Takes::Value, Meaning::OptionsFile, nullptr},

    // Dropped together with a value.
    {"generate-code", "gencode", Takes::Value, Meaning::Drop, nullptr},
    {"gpu-architecture", "arch", Takes::Value, Meaning::Drop, nullptr},
    {"gpu-code", "code", Takes::Value, Meaning::Drop, nullptr},
    {"ptxas-options", "Xptxas", Takes::Value, Meaning::Drop, nullptr},
    {"nvlink-options", "Xnvlink", Takes::Value, Meaning::Drop, nullptr},
    {"fatbin-options", "Xfatbin", Takes::Value, Meaning::Drop, nullptr},
    {"archive-options", "Xarchive", Takes::Value, Meaning::Drop, nullptr},
    {"linker-options", "Xlinker", Takes::Value, Meaning::Drop, nullptr},
    {"cudafe-options", "Xcudafe", Takes::Value, Meaning::Drop, nullptr},
    {"nvvm-options", "Xcicc", Takes::Value, Meaning::Drop, nullptr},
    {"threads", "t", Takes::ValueMaybeJoined, Meaning::Drop, nullptr},
    {"split-compile", "split-compile", Takes::Value, Meaning::Drop, nullptr},
    {"split-compile-extended", "split-compile-extended", Takes::Value, Meaning::Drop, nullptr},
    {"keep-dir", "keep-dir", Takes::Value, Meaning::Drop, nullptr},
    {"maxrregcount", "maxrregcount", Takes::Value, Meaning::Drop, nullptr},
    {"cudart", "cudart", Takes::Value, Meaning::Drop, nullptr},
    {"cudadevrt", "cudadevrt", Takes::Value, Meaning::Drop, nullptr},
    {"libdevice-directory", "ldir", Takes::Value, Meaning::Drop, nullptr},
    {"target-directory", "target-dir", Takes::Value, Meaning::Drop, nullptr},
    {"archiver-binary", "arbin", Takes::Value, Meaning::Drop, nullptr},
    {"compiler-bindir", "ccbin", Takes::Value, Meaning::Drop, nullptr},
    {"output-directory", "odir", Takes::Value, Meaning::Drop, nullptr},
    {"output-file", "o", Takes::ValueMaybeJoined, Meaning::Drop, nullptr},
    {"optimization-info", "opt-info", Takes::Value, Meaning::Drop, nullptr},
    {"optimize", "O", Takes::ValueMaybeJoined, Meaning::Drop, nullptr},
    {"Ofast-compile", "Ofc", Takes::Value, Meaning::Drop, nullptr},
    {"dopt", "dopt", Takes::Value, Meaning::Drop, nullptr},
    {"time", "time", Takes::Value, Meaning::Drop, nullptr},
    {"run-args", "run-args", Takes::Value, Meaning::Drop, nullptr},
    {"input-drive-prefix", "idp", Takes::Value, Meaning::Drop, nullptr},
    {"dependency-drive-prefix", "ddp", Takes::Value, Meaning::Drop, nullptr},
    {"drive-prefix", "dp", Takes::Value, Meaning::Drop, nullptr},
    {"entries", "e", Takes::Value, Meaning::Drop, nullptr},
    {"ftz", "ftz", Takes::Value, Meaning::Drop, nullptr},
    {"prec-div", "prec-div", Takes::Value, Meaning::Drop, nullptr},
    {"prec-sqrt", "prec-sqrt", Takes::Value, Meaning::Drop, nullptr},
    {"fmad", "fmad", Takes::Value, Meaning::Drop, nullptr},
    {"diag-error", "diag-error", Takes::Value, Meaning::Drop, nullptr},
    {"diag-suppress", "diag-suppress", Takes::Value, Meaning::Drop, nullptr},
    {"diag-warn", "diag-warn", Takes::Value, Meaning::Drop, nullptr},
    {"host-linker-script", "hls", Takes::Value, Meaning::Drop, nullptr},
    {"brief-diagnostics", "brief-diag", Takes::Value, Meaning::Drop, nullptr},
    {"jump-table-density", "jtd", Takes::Value, Meaning::Drop, nullptr},
    {"device-stack-protector", "device-stack-protector", Takes::Value, Meaning::Drop, nullptr},
    {"compress-mode", "compress-mode", Takes::Value, Meaning::Drop, nullptr},
    {"frandom-seed", "frandom-seed", Takes::Value, Meaning::Drop, nullptr},
    {"sanitize", "sanitize", Takes::Value, Meaning::Drop, nullptr},
    {"static-global-template-stub", "static-global-template-stub", Takes::Value, Meaning::Drop, nullptr},
    {"device-entity-has-hidden-visibility", "device-entity-has-hidden-visibility", Takes::Value, Meaning::Drop,
     nullptr},
    {"fdevice-time-trace", "fdevice-time-trace", Takes::Value, Meaning::Drop, nullptr},
    {"ftemplate-backtrace-limit", "ftemplate-backtrace-limit", Takes::Value, Meaning::Drop, nullptr},
    {"machine", "m", Takes::Value, Meaning::Drop, nullptr},
    {"qpp-config", "qpp-config", Takes::Value, Meaning::Drop, nullptr},
    {"Werror", "Werror", Takes::ValueUnlessOption, Meaning::Drop, nullptr},
    {"library", "l", Takes::ValueMaybeJoined, Meaning::Drop, nullptr},
    {"library-path", "L", Takes::ValueMaybeJoined, Meaning::Drop, nullptr},
    {"dependency-output", "MF", Takes::Value, Meaning::Drop, nullptr},
    {"dependency-target-name", "MT", Takes::Value, Meaning::Drop, nullptr},
    {"MQ", "MQ", Takes::Value, Meaning::Drop, nullptr},
    {"gpu", "gpu", Takes::Value, Meaning::Drop, nullptr},  // nvc++

    // Dropped alone.
    {"forward-unknown-to-host-compiler", "forward-unknown-to-host-compiler", Takes::Nothing, Meaning::Drop, nullptr},
    {"forward-unknown-to-host-linker", "forward-unknown-to-host-linker", Takes::Nothing, Meaning::Drop, nullptr},
    {"forward-unknown-opts", "forward-unknown-opts", Takes::Nothing, Meaning::Drop, nullptr},
    {"use_fast_math", "use_fast_math", Takes::Nothing, Meaning::Drop, nullptr},
    {"generate-line-info", "lineinfo", Takes::Nothing, Meaning::Drop, nullptr},
    {"device-debug", "G", Takes::Nothing, Meaning::Drop, nullptr},
    {"debug", "g", Takes::Nothing, Meaning::Drop, nullptr},
    {"profile", "pg", Takes::Nothing, Meaning::Drop, nullptr},
    {"dlink-time-opt", "dlto", Takes::Nothing, Meaning::Drop, nullptr},
    {"lto", "lto", Takes::Nothing, Meaning::Drop, nullptr},
    {"gen-opt-lto", "gen-opt-lto", Takes::Nothing, Meaning::Drop, nullptr},
    {"keep", "keep", Takes::Nothing, Meaning::Drop, nullptr},
    {"save-temps", "save-temps", Takes::Nothing, Meaning::Drop, nullptr},
    {"resource-usage", "res-usage", Takes::Nothing, Meaning::Drop, nullptr},
    {"extensible-whole-program", "ewp", Takes::Nothing, Meaning::Drop, nullptr},
    {"no-compress", "no-compress", Takes::Nothing, Meaning::Drop, nullptr},
    {"source-in-ptx", "src-in-ptx", Takes::Nothing, Meaning::Drop, nullptr},
    {"restrict", "restrict", Takes::Nothing, Meaning::Drop, nullptr},
    {"keep-device-functions", "keep-device-functions", Takes::Nothing, Meaning::Drop, nullptr},
    {"extra-device-vectorization", "extra-device-vectorization", Takes::Nothing, Meaning::Drop, nullptr},
    {"Wreorder", "Wreorder", Takes::Nothing, Meaning::Drop, nullptr},
    {"Wdefault-stream-launch", "Wdefault-stream-launch", Takes::Nothing, Meaning::Drop, nullptr},
    {"Wmissing-launch-bounds", "Wmissing-launch-bounds", Takes::Nothing, Meaning::Drop, nullptr},
    {"Wext-lambda-captures-this", "Wext-lambda-captures-this", Takes::Nothing, Meaning::Drop, nullptr},
    {"Wno-deprecated-gpu-targets", "Wno-deprecated-gpu-targets", Takes::Nothing, Meaning::Drop, nullptr},
    {"display-error-number", "err-no", Takes::Nothing, Meaning::Drop, nullptr},
    {"no-display-error-number", "no-err-no", Takes::Nothing, Meaning::Drop, nullptr},
    {"disable-warnings", "w", Takes::Nothing, Meaning::Drop, nullptr},
    {"allow-unsupported-compiler", "allow-unsupported-compiler", Takes::Nothing, Meaning::Drop, nullptr},
    {"objdir-as-tempdir", "objtemp", Takes::Nothing, Meaning::Drop, nullptr},
    {"use-local-env", "use-local-env", Takes::Nothing, Meaning::Drop, nullptr},
    {"force-cl-env-setup", "force-cl-env-setup", Takes::Nothing, Meaning::Drop, nullptr},
    {"dryrun", "dryrun", Takes::Nothing, Meaning::Drop, nullptr},
    {"verbose", "v", Takes::Nothing, Meaning::Drop, nullptr},
    {"clean-targets", "clean", Takes::Nothing, Meaning::Drop, nullptr},
    {"no-device-link", "nodlink", Takes::Nothing, Meaning::Drop, nullptr},
    {"no-host-device-initializer-list", "nohdinitlist", Takes::Nothing, Meaning::Drop, nullptr},
    {"no-host-device-move-forward", "nohdmoveforward", Takes::Nothing, Meaning::Drop, nullptr},
    {"augment-host-linker-script", "aug-hls", Takes::Nothing, Meaning::Drop, nullptr},
    {"host-relocatable-link", "r", Takes::Nothing, Meaning::Drop, nullptr},
    {"relocatable-link", "r", Takes::Nothing, Meaning::Drop, nullptr},
    {"relocatable-ptx", "reloc-ptx", Takes::Nothing, Meaning::Drop, nullptr},
    {"ptx", "ptx", Takes::Nothing, Meaning::Drop, nullptr},
    {"cubin", "cubin", Takes::Nothing, Meaning::Drop, nullptr},
    {"fatbin", "fatbin", Takes::Nothing, Meaning::Drop, nullptr},
    {"cuda", "cuda", Takes::Nothing, Meaning::Drop, nullptr},
    {"optix-ir", "optix-ir", Takes::Nothing, Meaning::Drop, nullptr},
    {"ltoir", "ltoir", Takes::Nothing, Meaning::Drop, nullptr},
    {"compile", "c", Takes::Nothing, Meaning::Drop, nullptr},
    {"device-w", "dw", Takes::Nothing, Meaning::Drop, nullptr},
    {"device-link", "dlink", Takes::Nothing, Meaning::Drop, nullptr},
    {"link", "link", Takes::Nothing, Meaning::Drop, nullptr},
    {"lib", "lib", Takes::Nothing, Meaning::Drop, nullptr},
    {"run", "run", Takes::Nothing, Meaning::Drop, nullptr},
    {"shared", "shared", Takes::Nothing, Meaning::Drop, nullptr},
    {"jobserver", "jobserver", Takes::Nothing, Meaning::Drop, nullptr},
    {"dont-use-profile", "noprof", Takes::Nothing, Meaning::Drop, nullptr},
    {"fdevice-syntax-only", "fdevice-syntax-only", Takes::Nothing, Meaning::Drop, nullptr},
    {"no-align-double", "no-align-double", Takes::Nothing, Meaning::Drop, nullptr},
    {"compile-as-tools-patch", "astoolspatch", Takes::Nothing, Meaning::Drop, nullptr},
    {"preprocess", "E", Takes::Nothing, Meaning::Drop, nullptr},
    {"generate-dependencies", "M", Takes::Nothing, Meaning::Drop, nullptr},
    {"generate-nonsystem-dependencies", "MM", Takes::Nothing, Meaning::Drop, nullptr},
    {"generate-dependencies-with-compile", "MD", Takes::Nothing, Meaning::Drop, nullptr},
    {"generate-nonsystem-dependencies-with-compile", "MMD", Takes::Nothing, Meaning::Drop, nullptr},
    {"generate-dependency-targets", "MP", Takes::Nothing, Meaning::Drop, nullptr},
    {"fcoroutines", "fcoroutines", Takes::Nothing, Meaning::Drop, nullptr},
    {"stdpar", "stdpar", Takes::Nothing, Meaning::Drop, nullptr},  // nvc++
};

bool same_name(std::string_view left, std::string_view right) {
  return std::ranges::equal(left, right, [](char a, char b) { return (a == '_' ? '-' : a) == (b == '_' ? '-' : b); });
}

}  // namespace

const NvccOption* find_nvcc_option(std::string_view name) {
  for (const NvccOption& option : kOptions) {
    if (same_name(name, option.long_name) || same_name(name, option.short_name)) {
      return &option;
    }
  }
  return nullptr;
}

const NvccOption* find_joined_nvcc_option(std::string_view word) {
  for (const NvccOption& option : kOptions) {
    const std::string_view letter = option.short_name;
    if (option.takes == Takes::ValueMaybeJoined && letter.size() == 1 && word.size() > 2 && word[0] == '-' &&
        word[1] == letter[0]) {
      return &option;
    }
  }
  return nullptr;
}

}  // namespace streamsan::analyzer
