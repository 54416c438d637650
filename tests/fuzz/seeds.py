# SPDX-License-Identifier: Apache-2.0
"""seeds.py FOLDER: writes what fuzzers begin with, FOLDER/READER/NAME, the same bytes each time.

Kinds of files as people have them: each made here, none copied."""

import gzip
import json
import pathlib
import shutil
import struct
import sys
import zlib

MARK = b"\xef\xbb\xbf"


def lines(*rows, end="\n"):
    return (end.join(rows) + end).encode()


def graph_seeds():
    plain = ["0 1", "1 2", "2 0", "2 2", "0 1"]
    yield "edge_list", "plain", lines(*plain)
    yield "edge_list", "crlf", lines(*plain, end="\r\n")
    yield "edge_list", "cr", lines(*plain, end="\r")
    yield "edge_list", "mark", MARK + lines(*plain)
    yield "edge_list", "snap", lines("# Nodes: 3 Edges: 5", "# FromNodeId\tToNodeId", "0\t1", "1\t2")
    yield "edge_list", "konect", lines("% sym unweighted", "% 2 3 3", "1 2", "2 3")
    yield "edge_list", "commas", lines("1,2", "2,3")
    yield "edge_list", "large", lines("0 268435455")
    yield "edge_list", "larger", lines("4294967295 18446744073709551616")
    yield "edge_list", "no_end", b"0 1\n1 2"
    yield "edge_list", "packed", gzip.compress(lines(*plain), mtime=0) + bytes(100)
    yield "edge_list", "undirected", lines("% sym", "1\t2")
    yield "edge_list", "bipartite", lines("% bip unweighted", "1 1", "2 1")
    yield "edge_list", "page", b"<!DOCTYPE html>\n<html>"
    yield "weighted_edge_list", "plain", lines("0 1 0.5", "1 2 -3e2", "2 0 +4")
    yield "weighted_edge_list", "odd", lines("0 1 nan", "1 2 1e39", "2 0 1e-50", "0 2 inf")
    yield "weighted_edge_list", "whole", lines("0 1 100000001", "1 2 16777217")
    banner = "%%MatrixMarket matrix coordinate "
    yield "matrix_market", "pattern", lines(banner + "pattern general", "% c", "3 3 2", "1 2", "3 1")
    yield "matrix_market", "real", lines(banner + "real general", "3 3 2", "1 2 0.5", "3 1 -1e-3")
    yield "matrix_market", "symmetric", lines(banner + "integer symmetric", "3 3 2", "2 1 5", "3 3 7")
    yield "matrix_market", "upper", lines(banner + "real symmetric", "3 3 2", "1 2 5", "1 3 7")
    yield "matrix_market", "unsigned", lines(banner + "unsigned-integer general", "2 2 1", "1 2 4294967295")
    yield "matrix_market", "skew", lines(banner + "real skew-symmetric", "2 2 1", "2 1 1")
    yield "matrix_market", "complex", lines(banner + "complex hermitian", "2 2 1", "2 1 1 0")
    yield "matrix_market", "array", lines("%%MatrixMarket matrix array real general", "2 2", "1", "2", "3", "4")
    yield "matrix_market", "odd", lines(banner + "real general", "2 2 3", "1 2 1e39", "1 1 nan", "2 2 1e-50")
    yield "matrix_market", "declares", lines(banner + "pattern general", "268435456 268435456 2147483648", "1 1")
    yield "matrix_market", "alone", lines(banner + "pattern general", "5 5 4", "1 2", "1 3", "1 4", "1 5")
    yield "matrix_market", "lower_case", lines(banner.lower() + "pattern general", "2 2 1", "1 2", end="\r")
    yield "matrix_market", "mark", MARK + lines(banner + "pattern general", "2 2 1", "1 2")
    yield "dimacs", "plain", lines("c road", "p sp 3 2", "a 1 2 5", "c more", "a 2 3 7")
    yield "dimacs", "negative", lines("p sp 4 1", "a 3 4 -1")
    yield "dimacs", "declares", lines("p sp 268435456 2147483648", "a 1 2 5")
    yield "dimacs", "crlf", lines("p sp 2 1", "a 1 2 5", end="\r\n")
    yield "metis", "plain", lines("% c", "3 2", "2", "1 3", "2")
    yield "metis", "weights", lines("3 2 1", "2 5", "1 5 3 7", "2 7")
    yield "metis", "vertices", lines("3 2 011 2", "1 2 2 5", "3 4 1 5 3 7", "5 6 2 7")
    yield "metis", "sizes", lines("3 2 100", "9 2", "9 1 3", "9 2")
    yield "metis", "alone", lines("3 1", "2", "1", "")
    yield "metis", "one_way", lines("3 1", "2", "", "")
    yield "metis", "declares", lines("268435456 2147483648", "2", "1")
    yield "metis", "mark", MARK + lines("2 1", "2", "1", end="\r\n")
    yield "vertices", "plain", lines("# sources", "0", "7", "7", "999")
    yield "vertices", "mark", MARK + lines("1", "", " 2\t", "1000", end="\r\n")


