/* The second decoder's types: F-20 of docs/format.md, one letter a word. */
#ifndef TESTS_SECOND_TYPES_H
#define TESTS_SECOND_TYPES_H

#include <stdint.h>

/* f flags, c context; a address, n number; h hold, s size, S size and stamp, t timeline;
 * p page, r run, k count, i id, v id and value, N number32; the digits are group and line. */
static const struct {
    uint8_t id;
    const char *words;
    int group, line;
} types[] = {
    {1, "fcasv", 0, 0},  {2, "h", 0, 0},      {3, "hk", 0, 0},     {4, "hr", 0, 0},
    {5, "fnhr", 1, 0},   {6, "hk", 1, 0},     {7, "c", 0, 0},      {8, "fcn", 0, 0},
    {9, "fcahp", 1, 1},  {10, "fcas", 0, 2},  {11, "ni", 0, 0},    {12, "n", 0, 0},
    {13, "nh", 0, 0},    {64, "cni", 0, 0},   {65, "casi", 0, 3},  {66, "casi", 0, 3},
    {67, "aSN", 0, 4},   {68, "aSN", 0, 4},   {69, "n", 0, 0},     {70, "cas", 0, 2},
    {71, "fcasN", 0, 2}, {72, "fcasN", 0, 2}, {73, "cas", 0, 2},   {74, "n", 0, 0},
    {75, "faS", 0, 5},   {76, "faS", 0, 5},   {77, "nt", 0, 0},    {78, "nt", 0, 0},
    {79, "n", 0, 0},     {80, "n", 0, 0},     {81, "faH", 0, 6},   {82, "fcnsi", 0, 0},
    {83, "casi", 0, 2},  {84, "fcasi", 0, 7}, {85, "asi", 0, 3},   {86, "cai", 0, 1},
    {87, "fcas", 0, 5},  {88, "casi", 0, 2},  {89, "fcnHN", 0, 0}, {90, "fcasN", 0, 3},
    {91, "cnN", 0, 0},   {92, "fcnHN", 0, 0}, {93, "fcnN", 0, 0},  {94, "fcns", 0, 0},
    {95, "cnsi", 0, 0},
};

#endif
