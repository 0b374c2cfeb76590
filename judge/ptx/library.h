// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels by name, from the files a process had mapped.
//
// A file is looked through when it is added, if it is a regular file that can be read, once for each path; its texts
// are unpacked one at a time and only the names kept. If a name has several architectures the highest plain one is
// taken (not those for one chip only, "sm_90a"). Two files, or two texts for one architecture, may have different
// kernels of one name (internal linkage, versions of a library): which of them runs cannot be told from the name, so
// then there is none.
//
// Kernels that are compiled at run time (NVRTC, Triton, Numba) are in no file; there is nothing about them here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "judge/ptx/facts.h"
#include "judge/ptx/fatbin.h"
#include "judge/ptx/kernel.h"

namespace streamsan::ptx {

/// A kernel and what its code says whatever the launch.
struct KnownKernel {
  Kernel kernel;
  Facts facts;
};

class Library {
 public:
  /// Announces a file. Missing and unreadable ones are silently not there.
  void add_file(const std::string& path);
  /// A module's text, as if it stood in a file.
  void add_text(std::string_view text);
  /// nullptr: no such kernel, or several. Its facts are not known if its code cannot be read. Valid as long as the
  /// library.
  const KnownKernel* find(const std::string& name);

 private:
  struct Place {
    std::string path;  ///< empty: `body` is here
    PackedText text;
    std::string body;
    std::uint32_t arch = 0;
    bool plain = true;
    std::size_t hash = 0;  ///< of the kernel's own text
    bool ambiguous = false;
  };
  void index(std::string_view text, const std::string& path, const PackedText& packed);
  void look_through(const std::string& path);

  std::set<std::string> announced_;
  std::vector<std::string> waiting_;
  std::map<std::string, Place, std::less<>> places_;
  std::map<std::string, std::unique_ptr<KnownKernel>, std::less<>> kernels_;
};

}  // namespace streamsan::ptx
