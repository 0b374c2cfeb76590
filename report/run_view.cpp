// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Switches have no default, so that the compiler asks for the word of a new case.
#include "report/run_view.h"

namespace streamsan::report {

const char* name(OpClass kind) {
  switch (kind) {
    case OpClass::Kernel:
      return "kernel";
    case OpClass::Copy:
      return "copy";
    case OpClass::Fill:
      return "fill";
    case OpClass::Alloc:
      return "alloc";
    case OpClass::Free:
      return "free";
    case OpClass::Event:
      return "event";
    case OpClass::Wait:
      return "wait";
    case OpClass::Sync:
      return "sync";
    case OpClass::Graph:
      return "graph";
    case OpClass::HostFunction:
      return "host-function";
    case OpClass::HostAccess:
      return "host-access";
    case OpClass::Other:
      return "other";
  }
  return "other";
}

const char* name(EdgeKind kind) {
  switch (kind) {
    case EdgeKind::Event:
      return "event";
    case EdgeKind::Sync:
      return "sync";
    case EdgeKind::Barrier:
      return "barrier";
  }
  return "event";
}

}  // namespace streamsan::report
