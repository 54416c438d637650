# SPDX-License-Identifier: Apache-2.0
# Shows Doxygen the comments of members, and those of C89, as comments that it reads, and keeps the % of %p.
s|^\( *[^ /][^/]*[;,{]\) *// |\1 ///< |
s|^ \{15,\}// |///< |
2,$s|^\( *\)/\* \([^-]\)|\1/** \2|
s|^/\*$|/** \\file|
s|^\( *[^ /].*\) /\* |\1 /**< |
/"/!s|%\([a-z]\)|\\%\1|g
