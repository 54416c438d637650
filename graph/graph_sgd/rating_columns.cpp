// SPDX-License-Identifier: Apache-2.0
#include <lull/graph/graph_sgd/rating_columns.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lull {
namespace {

using names = std::initializer_list<std::string_view>;

/// As people name the columns of published ratings; in plain_name's spelling. Where a table has several, the first here
/// is taken: `movieId` before `movie`, which may be a title, and `rating` before `weight`.
std::array<std::vector<std::string_view>, 3> const known_names{
    {names{"userid", "user", "users", "uid", "usr", "customerid", "customer", "reviewerid", "reviewer", "rater", "u"},
     names{"itemid",  "movieid", "filmid", "bookid",     "productid", "artistid", "songid", "trackid",
           "animeid", "gameid",  "jokeid", "businessid", "item",      "items",    "iid",    "asin",
           "isbn",    "movie",   "film",   "book",       "product",   "artist",   "song",   "track",
           "anime",   "game",    "joke",   "business",   "i"},
     names{"rating", "ratings", "userrating", "bookrating", "overall", "stars", "star", "score", "rate", "value",
           "weight", "r"}}};

void find_given(text_dialect const& dialect, std::string const& given, rating_columns& made) {
  auto const parts = divide_names(given);
  if (parts.size() != 3) {
    made.fault = "columns=" + given + " names " + std::to_string(parts.size()) +
                 " columns, but three are needed: of the user, the item and the rating";
    return;
  }
  for (std::size_t part = 0; part < 3; ++part) {
    auto const found = find_column(dialect, parts[part]);
    if (!found) {
      made.fault = no_column(dialect, parts[part]);
      return;
    }
    made.at[part] = *found;
  }
  if (made.at[0] == made.at[1] || made.at[0] == made.at[2] || made.at[1] == made.at[2])
    made.fault = "columns=" + given + " names one column twice";
}

/// Returns whether the header's names tell all three, or are numbers, as pandas gives them.
bool find_named(text_dialect const& dialect, rating_columns& made) {
  std::size_t found = 0;
  std::vector<std::string> plain;
  for (text_column const& each : dialect.columns) plain.push_back(plain_name(each.name));
  for (std::size_t part = 0; part < 3; ++part) {
    for (std::string_view const known : known_names[part]) {
      auto const at = std::find(plain.begin(), plain.end(), known);
      if (at == plain.end()) continue;
      made.at[part] = static_cast<std::size_t>(at - plain.begin());
      ++found;
      break;
    }
  }
  if (found == 3) return true;
  std::vector<std::size_t> others;
  bool numbered = true;
  for (std::size_t column = 0; column < dialect.columns.size(); ++column) {
    text_column const& each = dialect.columns[column];
    if (is_row_number(each)) continue;
    others.push_back(column);
    numbered = numbered && each.name.find_first_not_of("0123456789") == each.name.npos;
  }
  if (found == 0 && others.size() >= 3 && numbered) {
    std::copy_n(others.begin(), 3, made.at.begin());
    return true;
  }
  return false;
}

}  // namespace

rating_columns find_rating_columns(text_dialect const& dialect, std::string const& given) {
  rating_columns made{.at = {0, 1, 2}, .taken = {}, .fault = {}};
  if (!given.empty()) {
    find_given(dialect, given, made);
  } else if (dialect.columns.size() < 3) {
    made.fault = std::to_string(dialect.columns.size()) + (dialect.columns.size() == 1 ? " column" : " columns") +
                 ", but a rating has three: user, item and rating";
  } else if (dialect.header && !find_named(dialect, made)) {
    made.fault =
        "which columns are the user, the item and the rating? The names are " + list_columns(dialect) +
        ": give their three names or numbers, for example \"…,columns='1,2,3'\" (a shell takes the outer quotes)" +
        (dialect.header_is_comment ? ", or header=no if that comment names none" : "");
  }
  if (!made.fault.empty()) return made;
  made.taken = to_string(dialect) + ";";
  for (std::size_t part = 0; part < 3; ++part)
    made.taken +=
        std::string{part == 0 ? " " : ", "} + rating_parts[part] + " is " + column_text(dialect, made.at[part]);
  std::string others;
  for (std::size_t column = 0; column < dialect.columns.size() && column < 64; ++column) {
    if (std::find(made.at.begin(), made.at.end(), column) == made.at.end())
      others += (others.empty() ? "" : ", ") + column_text(dialect, column);
  }
  if (!others.empty()) made.taken += "; not read: " + others;
  bool const index = given.empty() && !dialect.header && dialect.columns.size() > 3 && dialect.columns[0].counts_up;
  if (index) made.taken += "; column 1 counts the rows: if it is no user, give \"…,columns='2,3,4'\"";
  if (!dialect.doubt.empty()) made.taken += "; " + dialect.doubt;
  return made;
}

}  // namespace lull
