// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/frames.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "judge/signature.h"
#include "report/common/call_name.h"

namespace streamsan::judge {
namespace {

constexpr std::array kLibraries{
    "libcuda.",    "libcudart.",    "libcublas",  "libcudnn", "libcufft",     "libcurand",    "libcusolver",
    "libcusparse", "libcutensor",   "libnccl",    "libnvrtc", "libnvJitLink", "libnvjitlink", "libnpp",
    "libnvjpeg",   "libnvToolsExt", "libnvshmem", "libcupti", "libcufile",    "libcudadevrt", "libstreamsan",
    "libnvidia",   "ld-linux",      "libc.so",    "libc-2",   "libpthread",   "libdl.",       "libstdc++",
    "libgcc_s",    "linux-vdso",    "ld-2"};

/// Of those, what is none of CUDA's.
constexpr std::array kSystem{"libstreamsan", "ld-",       "libc.so",  "libc-2",    "libpthread",
                             "libdl.",       "libstdc++", "libgcc_s", "linux-vdso"};
constexpr std::array kDriverAndRuntime{"libcuda.", "libcudart.", "libnullcudart"};

/// What functions of the static run-time are called that are not exported.
constexpr std::string_view kStaticRuntime = "libcudart_static_";
/// What <<<>>> calls since CUDA 13, as stacks show it, and what a report calls it.
constexpr std::string_view kNewLaunch = "__cudaLaunchKernel", kLaunch = "cudaLaunchKernel";

/// Libraries whose exported names a user knows and calls.
constexpr std::array kNamedPrefixes{"cublas",   "cudnn", "cufft", "curand",  "cusolver", "cusparse",
                                    "cutensor", "nccl",  "npp",   "nvshmem", "nvjpeg"};

bool upper(char c) { return c >= 'A' && c <= 'Z'; }

/// cudaMemcpyAsync, also its per-thread variants cudaMemcpyAsync_ptsz.
bool is_runtime_name(std::string_view name) { return name.size() > 4 && name.starts_with("cuda") && upper(name[4]); }

constexpr std::array kPyTorch{"libtorch", "libc10.", "libc10_", "libcaffe2"};

/// Other frameworks that run under Python, also where they were built by hand.
constexpr std::array kOtherFrameworks{"libjaxlib", "libtensorflow"};

/// Functions of an interpreter that is linked into the program itself.
constexpr std::array kInterpreterPrefixes{"_Py",           "PyObject_", "PyEval_",    "PyRun_",
                                          "PyVectorcall_", "Py_",       "pymain_",    "run_mod",
                                          "run_eval_code", "slot_tp_",  "cfunction_", "method_vectorcall"};

template <std::size_t N>
bool starts_with_one_of(std::string_view name, const std::array<const char*, N>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const char* prefix) { return name.starts_with(prefix); });
}

bool is_of_system(std::string_view module) { return starts_with_one_of(module, kSystem); }

bool is_framework_module(std::string_view path) {
  return is_pytorch_module(path) || starts_with_one_of(base_name(path), kOtherFrameworks);
}

bool is_interpreter(const report::Frame& frame) {
  return is_interpreter_module(frame.module) || starts_with_one_of(frame.function, kInterpreterPrefixes);
}

/// A file below the include folder of a CUDA toolkit (CUB, Thrust, libcu++ and cooperative groups among them), wherever
/// that is installed: /usr/local/cuda-13.0/include, /usr/local/cuda-13.0/targets/x86_64-linux/include,
/// .../site-packages/nvidia/cu13/include, .../conda/targets/x86_64-linux/include.
bool is_toolkit_header(std::string_view file) {
  const auto has = [file](std::string_view part) { return file.find(part) != std::string_view::npos; };
  if (file.ends_with("/cuda_runtime.h")) return true;
  const std::size_t include = file.find("/include/");
  if (include == std::string_view::npos) return false;
  const std::string_view before = file.substr(0, include);
  const std::string_view folder = base_name(before);
  if (folder == "cuda" || folder.starts_with("cuda-")) return true;
  const std::string_view above =
      base_name(before.substr(0, before.size() - std::min(before.size(), folder.size() + 1)));
  return (above == "targets" && folder.ends_with("-linux")) || (above == "nvidia" && has("-packages/nvidia/"));
}

