// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bodies of conditional nodes: graphs that the driver makes with the node and owns.
//
// No function of the driver gives them back, so they are known only from the call that adds the node. The program fills
// them later, by any of the ways to fill a graph, so what is kept here are the handles, and the image (graph_image.h)
// reads what is in the graphs when they are instantiated. Such a node is never copied: the driver refuses to clone a
// graph that has one, and to add it as a child graph (measured).
//
// The last kMost nodes are kept: an older one that is still instantiated has no accesses then. Nothing tells when a
// node ends; its handle may be that of another node later. So the driver is asked first whether a node is a conditional
// one, and one that is has come by here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

namespace streamsan::recorder {

/// The node was added with these parameters, which the driver has completed.
void keep_bodies(std::uint64_t node, const CUDA_CONDITIONAL_NODE_PARAMS& given);
/// The graphs of a live conditional node; empty: not known.
std::span<const CUgraph> bodies_of(std::uint64_t node);

}  // namespace streamsan::recorder
