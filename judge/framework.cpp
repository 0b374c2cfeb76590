// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/framework.h"

#include <algorithm>
#include <array>

#include "judge/frames.h"

namespace streamsan::judge {
namespace {

using report::Frame;

struct Sign {
  std::string_view text;
  Framework framework;
};

/// Folders of packages, below site-packages or dist-packages.
constexpr std::array kPackages{
    Sign{"torch/", Framework::PyTorch},      Sign{"triton/", Framework::PyTorch},
    Sign{"cupy/", Framework::CuPy},          Sign{"cupyx/", Framework::CuPy},
    Sign{"cupy_backends/", Framework::CuPy}, Sign{"numba/cuda/", Framework::Numba},
    Sign{"numba_cuda/", Framework::Numba},
};

/// Folders of shared objects, wherever they were built.
constexpr std::array kFolders{
    Sign{"/cupy/_core/", Framework::CuPy},
    Sign{"/cupy/cuda/", Framework::CuPy},
    Sign{"/cupy_backends/", Framework::CuPy},
};

/// What programs call on streams and events.
constexpr std::string_view kWaitStream = "wait_stream";
constexpr std::array<std::string_view, 6> kMethods{kWaitStream, "wait_event", "record_event",
                                                   "record",    "wait",       "synchronize"};

template <std::size_t N, typename Holds>
Framework first_of(const std::array<Sign, N>& signs, Holds holds) {
  const auto it = std::find_if(signs.begin(), signs.end(), [&](const Sign& sign) { return holds(sign.text); });
  return it == signs.end() ? Framework::None : it->framework;
}

/// "torch/nn/linear.py" of an installed file; of any other nothing.
std::string_view inside_packages(std::string_view path) {
  constexpr std::string_view kFolder = "-packages/";
  const std::size_t at = path.rfind(kFolder);
  return at == std::string_view::npos ? std::string_view{} : path.substr(at + kFolder.size());
}

Framework of_package(std::string_view path) {
  const std::string_view inside = inside_packages(path);
  return first_of(kPackages, [&](std::string_view text) { return inside.starts_with(text); });
}

Framework of_module(std::string_view path) {
  if (is_pytorch_module(path)) return Framework::PyTorch;
  const Framework folder =
      first_of(kFolders, [&](std::string_view text) { return path.find(text) != std::string_view::npos; });
  return folder != Framework::None ? folder : of_package(path);
}

/// The method of streams or events that the frame is in; of any other nothing.
std::string_view method_of(const Frame& frame) {
  if (!is_python(frame)) return {};
  const std::string_view name = std::string_view(frame.function).substr(frame.function.rfind('.') + 1);
  return std::find(kMethods.begin(), kMethods.end(), name) == kMethods.end() ? std::string_view{} : name;
}

/// The program's own. A module without its folder (a trace may be stripped of them) is nobody's; the launchers that
/// Triton compiles lie in a cache anywhere.
bool is_own(const Frame& frame) {
  if (frame.library) return false;
  if (is_python(frame)) return true;
  return frame.module.find('/') != std::string::npos && !base_name(frame.module).starts_with("__triton_launcher");
}

}  // namespace

Framework framework_of(const Frame& frame) {
  return is_python(frame) ? of_package(frame.file) : of_module(frame.module);
}

Framework submitter(const std::vector<Frame>& stack, std::string_view kernel) {
  const bool under_python = std::any_of(stack.begin(), stack.end(), [](const Frame& frame) {
    return is_python(frame) || base_name(frame.module).starts_with("libtorch_python");
  });
  if (!under_python) return Framework::None;
  if (kernel.starts_with("cupy_")) return Framework::CuPy;
  for (const Frame& frame : stack) {
    if (base_name(frame.module).starts_with("libnccl")) return Framework::None;
    const Framework found = framework_of(frame);
    if (found != Framework::None) return found;
    if (is_own(frame)) break;
  }
  return Framework::None;
}

Framework submitter_of_both(const Submission& a, const Submission& b) {
  if (!a.reachable || !b.reachable) return Framework::None;
  const auto any_will_do = [](const Submission& half, Framework found) {
    return !half.on_stream && found == Framework::None && std::any_of(half.stack.begin(), half.stack.end(), is_python);
  };
  const Framework of_a = submitter(a.stack, a.kernel);
  const Framework of_b = submitter(b.stack, b.kernel);
  if (of_a == of_b || any_will_do(b, of_b)) return of_a;
  return any_will_do(a, of_a) ? of_b : Framework::None;
}

std::string python_place(const std::vector<Frame>& stack) {
  const auto own = [](const Frame& frame) { return is_python(frame) && !frame.library; };
  const auto installed = [](const Frame& frame) {
    return is_python(frame) && !inside_packages(frame.file).empty() && framework_of(frame) == Framework::None;
  };
  auto it = std::find_if(stack.begin(), stack.end(), own);
  if (it == stack.end()) it = std::find_if(stack.begin(), stack.end(), installed);
  if (it == stack.end()) return "";
  return " (" + frame_place(*it) + ")";
}

const char* wait_method(Framework framework) { return framework == Framework::Numba ? "wait" : "wait_event"; }

namespace {

std::string_view method_called(const std::vector<Frame>& stack, std::string_view otherwise) {
  std::string_view found = otherwise;
  for (const Frame& frame : stack) {
    if (is_own(frame) || frame.forward) break;
    if (const std::string_view name = method_of(frame); !name.empty()) found = name;
  }
  return found;
}

}  // namespace

std::string event_method(const std::vector<Frame>& stack, std::string_view otherwise) {
  return std::string(method_called(stack, otherwise)) + "()";
}

bool is_in_wait_stream(const std::vector<Frame>& stack) { return method_called(stack, "") == kWaitStream; }

bool event_in_reach(Framework framework, const std::vector<Frame>& stack) {
  if (framework != Framework::PyTorch) return true;
  bool found = false;
  for (std::size_t i = 0; i + 1 < stack.size() && !is_own(stack[i]) && !stack[i].forward; ++i) {
    if (framework_of(stack[i]) != Framework::PyTorch || method_of(stack[i]).empty()) continue;
    const Frame& caller = stack[i + 1];
    found = is_python(caller) && framework_of(caller) != Framework::PyTorch;
  }
  return found;
}

}  // namespace streamsan::judge