/// Inlined from libc, the C++ library or the toolkit: what the program called, not what it wrote.
bool is_system_header(std::string_view file) {
  return file.starts_with("/usr/include/") || file.find("/include/c++/") != std::string_view::npos ||
         is_toolkit_header(file);
}

/// Code that Python was given as text: `python -c`, or what a program makes and runs itself, as Triton does with the
/// function that launches a kernel, and Python's own data classes.
bool is_text(const report::Frame& frame) { return is_python(frame) && frame.file == "<string>"; }

bool is_in_file_of_program(const report::Frame& frame) {
  return is_python(frame) && !is_text(frame) && !is_python_package(frame.file);
}

/// Of the wheel's own package, which may lie anywhere in PYTHONPATH.
bool is_own_package(std::string_view path) {
  return path.ends_with(".py") && path.find("/streamsan/_") != std::string_view::npos;
}

/// A library frame, and not one only because Python's packages are.
bool is_cudas(const report::Frame& frame) {
  return frame.library && !is_python(frame) && (is_library_module(frame.module) || !is_python_package(frame.module)) &&
         !is_framework_module(frame.module);
}

}  // namespace

bool is_python(const report::Frame& frame) { return frame.language == report::Language::Python; }

bool is_pytorch_module(std::string_view path) { return starts_with_one_of(base_name(path), kPyTorch); }

bool is_library_module(std::string_view path) {
  std::string_view name = base_name(path);
  return std::any_of(kLibraries.begin(), kLibraries.end(),
                     [&](const char* prefix) { return name.starts_with(prefix); });
}

bool is_library_function(std::string_view demangled) {
  std::string_view name = plain_name(demangled);
  return is_runtime_name(name) || name.starts_with("__cuda") || name.starts_with(kStaticRuntime) ||
         name.starts_with("__device_stub__") || name.starts_with("__wrapper__device_stub_") ||
         name.starts_with("streamsan_") || name.starts_with("nvtxMem") || name == "_start" ||
         name == "__libc_start_main" || name == "__libc_start_call_main" || name == "start_thread" || name == "clone" ||
         name == "clone3";
}

std::string file_and_line(const report::Frame& frame) {
  return std::string(base_name(frame.file)) + (frame.line == 0 ? "" : ":" + std::to_string(frame.line));
}

bool is_interpreter_module(std::string_view path) {
  const std::string_view name = base_name(path);
  // "python", "python3", "python3.12", "python3.14t" (without the global lock), "python3.12d" (for debugging), and no
  // script of such a name.
  const std::size_t prefix = std::string_view("python").size();
  const std::size_t suffix = std::min(name.find_first_not_of("0123456789.", prefix), name.size());
  const std::string_view build = name.substr(suffix);
  const bool known_build = build.empty() || (suffix > prefix && (build == "t" || build == "d" || build == "td"));
  return (name.starts_with("python") && known_build) || name.starts_with("libpython") || name.starts_with("libffi") ||
         path.find("/lib-dynload/") != std::string_view::npos;
}

bool is_python_package(std::string_view path) {
  const std::size_t library = path.find("/lib/python3.");
  return is_own_package(path) || path.find("/site-packages/") != std::string_view::npos ||
         path.find("/dist-packages/") != std::string_view::npos || path.starts_with("<frozen ") ||
         path.starts_with("<eval_with_key>") || path.find("/torchinductor_") != std::string_view::npos ||
         (library != std::string_view::npos && path.find('/', library + 5) != std::string_view::npos);
}

void merge_python_frames(std::vector<report::Frame>& stack, std::vector<report::Frame> python) {
  if (python.empty()) return;
  const auto innermost = std::find_if(stack.begin(), stack.end(), is_interpreter);
  const auto end = std::stable_partition(innermost, stack.end(), [](const auto& f) { return !is_interpreter(f); });
  const auto at = innermost - stack.begin();
  stack.erase(end, stack.end());
  stack.insert(stack.begin() + at, std::make_move_iterator(python.begin()), std::make_move_iterator(python.end()));
}

std::string frame_place(const report::Frame& frame) {
  return (frame.forward ? "backward of " : "") + file_and_line(frame);
}

