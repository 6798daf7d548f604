// How slots are loaded by every batch that has the same sources, whatever its shape.
#pragma once

#include <memory>
#include <stdexcept>
#include <vector>

#include <ullage/plan.cuh>

namespace ullage {

// An element of `bytes` bytes again and again.
inline std::uint64_t repeated(std::uint64_t element, int bytes) {
  if (bytes == 8) return element;
  const std::uint64_t one = element & ((std::uint64_t{1} << 8 * bytes) - 1);
  return one * (~std::uint64_t{0} / ((std::uint64_t{1} << 8 * bytes) - 1));
}

// What is done with a slot, as bits of one number.
enum Treatment : std::int64_t {
  kSourced = 1,   // a source is copied into its live part
  kFilled = 2,    // its other rows are filled
  kVarying = 4,   // the fill is another one for each shape
  kNumber = 8,    // the fill is all that it holds
  kStaged = 16,   // the source is on the host, and the slot is not
};

// A slot at its capacity. A shape is a list of numbers, in which the slot's live extents begin at
// `first`, followed by its padded ones; `fill` is an element, or where it stands among them.
class RecipeSlot {
 public:
  RecipeSlot(const DLTensor& storage, const DLTensor* source, std::int64_t first,
             std::int64_t treatment, std::int64_t fill)
      : storage_(storage),
        capacity_(storage.shape, storage.shape + storage.ndim),
        strides_(storage.strides, storage.strides + storage.ndim),
        first_(static_cast<std::size_t>(first)),
        treatment_(treatment),
        fill_(fill) {
    if (source != nullptr) like_ = *source;
  }

  bool is_sourced() const { return treatment_ & kSourced; }

  // std::invalid_argument unless live extents are within padded ones, and those in the slot.
  void require_fit(const std::vector<std::int64_t>& numbers) const {
    const std::size_t count = capacity_.size();
    bool fits = first_ + 2 * count <= numbers.size();
    for (std::size_t i = 0; fits && i < count; ++i) {
      const std::int64_t live = numbers[first_ + i], padded = numbers[first_ + count + i];
      fits = 0 <= live && live <= padded && padded <= capacity_[i];
    }
    if (!fits) throw std::invalid_argument("a shape does not fit a slot");
  }

  // Whether a source has the type and the place that the first one had, and the live shape.
  bool takes(const DLTensor& source, const std::vector<std::int64_t>& numbers) const {
    if (source.ndim != storage_.ndim || !same(source.dtype, like_.dtype)) return false;
    if (source.device.device_type != like_.device.device_type) return false;
    if (source.device.device_id != like_.device.device_id) return false;
    return std::equal(source.shape, source.shape + source.ndim, numbers.data() + first_);
  }

  // Adds the load of one shape to a plan; `source` may be missing.
  template <class Plan>
  void add_to(Plan& plan, const DLTensor* source, std::vector<std::int64_t>& numbers) const {
    const int count = storage_.ndim;
    std::int64_t* const live = numbers.data() + first_;
    DLTensor view = storage_;
    view.shape = live + count;
    view.strides = const_cast<std::int64_t*>(strides_.data());
    const std::int64_t fill = treatment_ & kVarying ? numbers.at(fill_) : fill_;
    plan.add({&view, source, treatment_ & kNumber ? nullptr : live, (treatment_ & kFilled) != 0,
              repeated(static_cast<std::uint64_t>(fill), bytes_of(storage_.dtype)),
              (treatment_ & kStaged) != 0});
  }

 private:
  DLTensor storage_;  // whose extents are the two below
  std::vector<std::int64_t> capacity_, strides_;
  std::size_t first_;
  std::int64_t treatment_, fill_;
  DLTensor like_{};
};

template <class Table>
class Recipe {
 public:
  // `stage`: where sources on the host wait.
  Recipe(const Place& place, Stage& stage) : place_(place), stage_(stage) {}

  void add(const RecipeSlot& slot) {
    slots_.push_back(slot);
    sources_ += slot.is_sourced();
  }

  // How many sources a load brings.
  std::size_t sources() const { return sources_; }

  // A plan with room for the slots.
  Plan<Table> plan() const { return Plan<Table>(place_, slots_.size()); }

  // Adds the loads of one shape. False, with a plan of no use, if a source is not like the first one
  // was, or not of that shape.
  bool add_to(Plan<Table>& plan, const std::vector<DLTensor>& sources,
              std::vector<std::int64_t>& numbers) const {
    std::size_t taken = 0;
    for (const RecipeSlot& slot : slots_) {
      const DLTensor* source = slot.is_sourced() ? &sources[taken++] : nullptr;
      slot.require_fit(numbers);
      if (source != nullptr && !slot.takes(*source, numbers)) return false;
      slot.add_to(plan, source, numbers);
    }
    plan.wait_in(stage_);
    return true;
  }

 private:
  const Place& place_;
  Stage& stage_;
  std::vector<RecipeSlot> slots_;
  std::size_t sources_ = 0;
};

}  // namespace ullage
