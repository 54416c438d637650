#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the table of handwritten digits that the training job learns from.

Takes the copy inside scikit-learn (`pip install scikit-learn`) and writes
  FOLDER/digits.csv.gz  an image a line: 64 pixels, 0 (blank) to 16, row by row, then the digit; no header

The images are in scikit-learn's order. The same version of zlib gives the same bytes; the text is the same with any.
"""

import argparse
import gzip
import io
import pathlib
import sys

ROWS, PIXELS, MOST, DIGITS = 1797, 64, 16, 10


def lines():
    """Yields the table's lines, each held to what data/README.md says of it."""
    from sklearn.datasets import load_digits  # here, so that --help works without it

    digits = load_digits()
    if digits.data.shape != (ROWS, PIXELS) or digits.target.shape != (ROWS,):
        raise ValueError(f"{digits.data.shape} pixels and {digits.target.shape} digits, not {ROWS} images of {PIXELS}")
    for pixels, digit in zip(digits.data.tolist(), digits.target.tolist()):
        row = [int(pixel) for pixel in pixels]
        if row != pixels or not all(0 <= pixel <= MOST for pixel in row) or digit not in range(DIGITS):
            raise ValueError(f"not an image of a digit: {pixels}, {digit}")
        yield ",".join(map(str, [*row, digit])) + "\n"


def compress(text):
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=packed, mtime=0) as file:
        file.write(text.encode("ascii"))
    return packed.getvalue()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--output", metavar="FOLDER", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent
    )
    arguments = parser.parse_args()

    try:
        data = compress("".join(lines()))
    except ImportError as fault:
        sys.exit(f"make_digits: {fault}; install it with: pip install scikit-learn")
    except ValueError as fault:
        sys.exit(f"make_digits: scikit-learn holds other data than expected: {fault}; nothing was written")
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "digits.csv.gz").write_bytes(data)
    print(f"{ROWS} images, {len(data)} bytes in {arguments.output}")


if __name__ == "__main__":
    main()
