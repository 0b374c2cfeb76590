// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where things happen: the modules, call stacks and kernels a trace defines, and the sites made of them.
//
// A site is (driver function, kernel, call stack), interned to one small number, so that the model carries four bytes
// for it and equal operations of a loop have equal sites. Their number is bounded by the program's code, not by its
// run. An action of the host itself calls no driver function: such a site has an actor (enum SiteKind), and a function
// of libc if one was called.
//
// Threads are here, too, since a report says where they were created. What is said of a thread last counts for all of
// the run: its name may be given to it after its first calls. Threads beyond the 65,534th have one number, and are not
// distinguished.
//
// Addresses mean nothing outside their process, and inside it they change their meaning when a module is unloaded and
// another one mapped in its place. So a stack remembers how many modules were known when it was defined, and is
// resolved to (module, offset) among those, the youngest first. An address that is in none of them is looked for among
// the modules that came after it, the oldest first: one thread may use a new module while another one is still writing
// its record.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "judge/pointer_roles.h"
#include "ordering/api/row.h"
#include "ordering/flat_map.h"
#include "ordering/hazard.h"
#include "ordering/types.h"
#include "trace/reader.h"

namespace streamsan::judge {

inline constexpr std::uint32_t kNoModule = 0xffffffff;

struct Module {
  std::string path;
  std::uint64_t bias = 0;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::string build_id;  ///< raw bytes; empty: it had none
};

/// A frame before symbolisation.
struct RawFrame {
  std::uint64_t address = 0;
  std::uint32_t module = kNoModule;
  std::uint64_t offset = 0;  ///< relative to the module's load bias
};

/// A place in the program's Python.
struct PythonFrame {
  std::string function;
  std::string file;
  std::uint32_t line = 0;  ///< 0: not known
};

struct Kernel {
  std::uint64_t trace_id = 0;  ///< function id in the trace
  std::string mangled;
  std::string demangled;
  PointerRoles roles;
};

/// What is known of a host thread.
struct HostThread {
  bool first = false;          ///< the process began with it
  std::string name;            ///< of its own; empty: it has none
  ordering::SiteId created{};  ///< where; kNoSite: not known
};

/// The actor at a site.
enum class SiteKind : std::uint8_t {
  Driver,       ///< a call of the driver
  Instruction,  ///< an instruction of the host
  Function,     ///< a function of libc
  Unseen,       ///< the host, at a time that was not seen: the bytes are others than before
  Return,       ///< the return of a function, which ends the life of its variables
  Pool,         ///< a pool of the program
  Thread,       ///< the creation of a host thread, by a function of libc
};

struct Site {
  std::uint16_t api = 0;     ///< SiteKind::Driver
  std::uint32_t kernel = 0;  ///< index, see Places::kernel()
  std::uint32_t stack = 0;
  SiteKind kind = SiteKind::Driver;
  std::uint16_t function = 0;  ///< SiteKind::Function, Thread: index of its name
};

class Places {
 public:
  static constexpr std::size_t kMostArrays = std::size_t{1} << 20;

  Places();

  void add_module(const trace::Item& item);
  void add_stack(const trace::Item& item);
  void add_python_frame(const trace::Item& item);
  void add_kernel(const trace::Item& item);
  void add_host_thread(const trace::Item& item);
  /// A driver function of the trace that the table does not have, under the number that records have for it.
  void add_foreign(std::uint16_t api, std::string_view symbol);

  /// Index of the kernel with the trace's function id; 0: not known.
  [[nodiscard]] std::uint32_t kernel_index(std::uint64_t function_id) const;
  [[nodiscard]] const Kernel& kernel(std::uint32_t index) const { return kernels_[index]; }

  ordering::SiteId site(std::uint16_t api, std::uint32_t kernel, std::uint32_t stack);
  /// A site where no driver function was called. `function`: its name, for SiteKind::Function and Thread.
  ordering::SiteId site_outside(SiteKind kind, std::string_view function, std::uint32_t stack);
  [[nodiscard]] const Site& at(ordering::SiteId site) const;
  /// The row of the call; an empty row if there was no call.
  [[nodiscard]] const api::Row& row(ordering::SiteId site) const;
  /// The table's row of the function, or one with nothing but its names; of an absurd number the table's first.
  [[nodiscard]] const api::Row& row_of(std::uint16_t api) const;
  /// The function of libc that was called; else empty.
  [[nodiscard]] const std::string& function_of(ordering::SiteId site) const { return functions_[at(site).function]; }
  [[nodiscard]] const Kernel& kernel_of(ordering::SiteId site) const { return kernels_[at(site).kernel]; }

  [[nodiscard]] std::vector<RawFrame> frames(ordering::SiteId site) const;
  /// The Python half of the stack, innermost first; the pointers hold until the next is added.
  [[nodiscard]] std::vector<const PythonFrame*> python_frames(ordering::SiteId site) const;
  /// Of a call in a backward pass of PyTorch's, the same of the forward operation; else empty.
  [[nodiscard]] std::vector<const PythonFrame*> forward_frames(ordering::SiteId site) const;
  [[nodiscard]] const HostThread& host_thread(ordering::ThreadId thread) const;
  /// A record of trace::Kind::ArraySizes. Past kMostArrays an array is reported without its sizes.
  void add_array(const trace::Record& record);
  /// "an array of 256 x 256 x 4 bytes", for the one that the trace has at this address.
  [[nodiscard]] std::string array_words(ordering::Address address) const;
  /// The one added last.
  [[nodiscard]] const Module& newest_module() const { return modules_.back(); }
  [[nodiscard]] const Module& module(std::uint32_t index) const { return modules_[index]; }
  [[nodiscard]] const std::vector<Module>& modules() const { return modules_; }

 private:
  struct Stack {
    std::uint64_t first = 0;  ///< in addresses_
    std::uint32_t count = 0;
    std::uint32_t python = 0;   ///< ids of Python frames, behind the addresses
    std::uint32_t modules = 0;  ///< known when it was defined
    std::uint64_t forward = 0;  ///< id of the stack of the forward operation; 0: none
  };

  struct Foreign {
    std::string symbol;
    api::Row row;  ///< with views of the symbol
  };

  [[nodiscard]] std::vector<const PythonFrame*> python_frames(const Stack* stack) const;

  std::vector<Module> modules_;
  ordering::FlatMap<trace::Words<trace::Kind::ArraySizes>> arrays_;  ///< by address, of which none is used twice
  std::unordered_map<std::uint16_t, Foreign> foreign_;  ///< by the number in records; rows stay where they are
  std::vector<std::uint64_t> addresses_;
  ordering::FlatMap<Stack> stacks_;
  std::vector<PythonFrame> python_;
  ordering::FlatMap<std::uint32_t> python_by_id_;  ///< index plus one
  std::vector<Kernel> kernels_;
  ordering::FlatMap<std::uint32_t> kernel_by_id_;
  std::unordered_map<std::uint16_t, HostThread> host_threads_;  ///< by the number in records
  std::vector<std::string> functions_;                          ///< of libc; few, the first one is empty
  std::vector<Site> sites_;
  ordering::FlatMap<std::uint32_t> site_by_key_;
};

}  // namespace streamsan::judge