void mark_library_frames(std::vector<report::Frame>& stack, std::string_view kernel) {
  const bool under_python = std::any_of(stack.begin(), stack.end(), is_python);
  const bool in_file = std::any_of(stack.begin(), stack.end(), is_in_file_of_program);
  bool innermost = true;
  bool in_stripped_runtime = false;
  for (report::Frame& frame : stack) {
    // A function of the program's, called cudaGraphsManual, say: the run-time that it calls has no lines.
    const bool has_line = frame.line > 0 && !is_system_header(frame.file);
    const bool named_alike = in_stripped_runtime && has_line && is_runtime_name(plain_name(frame.function));
    in_stripped_runtime |= frame.line == 0 && is_runtime_name(plain_name(frame.function));
    if (is_python(frame)) {
      frame.library = is_python_package(frame.file) || (in_file && is_text(frame));
    } else {
      bool stub = innermost && !kernel.empty() && frame.function == kernel;
      frame.library = stub || is_library_module(frame.module) ||
                      (is_library_function(frame.function) && !named_alike) ||
                      (innermost && is_system_header(frame.file)) || is_toolkit_header(frame.file) ||
                      (under_python && (is_python_package(frame.module) || is_framework_module(frame.module)));
    }
    if (!frame.library) innermost = false;
  }
}

std::string runtime_call(const std::vector<report::Frame>& stack) {
  std::string found;
  for (const report::Frame& frame : stack) {
    if (!is_cudas(frame)) break;
    std::string_view name = plain_name(frame.function);
    if (is_runtime_name(name)) found = name;
    if (found.empty() && name.starts_with(kNewLaunch)) found = kLaunch;
  }
  return std::string(report::without_variant(found));
}

std::string calling_library(const std::vector<report::Frame>& stack) {
  std::string found;
  for (const report::Frame& frame : stack) {
    if (!is_cudas(frame)) break;
    const std::string_view module = base_name(frame.module);
    if (is_library_module(module) && !is_of_system(module) && !starts_with_one_of(module, kDriverAndRuntime))
      found = module;
  }
  return found;
}

bool is_made_by_cuda(const std::vector<report::Frame>& stack) {
  for (const report::Frame& frame : stack) {
    if (!is_cudas(frame)) return false;
    const std::string_view module = base_name(frame.module), name = plain_name(frame.function);
    if ((is_library_module(module) && !is_of_system(module)) || is_runtime_name(name) ||
        name.starts_with(kStaticRuntime))
      return true;
  }
  return false;
}

std::string thread_maker(const std::vector<report::Frame>& stack, const std::string& function) {
  std::string_view found;
  for (const report::Frame& frame : stack) {
    if (frame.forward) break;
    if (is_python(frame)) {
      // The outermost of Python's own that the program called: threads of a pool are made by its submit().
      if (!frame.library) break;
      found = frame.function;
      continue;
    }
    const std::string_view name = report::without_result(frame.function);
    for (const std::string_view maker : {"std::thread", "std::jthread", "std::async"}) {
      // A member of the class, or the function.
      const std::size_t end = maker.size();
      if (name.starts_with(maker) && name.size() > end && (name[end] == ':' || name[end] == '<' || name[end] == '('))
        found = maker;
    }
    if (!frame.library && !name.starts_with("std::")) break;
  }
  if (found.empty()) return function;
  return std::string(found) + (found.starts_with("std::") ? "" : "()");
}

std::string library_call(const std::vector<report::Frame>& stack) {
  std::string found;
  for (const report::Frame& frame : stack) {
    if (!is_cudas(frame)) break;
    std::string_view name = plain_name(frame.function);
    bool known = is_library_module(frame.module) && std::any_of(kNamedPrefixes.begin(), kNamedPrefixes.end(),
                                                                [&](const char* p) { return name.starts_with(p); });
    if (known) found = name;
  }
  return found;
}

std::string library_of_both(const std::vector<report::Frame>& later, const std::vector<report::Frame>& earlier) {
  const std::string library = calling_library(later);
  if (library.empty() || calling_library(earlier) != library) return "";
  const auto users = [](const std::vector<report::Frame>& stack) {
    return std::find_if(stack.begin(), stack.end(), [](const report::Frame& frame) { return !frame.library; });
  };
  const auto one = users(later), other = users(earlier);
  if (one == later.end() && other == earlier.end()) return library;
  // Between two calls of the program's there is room.
  if (one == later.end() || other == earlier.end() || one->address != other->address || one->line != other->line)
    return "";
  const std::string call = library_call(later);
  return (call.empty() ? library : call) + (one->file.empty() ? "" : " (" + file_and_line(*one) + ")");
}

}  // namespace streamsan::judge