def table_seeds():
    plain = ["1,2,3.5,964982703", "1,3,4,964981247", "2,1,0.5,964982224"]
    header = "userId,movieId,rating,timestamp"
    quoted = ['"' + line.replace(",", '","') + '"' for line in [header, *plain]]
    yield "ratings", "header", lines(header, *plain)
    yield "ratings", "mark", MARK + lines(*plain)
    yield "ratings", "cr", lines(header, *plain, end="\r")
    yield "ratings", "crlf", lines(header, *plain, end="\r\n")
    yield "ratings", "quoted", lines(*quoted)
    yield "ratings", "semicolons", lines("user;item;rating", "1;2;3,5", "2;1;4,0")
    yield "ratings", "colons", lines("1::2::3::964982703", "2::1::4::964982703")
    yield "ratings", "tabs", lines("1\t2\t3", "2\t1\t-4.5e0")
    yield "ratings", "index", lines(",userId,movieId,rating", "0,1,2,3.5", "1,2,1,4")
    yield "ratings", "time_first", lines("timestamp,userId,movieId,rating", "1000,14,3,3.0", "1001,13,19,2.0")
    yield "ratings", "missing", lines(header, "1,,3,964982703")
    yield "ratings", "large", lines("134217727 134217727 1", "1 2 16777217", "1 2 1e39")
    yield "ratings", "delimiter_line", lines("sep=;", "user;item;rating", "1;2;3,5", "2;1;4,0")
    yield "ratings", "text_ids", lines("user,item,rating", "user_17,2,3.5")
    yield "ratings", "matrix", lines("%%MatrixMarket matrix coordinate real general", "3 3 2", "1 2 0.5", "3 1 4")
    iris = ["5.1,3.5,1.4,0.2,0", "7.0,3.2,4.7,1.4,1", "6.3,3.3,6.0,2.5,2"]
    names = "sepal length,sepal width,petal length,petal width,class"
    yield "rows", "plain", lines(*iris)
    yield "rows", "names", lines(names, *iris)
    yield "rows", "numeric_names", lines("0,1,2,3,4", *iris)
    yield "rows", "target", lines("0,1,2,3,target", *iris)
    yield "rows", "index", lines(",0,1,2,3,target", *(f"{at},{row}" for at, row in enumerate(iris)))
    yield "rows", "mark", MARK + lines('"a","b","c","d","label"', *iris, end="\r\n")
    yield "rows", "text_labels", lines("5.1,3.5,1.4,0.2,Iris-setosa", "7.0,3.2,4.7,1.4,Iris-versicolor")
    yield "rows", "semicolons", lines("a;b;label", "1,5;2;0", "2,5;3;1")
    yield "rows", "quotes", lines('"a ""b""","c,d",label', '"1","2","0"', "3,4,1")
    yield "rows", "odd", lines("1e-60,3.4028235e38,1", "1e-45,-0,01", "nan,1,2", "1e999,1,65536")
    yield "rows", "packed", gzip.compress(lines(names, *iris), mtime=0) + bytes(100)
    yield "rows", "far_apart", lines("1700000000,0,0", "1700000001,2.5,2", "1700000002,1,1")
    yield "rows", "row_names", lines('"a" "b" "label"', '"1" 1.5 2 0', '"2" 2.5 3 1')
    yield "rows", "title", lines("Report of 2020", "", names, *iris, "-----", "# end", "Total,3")
    yield "rows", "libsvm", lines("1 3:0.5 7:1", "-1 qid:2 2:1e-3 # end")
    yield "rows", "json", lines('{"a": 1}', '{"a": 2}')
    yield "rows", "arff", lines("% iris", "@relation iris", "@data", *iris)
    yield "rows", "to_class", lines("1,2,3,4", "5,6,7,8")


