// Asynchronous file-to-device loader of the video editor. Page-locked slots come home by a host callback behind the copy
// that reads them; any number of threads may load at the same time.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace media {

inline void good(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

// A bounded set of page-locked slots.
class SlotShelf {
 public:
  SlotShelf(size_t slot_bytes, int count) : bytes_(slot_bytes) {
    for (int i = 0; i < count; ++i) {
      void* p = nullptr;
      good(cudaMallocHost(&p, slot_bytes));
      all_.push_back(p);
    }
    home_ = all_;
  }

  // Every slot must be home before the memory goes.
  ~SlotShelf() {
    std::unique_lock<std::mutex> lock(mutex_);
    returned_.wait(lock, [this] { return home_.size() == all_.size(); });
    for (void* p : all_) cudaFreeHost(p);
  }
  SlotShelf(const SlotShelf&) = delete;
  SlotShelf& operator=(const SlotShelf&) = delete;

  size_t slot_bytes() const { return bytes_; }

  void* take() {
    std::unique_lock<std::mutex> lock(mutex_);
    returned_.wait(lock, [this] { return !home_.empty(); });
    void* p = home_.back();
    home_.pop_back();
    return p;
  }

  void bring_back(void* p) {
    std::lock_guard<std::mutex> lock(mutex_);
    home_.push_back(p);
    returned_.notify_all();
  }

  // Brings `p` back when `stream` has done everything that is enqueued now.
  void bring_back_after(void* p, cudaStream_t stream) {
    auto note = std::make_unique<Note>(Note{this, p});
    good(cudaLaunchHostFunc(stream, &SlotShelf::on_done, note.get()));
    note.release();
  }

 private:
  struct Note {
    SlotShelf* shelf;
    void* slot;
  };

  static void CUDART_CB on_done(void* user) {
    std::unique_ptr<Note> note(static_cast<Note*>(user));
    note->shelf->bring_back(note->slot);
  }

  size_t bytes_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<void*> all_;
  std::vector<void*> home_;
};

struct Clip {
  char* data = nullptr;
  size_t bytes = 0;
};

class Loader {
 public:
  explicit Loader(SlotShelf& shelf) : shelf_(shelf) {
    good(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~Loader() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Loads a file; the future is set by the callback behind the last copy.
  std::future<Clip> load(const std::string& path) {
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
    if (!file) throw std::runtime_error("cannot open " + path);
    std::fseek(file.get(), 0, SEEK_END);
    auto job = std::make_unique<Job>();
    job->clip.bytes = static_cast<size_t>(std::ftell(file.get()));
    std::rewind(file.get());
    good(cudaMallocAsync(reinterpret_cast<void**>(&job->clip.data), job->clip.bytes, stream_));
    size_t at = 0;
    while (at < job->clip.bytes) {
      void* slot = shelf_.take();
      size_t got = std::fread(slot, 1, shelf_.slot_bytes(), file.get());
      if (got == 0) {
        shelf_.bring_back(slot);
        break;
      }
      good(cudaMemcpyAsync(job->clip.data + at, slot, got, cudaMemcpyHostToDevice, stream_));
      shelf_.bring_back_after(slot, stream_);
      at += got;
    }
    std::future<Clip> result = job->promise.get_future();
    good(cudaLaunchHostFunc(stream_, &Loader::on_loaded, job.get()));
    job.release();
    return result;
  }

  void unload(Clip clip, cudaStream_t last_user) {
    cudaEvent_t used = nullptr;
    good(cudaEventCreateWithFlags(&used, cudaEventDisableTiming));
    good(cudaEventRecord(used, last_user));
    good(cudaStreamWaitEvent(stream_, used, 0));
    good(cudaEventDestroy(used));
    good(cudaFreeAsync(clip.data, stream_));
  }

 private:
  struct Job {
    Clip clip;
    std::promise<Clip> promise;
  };

  static void CUDART_CB on_loaded(void* user) {
    std::unique_ptr<Job> job(static_cast<Job*>(user));
    job->promise.set_value(job->clip);
  }

  SlotShelf& shelf_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace media
