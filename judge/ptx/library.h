// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels by name, from the files a process had mapped.
//
// WHICH CODE IS MEANT. A trace knows a kernel by its name, and one name may stand for several kernels: internal
// linkage, versions of one library, the architectures of one container (fatbin.h). So a kernel is known only if each
// file whose host code names it has its text in a container that proves something, and all of those texts are the same.
// Not noticed: a module that the program loads by itself, with a kernel that has the name of one in a file. Kernels
// that are compiled at run time (NVRTC, Triton, Numba) are in no file; there is nothing about them here.
//
// COST. The headers of a file's containers are read at the first look-up of any kernel. Its texts are read once, when
// the file names a kernel that is looked up, and only the names of their kernels are kept. The text unpacked last stays
// in memory, because kernels that are launched together are often in one text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "judge/ptx/facts.h"
#include "judge/ptx/fatbin.h"
#include "judge/ptx/host_names.h"
#include "judge/ptx/kernel.h"
#include "judge/ptx/slice.h"

namespace streamsan::ptx {

/// A kernel and what its code says whatever the launch.
struct KnownKernel {
  Kernel kernel;
  Facts facts;
  std::optional<Slice> slice;  ///< nothing: it was not understood
};

class Library {
 public:
  /// Announces a file. Missing and unreadable ones are silently not there. `recorded` is false for a file that is not
  /// known to be what the process had mapped: it proves nothing, and spoils the names that it has.
  void add_file(const std::string& path, bool recorded = true);
  /// A module's text, as if it stood in a file.
  void add_text(std::string_view text);
  /// nullptr: no such kernel, or several. Its facts are not known if its code cannot be read. Valid as long as the
  /// library.
  const KnownKernel* find(const std::string& name);

 private:
  struct Place {
    Packed text;
    std::string body;      ///< where there is no file
    std::size_t hash = 0;  ///< of the kernel's own text
    bool linked = false;   ///< its machine code is in another container
    bool ambiguous = false;
  };
  using Places = std::map<std::string, Place, std::less<>>;
  struct File {
    std::string path;
    std::vector<Container> containers;
    HostNames names;
    bool proves = false;  ///< one of its containers does
    bool indexed = false;
    Places places;
  };
  static void add(Places& places, const std::string& name, Place place);
  void index(const Input& input, File& file);
  bool place_in(File& file, const std::string& name, const Place*& place);
  std::string text_of(const File& file, const Place& place);

  std::map<std::string, bool> announced_;  ///< path -> was always recorded
  std::vector<std::string> waiting_;
  std::vector<std::unique_ptr<File>> files_;
  File texts_;  ///< those of add_text()
  std::map<std::pair<std::string, std::size_t>, std::unique_ptr<KnownKernel>> kernels_;
  std::uint64_t unpacked_bytes_ = 0;  ///< of all files that are indexed
  std::pair<const File*, Packed> unpacked_;
  std::string unpacked_text_;
};

}  // namespace streamsan::ptx
