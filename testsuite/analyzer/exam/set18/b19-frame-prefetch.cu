// Movie reader for a microscope: frames are prefetched to the device in a few
// slots, the analysis borrows one frame at a time.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#define MOVIE_CHECK(x) movieCheck((x), __LINE__)
static void movieCheck(cudaError_t e, int line) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "movie reader, line %d: %s\n", line, cudaGetErrorString(e));
    std::abort();
  }
}

struct Slot {
  uint16_t* pixels = nullptr;
  cudaEvent_t loaded = nullptr;
};

class FrameLoader;

// A frame on loan; goes back to the loader when the view ends.
class FrameView {
 public:
  FrameView(FrameLoader* loader, Slot* slot, cudaStream_t reader) : loader_(loader), slot_(slot), reader_(reader) {}
  FrameView(FrameView&& o) noexcept : loader_(std::exchange(o.loader_, nullptr)), slot_(o.slot_), reader_(o.reader_) {}
  FrameView& operator=(FrameView&&) = delete;
  ~FrameView();
  const uint16_t* pixels() const { return slot_->pixels; }

 private:
  FrameLoader* loader_;
  Slot* slot_;
  cudaStream_t reader_;
};

class FrameLoader {
 public:
  // `movie` is page-locked memory that outlives the loader.
  FrameLoader(const uint16_t* movie, int frames, size_t pixels, int depth)
      : movie_(movie), frames_(frames), pixels_(pixels), slots_(depth) {
    MOVIE_CHECK(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
    for (Slot& s : slots_) {
      MOVIE_CHECK(cudaMalloc(&s.pixels, pixels_ * sizeof(uint16_t)));
      MOVIE_CHECK(cudaEventCreateWithFlags(&s.loaded, cudaEventDisableTiming));
      idle_.push_back(&s);
    }
  }
  ~FrameLoader() {
    cudaDeviceSynchronize();
    for (Slot& s : slots_) {
      cudaEventDestroy(s.loaded);
      cudaFree(s.pixels);
    }
    cudaStreamDestroy(copy_);
  }
  FrameLoader(const FrameLoader&) = delete;
  FrameLoader& operator=(const FrameLoader&) = delete;

  // The frame may be used by work enqueued on `reader` while the view lives.
  std::optional<FrameView> next(cudaStream_t reader) {
    prefetch();
    if (ready_.empty()) return std::nullopt;
    Slot* s = ready_.front();
    ready_.pop_front();
    MOVIE_CHECK(cudaStreamWaitEvent(reader, s->loaded, 0));
    return FrameView(this, s, reader);
  }

  void takeBack(Slot* s, cudaStream_t reader) {
    idle_.push_back(s);
  }

 private:
  void prefetch() {
    while (!idle_.empty() && upcoming_ < frames_) {
      Slot* s = idle_.front();
      idle_.pop_front();
      MOVIE_CHECK(cudaMemcpyAsync(s->pixels, movie_ + pixels_ * upcoming_++, pixels_ * sizeof(uint16_t),
                                  cudaMemcpyHostToDevice, copy_));
      MOVIE_CHECK(cudaEventRecord(s->loaded, copy_));
      ready_.push_back(s);
    }
  }

  const uint16_t* movie_;
  int frames_, upcoming_ = 0;
  size_t pixels_;
  std::vector<Slot> slots_;
  std::deque<Slot*> idle_, ready_;
  cudaStream_t copy_ = nullptr;
};

FrameView::~FrameView() {
  if (loader_) loader_->takeBack(slot_, reader_);
}

__global__ void addFrame(const uint16_t* frame, unsigned long long* sum, unsigned* peak, size_t n) {
  size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  sum[i] += frame[i];
  peak[i] = max(peak[i], unsigned(frame[i]));
}

// Adds all frames of the movie into zeroed device arrays; blocks until done.
void projectMovie(const uint16_t* movie, int frames, size_t n, unsigned long long* sum, unsigned* peak) {
  cudaStream_t analysis;
  MOVIE_CHECK(cudaStreamCreateWithFlags(&analysis, cudaStreamNonBlocking));
  {
    FrameLoader loader(movie, frames, n, 3);
    while (auto frame = loader.next(analysis)) {
      addFrame<<<unsigned((n + 255) / 256), 256, 0, analysis>>>(frame->pixels(), sum, peak, n);
      MOVIE_CHECK(cudaGetLastError());
    }
    MOVIE_CHECK(cudaStreamSynchronize(analysis));
  }
  MOVIE_CHECK(cudaStreamDestroy(analysis));
}
