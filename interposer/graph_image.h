// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs: what stands in one is read back from the driver when it is instantiated, and written to the trace as an
// image.
//
// A graph can be made in many ways (captured, node by node, as a clone, from child graphs, by a library that this one
// does not know), and be edited until it is instantiated. So the recorder does not follow how it is made: it asks the
// driver for the nodes, their parameters and the edges when the executable graph is made or updated as a whole, and
// describes a node as it describes the same call in a stream. What one call changes of an executable graph (the
// cuGraphExec*NodeSetParams functions) cannot be asked for, and is read from the arguments of the call.
//
// What the driver cannot tell is where the program made a node. So each call that makes one says so (NodeMade): those
// that add a node have its handle; after a captured call it is the only node that the stream's next one would come
// after.
//
// The bodies of a conditional node are graphs of their own, with what they are when the whole is instantiated
// (graph_bodies.h).
//
// HOST MEMORY. A launch lends what its nodes use of the host's memory, as other calls do (host/loans.h). It must not
// read the graph again for that, so a list of those ranges is kept for each executable graph that has any.
//
// No lock is held and no memory of the program's heap is used; arrays of handles are mapped and unmapped. A graph with
// more than kMostGraphNodes nodes, or one that the driver does not let us read, has no image: its launches keep their
// order and have no accesses.
#pragma once

#include <cstddef>
#include <cstdint>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "interposer/streams.h"

namespace streamsan::recorder {

inline constexpr std::size_t kMostGraphNodes = std::size_t{1} << 20;

/// Writes the image of the graph, which `exec` was made of or updated by, and returns its number; 0: it has none.
/// `fresh`: the handle has a new life.
std::uint64_t write_graph_image(std::uint64_t graph, std::uint64_t exec, bool fresh);

/// Each adds the new parameters that a call sets on a node of an executable graph, and returns the number of an image.
/// The image has that node and, if it is a child graph, the nodes in it; 0: there is no room.
std::uint64_t write_node_image(std::uint64_t exec, std::uint64_t node, const CUDA_KERNEL_NODE_PARAMS_v1* kernel);
std::uint64_t write_node_image(std::uint64_t exec, std::uint64_t node, const CUDA_KERNEL_NODE_PARAMS_v2* kernel);
std::uint64_t write_node_image(std::uint64_t exec, std::uint64_t node, const CUDA_MEMCPY3D* copy);
std::uint64_t write_node_image(std::uint64_t exec, std::uint64_t node, const CUDA_MEMSET_NODE_PARAMS* fill);
std::uint64_t write_node_image(std::uint64_t exec, std::uint64_t node, const CUDA_HOST_NODE_PARAMS* host);
std::uint64_t write_node_image(std::uint64_t exec, std::uint64_t node, const CUDA_BATCH_MEM_OP_NODE_PARAMS* operations);
std::uint64_t write_node_image(std::uint64_t exec, std::uint64_t node, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS* signal);
std::uint64_t write_node_image(std::uint64_t exec, std::uint64_t node, const CUDA_EXT_SEM_WAIT_NODE_PARAMS* wait);
std::uint64_t write_node_image(std::uint64_t exec, std::uint64_t node, CUgraph child);
std::uint64_t write_node_image(std::uint64_t exec, std::uint64_t node, CUevent event);
std::uint64_t write_node_image(std::uint64_t exec, std::uint64_t node, const CUgraphNodeParams* any);
std::uint64_t write_node_image(std::uint64_t exec, std::uint64_t node, unsigned enabled);

/// The call has made this node: added it, or it was captured. `stack`: the call's.
void note_node(std::uint64_t node, std::uint16_t api, std::uint32_t stack);
/// The nodes of `copy` were made where those of `original` were. Both are graphs.
void note_copies(std::uint64_t original, std::uint64_t copy);
/// The same of the graph in a node that is a child graph.
void note_child(std::uint64_t original, std::uint64_t node);
/// The call was made in the stream. If that is being captured, says which node the call has made.
void note_captured(StreamArgument stream, std::uint16_t api, const void* frame);

/// The executable graph was launched: lends what its nodes use of the host's memory. `position`: of the record.
void lend_to_graph(std::uint64_t exec, StreamArgument stream, std::uint64_t position);

}  // namespace streamsan::recorder
