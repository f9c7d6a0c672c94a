#include "trainer/train_state.h"

#include <set>
#include <type_traits>
#include <utility>

#include "format/vocabulary.h"
#include "gtest/gtest.h"

namespace reprise {
namespace {

// Converts to anything, so that braces full of it count an aggregate's fields.
struct Anything {
  template <typename T>
  operator T() const;
};

template <typename T, typename Indices, typename = void>
struct CanBrace : std::false_type {};
template <typename T, size_t... I>
struct CanBrace<T, std::index_sequence<I...>,
                std::void_t<decltype(T{(static_cast<void>(I), Anything{})...})>>
    : std::true_type {};

template <typename T, size_t N = 0>
constexpr size_t FieldCount() {
  if constexpr (CanBrace<T, std::make_index_sequence<N + 1>>::value) {
    return FieldCount<T, N + 1>();
  } else {
    return N;
  }
}

TEST(TrainState, EveryFieldHasAPlaceInTheInventory) {
  EXPECT_EQ(FieldCount<TrainState>(), kTrainStateInventory.size())
      << "a field was added to TrainState: say in kTrainStateInventory which "
         "items of the checkpoint hold it, then save and restore it";
  for (const TrainStateField& field : kTrainStateInventory) {
    EXPECT_GT(field.items.size(), 0u) << field.field;
    for (Item item : field.items) EXPECT_FALSE(TextOf(item).empty());
  }
}

}  // namespace
}  // namespace reprise