def text_seeds():
    text = lines(*(f"{at} {at * 7 % 13}" for at in range(60)))
    packed = gzip.compress(text, mtime=0)
    yield "gzip", "one", packed
    yield "gzip", "two", packed + gzip.compress(b"0 1\n", mtime=0)
    yield "gzip", "zeros", packed + bytes(512)
    yield "gzip", "garbage", packed + b"garbage"
    yield "gzip", "cut", packed[:-5]
    yield "gzip", "sum", packed[:-8] + bytes(8)
    yield "gzip", "mark", gzip.compress(MARK + text, mtime=0)
    yield "gzip", "text", text
    yield "gzip", "empty", gzip.compress(b"", mtime=0)
    yield "gzip", "bomb", gzip.compress(bytes(1 << 21), mtime=0)
    yield "gzip", "stored", gzip.compress(text, 0, mtime=0)
    header = b"\x1f\x8b\x08\x1e" + bytes(6) + b"\x03\x00abcname\x00comment\x00"
    yield "gzip", "fields", header + packed[10:]
    for name, data in {
        "plain": text,
        "mark": MARK + text,
        "two_marks": MARK + text + MARK + text,
        "empty": b"",
    }.items():
        yield "text", name, data
    yield "text", "utf_16", text.decode().encode("utf-16")
    yield "text", "utf_32", text.decode().encode("utf-32-be")
    yield "text", "no_end", b"0 1\n\n\r\n1 2"
    yield "text", "block", b"1 2\n" * 70_000


