// The slots of one runner as types: what is copied into them, and what follows from it.
#pragma once

#include <dlpack/dlpack.h>

#include <ullage/elements.cuh>

namespace ullage {

// One slot: its elements on the device, its number of dimensions, and what else a source may hold.
template <class Element, int kDimensions, class... Accepted>
struct Slot {};

// One way to copy elements. Where the types are equal, the elements are only moved.
template <class ToElement, class FromElement>
struct Form {
  using To = ToElement;
  using From = FromElement;
};

template <class... Forms>
struct FormList {};

template <class T>
constexpr DLDataType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) {
    return {kDLBool, 8, 1};
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    return {kDLBfloat, 16, 1};
  } else {
    constexpr bool is_float = std::is_floating_point_v<T> || is_small_float<T>;
    constexpr auto code = is_float ? kDLFloat : std::is_signed_v<T> ? kDLInt : kDLUInt;
    return {static_cast<std::uint8_t>(code), 8 * sizeof(T), 1};
  }
}

inline bool same(DLDataType one, DLDataType other) {
  return one.code == other.code && one.bits == other.bits && one.lanes == other.lanes;
}

namespace details {

template <class ToElement, class FromElement>
using Reduced =
    std::conditional_t<std::is_same_v<ToElement, FromElement>,
                       Form<Raw<sizeof(ToElement)>, Raw<sizeof(ToElement)>>,
                       Form<ToElement, FromElement>>;

template <class List, class Added>
struct Including;
template <class... Forms, class Added>
struct Including<FormList<Forms...>, Added> {
  using Type = std::conditional_t<(std::is_same_v<Forms, Added> || ...), FormList<Forms...>,
                                  FormList<Forms..., Added>>;
};

template <class List, class... Slots>
struct FormsOf {
  using Type = List;
};
template <class List, class Element, int kDimensions, class... Rest>
struct FormsOf<List, Slot<Element, kDimensions>, Rest...> {
  using Own = typename Including<List, Reduced<Element, Element>>::Type;
  using Type = typename FormsOf<Own, Rest...>::Type;
};
template <class List, class Element, int kDimensions, class First, class... More, class... Rest>
struct FormsOf<List, Slot<Element, kDimensions, First, More...>, Rest...> {
  using With = typename Including<List, Reduced<Element, First>>::Type;
  using Type = typename FormsOf<With, Slot<Element, kDimensions, More...>, Rest...>::Type;
};

template <class AnySlot>
struct DimensionsOf;
template <class Element, int kCount, class... Accepted>
struct DimensionsOf<Slot<Element, kCount, Accepted...>> {
  static constexpr int kValue = kCount;
};

}  // namespace details

// All slots of a runner.
template <class... Slots>
struct Table {
  static constexpr int kSlots = sizeof...(Slots);
  using Forms = typename details::FormsOf<FormList<>, Slots...>::Type;

  static constexpr int dimensions() {
    int most = 1;
    ((most = details::DimensionsOf<Slots>::kValue > most ? details::DimensionsOf<Slots>::kValue
                                                         : most),
     ...);
    return most;
  }
};

// Calls `body` with the form of that number.
template <class Body, class... Forms>
ULLAGE_DEVICE void with_form(FormList<Forms...>, int form, const Body& body) {
  int number = 0;
  (void)((form == number++ ? (body(Forms{}), true) : false) || ...);
}

// The number of the form that copies `from` into `to`; -1 if no slot of the runner needs it.
template <class... Forms>
int number_of_form(FormList<Forms...>, DLDataType to, DLDataType from) {
  int number = 0, found = -1;
  const auto is_it = [&](auto form) {
    using To = typename decltype(form)::To;
    using From = typename decltype(form)::From;
    if constexpr (std::is_same_v<To, From>) {
      return same(to, from) && to.bits == 8 * sizeof(To);
    } else {
      return same(to, dtype_of<To>()) && same(from, dtype_of<From>());
    }
  };
  ((is_it(Forms{}) ? found = number : 0, ++number), ...);
  return found;
}

}  // namespace ullage
