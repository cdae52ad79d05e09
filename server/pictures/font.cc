#include "server/pictures/font.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace murmurate {
namespace {

constexpr struct {
  char letter;
  const char* squares;
} kLetters[] = {
    {'0', " ### #   ##  ### # ###  ##   # ### "}, {'1', "  #   ##    #    #    #    #   ### "},
    {'2', " ### #   #    #   #   #   #   #####"}, {'3', "#####   #   #     #     ##   # ### "},
    {'4', "   #   ##  # # #  # #####   #    # "}, {'5', "######    ####     #    ##   # ### "},
    {'6', "  ##  #   #    #### #   ##   # ### "}, {'7', "#####    #   #   #   #    #    #   "},
    {'8', " ### #   ##   # ### #   ##   # ### "}, {'9', " ### #   ##   # ####    #   #  ##  "},
    {'A', " ### #   ##   #######   ##   ##   #"}, {'B', "#### #   ##   ##### #   ##   ##### "},
    {'C', " ### #   ##    #    #    #   # ### "}, {'D', "#### #   ##   ##   ##   ##   ##### "},
    {'E', "######    #    #### #    #    #####"}, {'F', "######    #    #### #    #    #    "},
    {'G', " ### #   ##    # ####   ##   # ####"}, {'H', "#   ##   ##   #######   ##   ##   #"},
    {'I', " ###   #    #    #    #    #   ### "}, {'J', "  ###   #    #    #    # #  #  ##  "},
    {'K', "#   ##  # # #  ##   # #  #  # #   #"}, {'L', "#    #    #    #    #    #    #####"},
    {'M', "#   ### ### # ## # ##   ##   ##   #"}, {'N', "#   ###  ## # ##  ###   ##   ##   #"},
    {'O', " ### #   ##   ##   ##   ##   # ### "}, {'P', "#### #   ##   ##### #    #    #    "},
    {'Q', " ### #   ##   ##   ## # ##  #  ## #"}, {'R', "#### #   ##   ##### # #  #  # #   #"},
    {'S', " #####    #     ###     #    ##### "}, {'T', "#####  #    #    #    #    #    #  "},
    {'U', "#   ##   ##   ##   ##   ##   # ### "}, {'V', "#   ##   ##   ##   ##   # # #   #  "},
    {'W', "#   ##   ##   ## # ## # ### ###   #"}, {'X', "#   ##   # # #   #   # # #   ##   #"},
    {'Y', "#   ##   # # #   #    #    #    #  "}, {'Z', "#####    #   #   #   #   #    #####"},
    {'.', "                          ##   ##  "}, {',', "                     ##    #   #   "},
    {'-', "               #####               "}, {'+', "       #    #  #####  #    #       "},
    {':', "      ##   ##        ##   ##       "}, {'/', "         #   #   #   #   #         "},
    {'?', " ### #   #    #   #   #         #  "}, {'%', "##   ##  #   #   #   #   #  ##   ##"},
    {'_', "                              #####"},
};

constexpr char kSpace[] = "                                   ";
static_assert(sizeof kSpace == kLetterWidth * kLetterHeight + 1);

}  // namespace

std::string_view SquaresOf(char letter) {
  const int capital = std::toupper(static_cast<unsigned char>(letter));
  const auto* found =
      std::ranges::find_if(kLetters, [capital](const auto& one) { return one.letter == capital; });
  return found == std::end(kLetters) ? kSpace : found->squares;
}

}  // namespace murmurate