def document_seeds():
    one = {
        "task": "task",
        "options": {"real": 0.5, "integer": 7, "size": "2MiB", "choice": "two", "path": "a b,c;d'\"\\"},
    }
    yield "job_file", "one", json.dumps(one, indent=1).encode()
    yield "job_file", "several", json.dumps([one, {"task": "./libmine.so:task"}]).encode()
    yield "job_file", "mark", MARK + json.dumps(one).encode()
    yield "job_file", "whole", b'{"task": "task", "options": {"integer": 1e3, "size": 2.048e3, "real": -0.0}}'
    yield "job_file", "large", b'{"task": "task", "options": {"integer": 1e308, "size": 18446744073709551616}}'
    yield "job_file", "zero", json.dumps(one).encode() + b"\0{}"
    yield "job_file", "utf_16", json.dumps(one).encode("utf-16")
    yield "job_file", "twice", b'{"task": "task",\n"task": "task"}'
    yield "job_file", "kinds", b'[{"task": "task", "options": {"path": "\\ud83d\\ude00\\u0000"}}, null, [[]], {}, true]'
    yield "job_file", "deep", b"[" * 500 + b"]" * 500
    yield "task_text", "one", b"task:real=0.5,integer=7,size=2MiB,choice=two,path='a b,c'"
    yield "task_text", "list", b'task:real=0.5;integer=-7,task,./lib.so:task:path="a \\" \\\\ b",\'./l,b.so\':task'
    yield "task_text", "library", b"./libmine.so:task,integer=1, path = x "
    length = {"longest_bubble": "1ms", "harvest_ratio": 0.7, "training": {"slowdown_pct": 0.2, "ci95_pct": [0.1, 0.3]}}
    work = {
        "task": {"name": "mlp", "options": {"batch": "64"}, "library": None},
        "machine_bytes": 3e6,
        "alone_items_per_s": 1000,
        "alone_jobs_per_s": None,
        "lengths": [length, {**length, "longest_bubble": "10ms", "training": None}],
    }
    other = {**work, "task": {"name": "mlp", "options": {"batch": "512"}, "library": None}}
    machine = {"gpu": {"name": "a GPU"}}
    profiles = {"schema": "lull.profile/2", "version": "0.2.0", "executor": "cuda", "machine": machine}
    yield "profile", "profiles", json.dumps({**profiles, "profiles": [work, other]}).encode()
    yield "profile", "mark", MARK + json.dumps({**profiles, "profiles": [work]}).encode()
    site = {"p50_us": 700, "share": 0.25, "min_free_bytes": 1.0e9}
    yield "profile", "bubbles", json.dumps({"schema": "lull.bubbles/2", "gates": [{"sites": [site, site]}]}).encode()
    yield from safetensors_seeds()
    manifest = ["lull images manifest", "version 1", "settings settings"]
    entries = ["1 1234 1700000000000000000 99 0badf00d a%20b.png", "0 7 -5 0 00000000 c%FF.jpg"]
    yield "manifest", "plain", lines(*manifest, *entries)
    yield "manifest", "none", lines(*manifest)
    yield "manifest", "newer", lines(manifest[0], "version 2", "anything")
    yield "manifest", "mark", MARK + lines(*manifest, *entries)
    for order in "<>":
        for orientation in (1, 3, 6, 8, 9):
            for kind, count in ((3, 1), (4, 1), (3, 2)):
                yield (
                    "exif",
                    f"{'le' if order == '<' else 'be'}_{orientation}_{kind}_{count}",
                    exif(order, orientation, kind, count),
                )
    yield "exif", "far", b"II*\x00\xf0\xff\xff\xff" + bytes(20)


def queue_seeds():
    job = {"schema": "lull.job/1", "run": {"task": "pagerank", "options": {"graph": "web.el", "damping": 0.85}}}
    command = {"schema": "lull.job/1", "name": "n", "run": {"command": ["sh", "-c", "true ${x}"], "folder": "/tmp"}}
    rest = {
        "user": "u",
        "priority": -5,
        "deadline": "2026-12-01T10:00:00Z",
        "at_most": {"wall": "2h"},
        "memory": "3GiB",
        "attempts": 7,
        "labels": {"a": "b"},
    }
    after = {"after": {"jobs": ["1m8p2sqtc3aa6ztdbja4"], "if": "any"}}
    yield "job_document", "task", json.dumps(job, indent=1).encode()
    yield "job_document", "command", json.dumps({**command, **rest, **after}).encode()
    yield "job_document", "array", json.dumps({**command, "array": {"x": [1, 2.5, "c"], "y": ["${x}", "d"]}}).encode()
    yield "job_document", "large", json.dumps({**job, "array": {f"a{at}": list(range(10)) for at in range(5)}}).encode()
    yield "job_document", "twice", b'{"schema": "lull.job/1",\n"run": {}, "run": {"task": "a", "task": "b"}}'
    yield "job_document", "bounds", json.dumps({**job, "priority": 1e300, "memory": "18446744073709551616"}).encode()
    yield "job_document", "mark", MARK + json.dumps(command).encode()
    entry = "1m8p2sqtc3aa6ztdbja4,12,D,-5,3,2,1,000000000000,0123456789ab"
    yield "entry_name", "done", entry.encode()
    yield "entry_name", "queued", b"1m8p2sqtc3aa6ztdbja4,0,q,0,0,0,0,-,0123456789ab"
    yield "entry_name", "zeros", entry.replace(",12,", ",012,").encode()
    yield "entry_name", "bounds", entry.replace(",12,", ",18446744073709551616,").replace("-5", "-0").encode()
    event = {
        "state": "done",
        "time_s": 1764500000,
        "agent": "000000000000",
        "attempt": 3,
        "reason": '"why"\n',
        "results": [["a.attempt-3", "a"], ["b.attempt-3", "b"]],
        "version": 12,
        "before": "0123456789ab",
    }
    yield "event", "done", json.dumps(event).encode() + b"\n"
    yield "event", "cut", json.dumps(event).encode()[:-40]
    yield "event", "bounds", json.dumps({**event, "time_s": 1e300, "version": -1, "attempt": 2.5}).encode()
    yield "event", "kinds", json.dumps({**event, "results": [["a"], {}, None], "state": 7}).encode()
    yield "watched_folder", "quiet", b"\1\0aA\5\0aA\17\1bA\17\4\17\3aA\17\0aA\17\0cA\17"
    yield "watched_folder", "marker", b"\0\1a\4\1\2a\4\1\2b\4\1\3a\4\1\2a\4\1\0c\4\1"


