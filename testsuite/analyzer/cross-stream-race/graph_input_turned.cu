// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A graph works on the buffer that was named when it was captured. To fill another one while it runs is right, by whatever
// name that one is called then; to fill the same one is not.
#include <cuda_runtime.h>

__global__ void detect(const float* frame, float* boxes) { boxes[threadIdx.x] = frame[threadIdx.x] * 2.0f; }

// The element of the class that `next_` says.
class Camera {
 public:
  Camera() {
    for (float*& frame : frames_) cudaMalloc(&frame, 1024);
    cudaMalloc(&boxes_, 1024);
    cudaStreamCreateWithFlags(&detection_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&upload_, cudaStreamNonBlocking);
    next_ = 0;
    cudaGraph_t graph;
    cudaStreamBeginCapture(detection_, cudaStreamCaptureModeThreadLocal);
    detect<<<1, 256, 0, detection_>>>(frames_[next_], boxes_);
    cudaStreamEndCapture(detection_, &graph);
    cudaGraphInstantiate(&exec_, graph, 0);
    cudaGraphDestroy(graph);
#ifdef FIXED
    next_ = 1;
#endif
  }
  Camera(const Camera&) = delete;

  void receive(const float* pinned) {
    cudaMemcpyAsync(frames_[next_], pinned, 1024, cudaMemcpyHostToDevice, upload_);
    cudaGraphLaunch(exec_, detection_);  // FIRES: cross-stream-race
    cudaStreamSynchronize(upload_);
    cudaStreamSynchronize(detection_);
  }

 private:
  float* frames_[2];
  float* boxes_;
  int next_;
  cudaStream_t detection_, upload_;
  cudaGraphExec_t exec_;
};

void film(const float* pinned) {
  Camera camera;
  camera.receive(pinned);
}

struct Lane {
  cudaStream_t compute, io;
  Lane() {
    cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&io, cudaStreamNonBlocking);
  }
};

// A part of one buffer, at an offset that moves on.
void in_slots(float* ring, float* boxes, const float* pinned, int slot_size) {
  Lane lane;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  int slot = 0;
  cudaStreamBeginCapture(lane.compute, cudaStreamCaptureModeGlobal);
  detect<<<1, 256, 0, lane.compute>>>(ring + slot * slot_size, boxes);
  cudaStreamEndCapture(lane.compute, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  slot = 1;
  cudaMemcpyAsync(ring + slot * slot_size, pinned, slot_size * sizeof(float), cudaMemcpyHostToDevice, lane.io);
  cudaGraphLaunch(exec, lane.compute);
  cudaDeviceSynchronize();
}

// Other code exchanges the buffers, which it can name.
float *front, *back, *all_boxes;
void exchange_buffers();

void exchanged(const float* pinned) {
  Lane lane;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(lane.compute, cudaStreamCaptureModeGlobal);
  detect<<<1, 256, 0, lane.compute>>>(front, all_boxes);
  cudaStreamEndCapture(lane.compute, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
#ifdef FIXED
  exchange_buffers();
#endif
  cudaMemcpyAsync(front, pinned, 1024, cudaMemcpyHostToDevice, lane.io);
  cudaGraphLaunch(exec, lane.compute);  // FIRES: cross-stream-race
  cudaDeviceSynchronize();
}

// The place is written by another name of it.
struct View {
  float* frame;
  float* boxes;
};

void by_pointer(View* view, View* same_view, float** frame, float* spare, const float* pinned) {
  Lane lane;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(lane.compute, cudaStreamCaptureModeGlobal);
  detect<<<1, 256, 0, lane.compute>>>(view->frame, view->boxes);
  cudaStreamEndCapture(lane.compute, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  same_view->frame = spare;
  *frame = spare;
  cudaMemcpyAsync(view->frame, pinned, 1024, cudaMemcpyHostToDevice, lane.io);
  cudaGraphLaunch(exec, lane.compute);
  cudaDeviceSynchronize();
}

void by_second_name(float** current, float* spare, float* boxes, const float* pinned) {
  Lane lane;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  float** named_again = current;
  cudaStreamBeginCapture(lane.compute, cudaStreamCaptureModeGlobal);
  detect<<<1, 256, 0, lane.compute>>>(*current, boxes);
  cudaStreamEndCapture(lane.compute, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  *named_again = spare;
  cudaMemcpyAsync(*current, pinned, 1024, cudaMemcpyHostToDevice, lane.io);
  cudaGraphLaunch(exec, lane.compute);
  cudaDeviceSynchronize();
}

// Turned while it is captured: the second kernel reads the other buffer, the first one the one that is filled.
void turned_within(float* a, float* b, float* boxes, const float* pinned) {
  Lane lane;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  float* frame = a;
  cudaStreamBeginCapture(lane.compute, cudaStreamCaptureModeGlobal);
  detect<<<1, 256, 0, lane.compute>>>(frame, boxes);
  frame = b;
  cudaStreamEndCapture(lane.compute, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaMemcpyAsync(frame, pinned, 1024, cudaMemcpyHostToDevice, lane.io);
  cudaGraphLaunch(exec, lane.compute);
  cudaDeviceSynchronize();
}
