// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One entry of a compile database, said so that Clang understands it.
//
// Compile databases of CUDA projects hold command lines of nvcc. Clang's driver refuses some of nvcc's options and
// silently misreads others (`-t 0` becomes an input file, `-lineinfo` a library, `-G` eats the next word), and without
// --cuda-host-only the tree that Clang shows is the device's, in which no launch exists. So each command is translated
// before Clang sees it. translate() is pure: what it reads (response files) comes through a function it is given.
//
// The name of the program, launchers such as ccache skipped, says which of four kinds of compilers it is: nvcc, whose
// options are translated one by one from a table (nvcc_options.cpp); clang and hipcc, which only need an option for the
// host's side; and any other, a host compiler of plain C++.
//
// Options that mean nothing to the host's syntax tree are dropped: architectures, optimisation of device code, output,
// linking.
// An option that nvcc does not know is one that nvcc forwards to the host compiler, and stays. The worst that an
// omission here can do is a compile error, and that is reported: a file that does not compile never counts as clean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/tool/response_files.h"

namespace streamsan::analyzer {

enum class Dialect { Nvcc, Clang, Hipcc, Host };
enum class Language { Cxx, Cuda, Hip };

/// As a compile database states it; arguments[0] is the program.
struct Command {
  std::string directory;
  std::string file;
  std::vector<std::string> arguments;
};

struct Translation {
  std::vector<std::string> arguments;  ///< of clang++; without program, source file and all that toolkit.h adds
  std::string compiler;                ///< the program named by the entry, launchers skipped
  Dialect dialect = Dialect::Host;
  Language language = Language::Cxx;
  std::string cuda_path;                   ///< given in the entry; empty: not
  bool no_toolkit = false;                 ///< -nocudainc: the entry brings its own headers
  bool per_thread_default_stream = false;  ///< nvcc's --default-stream per-thread
  std::vector<std::string> dropped;        ///< dropped options, for --driver-log
  std::string error;                       ///< a flag without its value, a response file that cannot be read
};

Translation translate(const Command& command, const ReadFile& read_file);

/// The same for flags written after `--` by a person: in nvcc's words or Clang's, for this source file. `compiler`
/// stays empty.
Translation translate_flags(const Command& command, const ReadFile& read_file);

/// The elements of one of nvcc's comma lists. A comma in double quotes or after a backslash parts nothing; quotes stay.
std::vector<std::string> split_list(std::string_view text);

/// What one of nvcc's options is to Clang.
struct NvccOption {
  enum class Meaning {
    Drop,
    Standard,            ///< -std
    Input,               ///< -x
    ForHostCompiler,     ///< -Xcompiler: words for the host compiler
    List,                ///< a comma list, each element after `clang_name`
    Flag,                ///< `clang_name` itself
    RelocatableDevice,   ///< -rdc true
    RelocatableCompile,  ///< -dc
    DefaultStream,
    OptionsFile,
  };
  const char* long_name;   ///< without dashes
  const char* short_name;  ///< its short name; equal to the long one if there is only one
  enum class Takes { Nothing, Value, ValueMaybeJoined, ValueUnlessOption } takes;
  Meaning meaning;
  const char* clang_name;
};

/// The option named by `word` without its dashes and its `=value`; `_` and `-` are the same to nvcc's users.
const NvccOption* find_nvcc_option(std::string_view name);
/// An option of one letter with its value joined: -DX, -O3, -t4.
const NvccOption* find_joined_nvcc_option(std::string_view word);

}  // namespace streamsan::analyzer