def exif(order, orientation, kind, count):
    value = struct.pack(order + ("HH" if kind == 3 else "I"), *([orientation, 0] if kind == 3 else [orientation]))
    head = (b"II" if order == "<" else b"MM") + struct.pack(order + "HI", 42, 8)
    entries = struct.pack(order + "HHHII", 2, 0x010F, 2, 4, 0) + struct.pack(order + "HHI", 0x0112, kind, count) + value
    return head + entries + bytes(4)


def picture_seeds():
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    def png(kind, depth, row_bytes, before=b"", after=b"", interlace=0):
        shares = (2, 2, 2) if interlace == 0 else (1, 1, 1, 1, 2)  # the rows of Adam7's passes, in halves of a row
        rows = b"".join(b"\0" + bytes(range(at * 40, at * 40 + row_bytes * of // 2)) for at, of in enumerate(shares))
        header = struct.pack(">IIBBBBB", 2, 3, depth, kind, 0, 0, interlace)
        pixels = chunk(b"IDAT", zlib.compress(rows))
        return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + before + pixels + after + chunk(b"IEND", b"")

    turned = chunk(b"eXIf", exif("<", 6, 3, 1))
    palette = chunk(b"PLTE", bytes(range(9)))
    yield "picture", "png_grey", png(0, 8, 2)
    yield "picture", "png_bits", png(0, 1, 1)
    yield "picture", "png_deep", png(6, 16, 16)
    yield "picture", "png_palette", png(3, 2, 1, before=palette + chunk(b"tRNS", b"\x80"))
    yield "picture", "png_interlaced", png(2, 8, 6, interlace=1)
    yield "picture", "png_turned", png(2, 8, 6, before=turned)
    yield "picture", "png_turned_after", png(4, 8, 4, after=turned)
    yield "picture", "png_animated", png(2, 8, 6, before=chunk(b"acTL", struct.pack(">II", 2, 0)))
    yield "picture", "png_profile", png(2, 8, 6, before=chunk(b"iCCP", b"x\0\0" + zlib.compress(bytes(200))))
    yield "picture", "png_text", png(2, 8, 6, before=chunk(b"tEXt", b"a\0b") + chunk(b"pHYs", bytes(9)))
    yield "picture", "png_cut", png(2, 8, 6)[:-12]

    def segment(marker, data):
        return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data

    def jpeg(parts, before=b"", end=b"\xff\xd9"):
        one = b"".join(bytes([at + 1, 0x11, 0]) for at in range(parts))
        scan = b"".join(bytes([at + 1, 0]) for at in range(parts))
        bits = "011111111" + "0" + "000" * (parts - 1)  # a block each: its mean, and the end
        bits += "1" * (-len(bits) % 8)
        return (
            b"\xff\xd8"
            + before
            + segment(0xDB, b"\0" + bytes([1] * 64))
            + segment(0xC0, struct.pack(">BHHB", 8, 8, 8, parts) + one)
            + segment(0xC4, b"\0" + bytes([0, 2]) + bytes(14) + b"\0\7" + b"\x10" + bytes([1]) + bytes(15) + b"\0")
            + segment(0xDA, bytes([parts]) + scan + b"\0\x3f\0")
            + int(bits, 2).to_bytes(len(bits) // 8, "big")
            + end
        )

    profile = segment(0xE2, b"ICC_PROFILE\0\1\1" + bytes(50))
    yield "picture", "jpeg_grey", jpeg(1)
    yield "picture", "jpeg_colours", jpeg(3, segment(0xE0, b"JFIF\0\1\1\1\0\1\0\1\0\0"))
    yield "picture", "jpeg_inks", jpeg(4)
    for transform in (0, 2):
        yield "picture", f"jpeg_adobe_{transform}", jpeg(4, segment(0xEE, b"Adobe\0d\0\0\0\0" + bytes([transform])))
    yield "picture", "jpeg_turned", jpeg(3, segment(0xE1, b"Exif\0\0" + exif(">", 6, 3, 1)))
    yield "picture", "jpeg_two_profiles", jpeg(3, profile + profile)
    yield "picture", "jpeg_no_end", jpeg(1, end=b"")
    yield "picture", "jpeg_zeros", jpeg(1, end=bytes(100))
    yield "picture", "jpeg_more", jpeg(1) + jpeg(1)
    yield "picture", "page", b"<!DOCTYPE html>"
    yield "picture", "webp", b"RIFF\x24\0\0\0WEBPVP8 "


def safetensors_seeds():
    def file(header, data):
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + data

    a = {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]}
    b = {"dtype": "BF16", "shape": [], "data_offsets": [8, 10]}
    yield "safetensors", "two", file({"a": a, "b": b}, bytes(10))
    yield "safetensors", "metadata", file({"__metadata__": {"format": "pt"}, "b": b, "a": a}, bytes(10))
    yield "safetensors", "none", file({}, b"")
    yield "safetensors", "whole", file(b'{"a":{"dtype":"U8","shape":[4.0],"data_offsets":[-0,4e0]}}  ', bytes(4))
    yield "safetensors", "overlap", file({"a": a, "b": {**b, "data_offsets": [4, 6]}}, bytes(10))
    yield "safetensors", "huge", file({"a": {**a, "shape": [1 << 32, 1 << 32]}}, bytes(8))
    yield "safetensors", "deep", file(b'{"a":' + b"[" * 50 + b"]" * 50 + b"}", b"")
    yield "safetensors", "twice", file(b'{"a":1,"a":2}', b"")
    yield "safetensors", "zero", file(b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}\0{}', bytes(1))
    yield "safetensors", "null", file({"__metadata__": None}, b"")
    yield "safetensors", "mark", file(MARK + b"{}", b"")
    yield "safetensors", "length", struct.pack("<Q", (1 << 64) - 8) + b"{}"
    sums = b'{"__metadata__":{"lull.crc32":"00000000 00000000"},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'
    yield "safetensors", "sums", file(sums, b"")


def main(folder):
    shutil.rmtree(folder, ignore_errors=True)
    for seeds in (graph_seeds, table_seeds, text_seeds, document_seeds, queue_seeds, picture_seeds):
        for reader, name, data in seeds():
            to = pathlib.Path(folder, reader)
            to.mkdir(parents=True, exist_ok=True)
            (to / name).write_bytes(data)


if __name__ == "__main__":
    main(sys.argv[1])
