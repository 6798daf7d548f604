// Where batches of the host wait until the device has read them.
//
// A ring is two halves of pinned memory, each for several loads. One event says when the device has
// read a half, rather than one for each load: it is recorded once the half is full, and asked about
// when the ring comes back to it. Nothing of a half is written again before: to reuse staging
// memory too early is a bug that engines have had (vllm-project/vllm#25279, #31841).
//
// Only with Python's lock held, which waiting for the device gives up.
#pragma once

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <ullage/pinned.cuh>

namespace ullage {

// How many of the largest loads a half holds: the device reads one of a ring, two wait, and one is
// packed.
constexpr std::size_t kLoads = 2;

// Bytes of the smallest half, so that small batches do not make one ring after another.
constexpr std::size_t kSmallestHalf = 1 << 17;

// Loads begin at lines of the host's cache, so that packing one takes none that the device reads.
constexpr std::size_t kLineBytes = 128;

// Of a half: whenever the stream changes, one covers the loads before.
constexpr int kEvents = 8;

// A replay would read what staging memory holds then, and a capture keeps an event to itself.
inline void require_eager(Stream stream) {
  if (!is_capturing(stream)) return;
  throw std::runtime_error(
      "Sources on the host cannot be loaded while a graph is captured: load the batch before, "
      "or capture with sources on the device.");
}

// Streams that live as long as the process, so that an event may be recorded long after a load.
// Others may be gone by then, and their handles be those of new ones.
class LastingStreams {
 public:
  // `ask`: whether the stream that is current is one. It may run Python.
  explicit LastingStreams(std::function<bool(Stream)> ask) : ask_(std::move(ask)) {}

  bool have(Stream stream) {
    if (std::find(known_.begin(), known_.end(), stream) != known_.end()) return true;
    if (!ask_(stream)) return false;
    known_.push_back(stream);
    return true;
  }

 private:
  std::function<bool(Stream)> ask_;
  std::vector<Stream> known_;
};

// The place of one load: where the host writes it, and where the device reads it.
struct Block {
  char* host;
  const char* device;
};

// Half of a ring: it is filled load by load, and emptied at once.
class Half {
 public:
  explicit Half(std::size_t size) : size_(size), memory_(size) {}
  ~Half() {
    for (int i = 0; i < recorded_; ++i) events_[i].wait_at_the_end();
  }

  bool has_room(std::size_t size) const {
    return used_ + size <= size_ && recorded_ < kEvents;
  }

  Block take(std::size_t size) {
    const std::size_t offset = used_;
    used_ += size;
    return {memory_.host() + offset, memory_.device() + offset};
  }

  void record(Stream stream) {
    events_[recorded_].record(stream);
    ++recorded_;
  }

  // Makes room for other loads. False if the device has not read all of these.
  bool empty() {
    const BesideCaptures relaxed;
    while (recorded_ > 0 && events_[recorded_ - 1].is_reached()) --recorded_;
    if (recorded_ > 0) return false;
    used_ = 0;
    return true;
  }

  // Waits for some of what the device has not read, meanwhile other threads may load.
  void wait() const { events_[recorded_ - 1].wait(); }

 private:
  std::size_t size_, used_ = 0;
  int recorded_ = 0;  // the events that cover the loads, but for those that the ring knows of
  PinnedMemory memory_;
  Event events_[kEvents];
};

// Halves that take turns.
class Ring {
 public:
  // `size`: bytes of a half.
  Ring(int device, std::size_t size, LastingStreams& lasting)
      : device_(device), size_(size), lasting_(lasting) {
    for (auto& half : halves_) half = std::make_unique<Half>(size);
  }
  ~Ring() {
    const BesideCaptures relaxed;
    cover_at_the_end();
    for (auto& half : halves_) half.reset();
  }

  std::size_t size() const { return size_; }

  // A block for a load that the stream is told next, once the device is done with what was there.
  // `size`: in bytes, of whole lines and no more than a half. std::runtime_error if another stream
  // was told of the last load and is captured now.
  Block turn(std::size_t size, Stream stream) {
    const bool is_lasting = lasting_.have(stream);
    for (;;) {
      if (is_open_ && stream != stream_) {
        require_eager(stream_);
        cover();
      }
      if (current().has_room(size)) break;
      if (is_open_) cover();
      Half& next = *halves_[1 - current_];
      if (!next.empty()) {
        next.wait();
        continue;  // other threads may have been here
      }
      current_ = 1 - current_;
    }
    is_open_ = true;
    is_lasting_ = is_lasting;
    stream_ = stream;
    last_size_ = size;
    return current().take(size);
  }

  // To be called once the stream was told of a load, or of some of it.
  void told() {
    if (!is_lasting_ || !current().has_room(last_size_)) cover();
  }

 private:
  Half& current() { return *halves_[current_]; }

  // An event for all loads that have none.
  void cover() {
    current().record(stream_);
    is_open_ = false;
  }

  // The same where nobody is left to hear of errors. Memory that no event can be had for is left
  // to the process, since the device may still read it.
  void cover_at_the_end() {
    if (!is_open_) return;
    try {
      const OnDevice guard(device_);
      require_eager(stream_);
      cover();
    } catch (const std::runtime_error&) {
      static_cast<void>(halves_[current_].release());
    }
  }

  int device_;
  std::size_t size_;
  LastingStreams& lasting_;
  std::unique_ptr<Half> halves_[2];
  int current_ = 0;
  // Of the loads that no event covers: whether there are any, and the stream of all of them.
  bool is_open_ = false, is_lasting_ = false;
  Stream stream_{};
  std::size_t last_size_ = 0;
};

}  // namespace ullage
