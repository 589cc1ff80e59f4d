"""The cases: what the model says and does, and the graders."""

from stand_in import text, tool

SCAFFOLD = """printf 'seed\\n' > seed.txt
mkdir -p given && printf 'one\\ntwo\\n' > given/old.md
printf '\\211PNG\\r\\n\\032\\n\\0\\377\\376' > bin.dat
printf 'a\\377\\376b\\0c\\343\\201d' > raw.dat; printf 'GIF89a is a word' > gif.txt; printf '\\377\\330\\377\\340jpeg' > jpeg.txt; printf 'RIFF1234WEBPVP8 ' > webp.txt
printf 'BM' > bmp.txt; printf '%%PDF-1.4' > pdf.txt; printf '<svg xmlns="http://www.w3.org/2000/svg"/>' > svg.txt; printf 'text' > fake.png; printf '\\377\\376h\\0' > utf16.txt
ln -s given/old.md link.txt
"""


def JUDGE(asked):
    return "FAIL" if "say no" in asked else "PASSED" if "say passed" in asked else "PASS and FAIL" if "say both" in asked else "pass." if "say small" in asked else "PASS"


def graders(kind, rows, **shared):
    """Graders of a kind, numbered, from rows of their keys."""
    return [{"name": f"{kind}-{number:03}", **shared, **row} for number, row in enumerate(rows, 1)]


# Patterns, each with flags and a match, of a text.
TRICKY = ("Hello Ada,\r\nyour tea \"Grüner Tee\" is ready: 3 cups, 80 °C.\n\nfoo=bar; foo=baz\tTAB\n"
          "naïve café İstanbul ﬁn Straße 😀👩‍👩‍👧 ǅ K ſ \u2028sep \u00a0nbsp\nback\\slash `code` $1 {x} [y] (z)\n"
          "AAA aaa aAa\nend.\n")
PATTERNS = [
    ("Hello", ""), ("hello", ""), ("hello", "i"), ("^Hello", ""), ("^your", ""), ("^your", "m"), ("Ada,$", ""), ("Ada,$", "m"),
    ("Ada,\r$", "m"), ("Ada,\\r\\nyour", ""), ("Ada,\\nyour", ""), ("Ada,.your", ""), ("Ada,.your", "s"), ("Ada,..your", "s"),
    ("end\\.$", ""), ("end\\.\\n$", ""), ("end\\.$", "m"), ("end\\.\\s*$", ""), ("\\Aend", ""), ("end\\.\\Z", ""), ("end\\.\\z", ""),
    ("(?i)hello", ""), ("(?i:hello)", ""), ("(?i:HELLO) Ada", ""), ("(?-i:hello)", "i"), ("(?m:^your)", ""), ("(?s:,.\\nyour)", ""),
    ("\\d cups", ""), ("\\d+ °C", ""), ("\\w+ Tee", ""), ("Gr\\wner", ""), ("Gr.ner", ""), ("Gr\\wner", "u"), ("Gr\\wner", "iu"),
    ("\\bGr", ""), ("Gr\\b", ""), ("caf\\b", ""), ("café\\b", ""), ("é\\B", ""), ("na\\S+ve", ""), ("\\p{L}+", ""), ("\\p{Lu}da", "u"),
    ("\\p{Script=Latin}+", "u"), ("\\p{Emoji}", "u"), ("\\p{Emoji_Presentation}", "u"), ("\\p{RGI_Emoji}", "v"), ("[\\p{L}--[a-z]]", "v"),
    ("[\\p{L}&&[a-z]]+", "v"), ("[a-z--[aeiou]]", ""), ("\\q{abc}", "v"), ("[\\q{Hello|x}]", "v"), ("^.{4}$", "m"), ("😀", ""), ("😀", "u"),
    ("[😀]", ""), ("[😀]", "u"), ("\\u{1F600}", ""), ("\\u{1F600}", "u"), ("\\ud83d", ""), ("\\ud83d", "u"), ("\\ud83d\\ude00", ""),
    ("\\ud83d\\ude00", "u"), ("Straße .", ""), ("Straße .👩", ""), ("Straße .👩", "u"), ("Straße ..👩", ""), ("STRASSE", "i"), ("straße", "i"),
    ("STRAßE", "i"), ("STRAẞE", "i"), ("STRAẞE", "iu"), ("ı", "i"), ("istanbul", "i"), ("i̇stanbul", "i"), ("İ", "i"), ("ǆ", "i"), ("ǆ", "iu"),
    (" k ", "i"), (" k ", "iu"), (" s ", "i"), (" s ", "iu"), ("[a-z]+ſ?", "i"), ("\\u017f", "i"), ("\\x41da", ""), ("\\101", ""), ("\\cI", ""),
    ("baz\\tTAB", ""), ("baz\\x09TAB", ""), ("sep", ""), (".sep", ""), ("\\ssep", ""), ("\\snbsp", ""), ("^sep", "m"), ("[^]nbsp", ""), ("[]x", ""),
    ("back\\\\slash", ""), ("back\\slash", ""), ("`code`", ""), ("\\$1", ""), ("$1", ""), ("\\{x\\}", ""), ("{x}", ""), ("{x", ""), ("x{2", ""),
    ("[y]", ""), ("\\[y\\]", ""), ("]", ""), ("}", "u"), ("(z)", ""), ("\\(z\\)", ""), ("(z", ""), ("z)", ""), ("a{2}", ""), ("a{2,}", ""), ("a{,2}", ""),
    ("a{3}\\b", "i"), ("A++", ""), ("A+?", ""), ("(?>A+)", ""), ("(A)(?(1)B|C)", ""), ("(A)\\1", ""), ("(A)\\2", ""), ("(A)\\2", "u"),
    ("(?<a>A)\\k<a>", ""), ("\\k<a>", ""), ("\\k<a>", "u"), ("(?<a>A)|(?<a>B)", ""), ("(?P<a>A)", ""), ("(?<=foo=)ba[rz]", ""), ("(?<!foo=)ba[rz]", ""),
    ("(?<=\\w+=)baz", ""), ("foo(?==bar)", ""), ("foo(?!=bar)", ""), ("(?=.*Ada)(?=.*tea)", ""), ("(?=.*Ada)(?=.*tea)", "s"), ("[[:alpha:]]", ""),
    ("[\\w-]+=", ""), ("[a-\\d]", ""), ("[a-\\d]", "u"), ("[z-a]", ""), ("\\-", ""), ("\\-", "u"), ("\\_", ""), ("\\a", ""), ("\\e", ""), ("\\h", ""),
    ("\\_", "u"), ("\\8", ""), ("[\\b]", ""), ("\\0", ""), ("\\00", ""), ("", ""), ("x*", ""), ("(?:)", ""), ("|", ""), ("zzz|", ""), ("zzz|Ada", ""),
    ("Ada", "g"), ("Ada", "y"), ("Hello", "y"), ("Hello", "gy"), ("Ada", "ii"), ("Ada", "d"), ("*", ""), ("+", ""), ("?", ""), ("[", ""), ("\\", ""),
    ("(?#c)Ada", ""), ("A d a", ""), ("(?x)A d a", ""), ("(?ims:ada)", ""), ("(?i-i:ada)", ""), ("\\Qfoo=bar\\E", ""), ("foo\\Kbar", ""), ("\\R", ""), ("\\X", ""),
    ("\\N{DIGIT THREE}", ""), ("\\p{IsGreek}", "u"), ("\\pL", "u"), ("\\pL", ""), ("\\u00fc", ""), ("\\u{fc}", ""), ("\\xfc", ""), ("[À-ÿ]", ""), ("[^\\x00-\\x7F]{3}", ""),
    ("^(?:.*\\n){8}", ""), ("^(?:[^\\n]*\\n){7}$", ""), ("(a+)+$", ""), ("(?:a|aa)+$", "i"), ("foo=(\\w+); foo=(?!\\1)\\w+", ""), ("(?<year>\\d)", ""), ("\\cé", ""), ("(?<é>A)", ""),
]
COUNTS = [
    ("foo", "", "count:2"), ("foo", "", "count:1"), ("foo", "", "count:02"), ("", "", "count:5"), ("a", "", "count:12"), ("a", "i", "count:3"),
    ("a", "gi", "count:2"), ("aa", "i", "count:4"), ("A", "y", "count:0"), ("H", "y", "count:1"), ("\\n", "", "count:7"), ("^", "m", "count:9"), ("$", "m", "count:9"),
    ("😀", "", "count:1"), ("\\ud83d", "", "count:4"), ("zzz", "", "count:0"), ("(?i)zzz", "", "count:0"), (".", "", "count:10"), ("x*", "", "count:200"), ("l", "", "count:3"),
]
regex = [{"pattern": pattern, **({"flags": flags} if flags else {})} for pattern, flags in PATTERNS]
regex += [{"pattern": pattern, "match": "not_contains", **({"flags": flags} if flags else {})} for pattern, flags in PATTERNS[::4]]
regex += [{"pattern": pattern, "match": match, **({"flags": flags} if flags else {})} for pattern, flags, match in COUNTS]

BLOCKS = [("first", ""), ("second", ""), ("(sub-agent)", ""), ("before", ""), ("^second", ""), ("second$", ""), ("^\\s", "")]
lasts = [{"pattern": pattern} for pattern, _ in BLOCKS]

FILES = ["seed.txt", "made.txt", "./made.txt", "*.txt", "*", "**", "**/*", "**/*.txt", "dir/*", "dir/**", "dir/**/*.json", "dir/sub/y.json", "dir", "dir/", "dir/sub",
         ".hidden", ".*", "*hidden", "dir/.h", "dir/*h", "?.txt", "m?de.txt", "dir?x.txt", "dir/?.txt", "we ird.txt", "we*", "[x].txt", "[mx]ade.txt", "{made,zzz}.txt", "{a,b}.txt",
         "é.txt", "?.txt", "MADE.txt", "made.TXT", "given/old.md", "given/*", "gone.txt", "/made.txt", "../made.txt", "dir/../made.txt", "**/x.txt", "**x.txt", "d**t",
         "dir//x.txt", "dir\\x.txt", "", "*.md", "new.md", "!made.txt", "made.txt ", "**/", "dir/***", "a+b.txt", "(p).txt", "a.b", "a?b", "**/sub/**", "empty.txt", "link.txt", "ran.sh", "**/.h", "sub/y.json", "*/x.txt", "*/*/y.json", "$d.txt", "^u.txt", "??.txt", "ǅ.txt", "😀*", "[[]x].txt", "zed.txt"]
file_rows = [{"path": path} for path in FILES if path] + [{"path": path, "exists": False} for path in FILES[::5] if path]
OF_FILES = [
    {"pattern": "made", "target": "files"}, {"pattern": "^made\\.txt$", "target": "files", "flags": "m"}, {"pattern": "seed", "target": "files"}, {"pattern": "given", "target": "files"},
    {"pattern": "\\n$", "target": "files"}, {"pattern": "^\\.hidden", "target": "files"}, {"pattern": "\\n", "target": "files", "match": "count:20"},
    {"pattern": "é\\.txt$", "target": "files"}, {"pattern": "\\{a,b\\}\\.txt\\né", "target": "files"}, {"pattern": "gone", "target": "files", "match": "not_contains"},
    {"pattern": "～.txt\\n.*😀", "target": "files"}, {"pattern": "link", "target": "files"}, {"pattern": "empty", "target": "files"}, {"pattern": "[^]*", "target": "files", "match": "count:2"},
] + [{"pattern": pattern, "target": {"source": "file", "path": path}, **more} for path, pattern, more in [
    ("made.txt", "line", {}), ("made.txt", "^line two$", {"flags": "m"}), ("made.txt", "\\r\\n", {}), ("made.txt", "nothing", {"match": "not_contains"}), ("./made.txt", "line", {}),
    ("seed.txt", "edited", {}), ("seed.txt", "seed", {}), ("given/old.md", "two", {}), ("zzz.txt", "x", {}), ("zzz.txt", "x", {"match": "not_contains"}),
    ("zzz.txt", "x", {"match": "count:0"}), ("dir", "x", {}), ("dir", "x", {"match": "not_contains"}), ("*.txt", "line", {}), ("/etc/hostname", ".", {}), ("../cwd/made.txt", "line", {}),
    ("bin.dat", "PNG", {}), ("bin.dat", "\\ufffd", {}), ("bin.dat", "\\0", {}), ("bin.dat", "\\ufffd", {"match": "count:3"}), ("bom.txt", "^bom", {}), ("bom.txt", "^\\ufeffbom", {}), ("bom.txt", "^.bom", {}),
    ("empty.txt", "", {}), ("empty.txt", "^$", {}), ("empty.txt", "x", {"match": "not_contains"}), ("dir/sub/y.json", "\"a\": ?1", {}), ("we ird.txt", "odd", {}), ("raw.dat", "a", {}), ("raw.dat", "\\ufffd", {"match": "count:3"}), ("raw.dat", "\\0c", {}), ("gif.txt", "word", {}), ("jpeg.txt", "jpeg", {}), ("webp.txt", "VP8", {}), ("bmp.txt", "BM", {}), ("pdf.txt", "PDF", {}),
    ("svg.txt", "svg", {}), ("fake.png", "text", {}), ("utf16.txt", "h", {}), ("gif.txt", "zzz", {"match": "not_contains"}), ("link.txt", "two", {}),
    ("dir/../made.txt", "line", {}), (".hidden", "h", {}), ("é.txt", "é", {}),
]]

CALLS = [
    {"tool": "Read"}, {"tool": "read"}, {"tool": "Read", "min": 2}, {"tool": "Read", "min": 3}, {"tool": "Read", "max": 1}, {"tool": "Read", "min": 0, "max": 0}, {"tool": "Read", "max": 0},
    {"tool": "Read", "min": 5, "max": 2}, {"tool": "Re*"}, {"tool": "*"}, {"tool": "Read|Glob"}, {"tool": "Glob"}, {"tool": "Grep"}, {"tool": "Grep", "min": 0, "max": 0}, {"tool": "Bash"}, {"tool": "Write"},
    {"tool": "Unknown"}, {"tool": "WebFetch"}, {"tool": "WebFetch", "min": 0, "max": 0}, {"tool": "Agent"}, {"tool": "Task"}, {"tool": "Skill"}, {"tool": "Skill", "input_match": "tea:brew"},
    {"tool": "Skill", "input_match": "\"skill\":\"tea:brew\""}, {"tool": "Skill", "input_match": "^\\{\"skill\":\"(?:[\\w-]+:)?brew\""}, {"tool": "Skill", "min": 0, "max": 0}, {"tool": "Read", "input_match": "seed"},
    {"tool": "Read", "input_match": "\"file_path\":"}, {"tool": "Read", "input_match": "\"file_path\": "}, {"tool": "Read", "input_match": "seed", "min": 2}, {"tool": "Read", "input_match": "SEED"},
    {"tool": "Read", "input_match": "(?i)seed"}, {"tool": "Read", "input_match": "(?i)seed", "min": 0, "max": 0}, {"tool": "Grep", "input_match": "(?i)x", "min": 0, "max": 0}, {"tool": "Bash", "input_match": "echo"},
    {"tool": "Bash", "input_match": "a\\\\nb"}, {"tool": "Bash", "input_match": "a\\nb"}, {"tool": "Bash", "input_match": "\\\\\"quoted\\\\\""}, {"tool": "Bash", "input_match": "\"quoted\""}, {"tool": "Bash", "input_match": "é"},
    {"tool": "Bash", "input_match": "\\\\u00e9"}, {"tool": "Bash", "input_match": "^\\{\"command\":"}, {"tool": "Bash", "input_match": "\"description\":\"d\"\\}$"}, {"tool": "Bash", "input_match": "^\\{\"description\""},
    {"tool": "Bash", "input_match": "", "min": 2}, {"tool": "Bash", "input_match": "fails"}, {"tool": "Unknown", "input_match": "\"n\":1[,}]"}, {"tool": "Unknown", "input_match": "\"f\":1\\.5,\"e\":1e\\+?21"},
    {"tool": "Unknown", "input_match": "\"z\":null"}, {"tool": "Unknown", "input_match": "\\[1,2,\\{\\}\\]"}, {"tool": "Unknown", "input_match": "\"one\":1,\"deep\""}, {"tool": "Unknown", "input_match": "\"10\":\"ten\",\"2\""},
    {"tool": "Unknown", "input_match": "\"2\":\"two\",\"10\""}, {"tool": "Unknown", "input_match": "\"h\":1,"}, {"tool": "Unknown", "input_match": "/"}, {"tool": "Unknown", "input_match": "\\\\/"}, {"tool": "Unknown", "input_match": "\\\\t"},
    {"tool": "Unknown", "input_match": "\\\\u2028"}, {"tool": "Unknown", "input_match": "\\u2028"}, {"tool": "Unknown", "input_match": "\\\\u0001"}, {"tool": "Unknown", "input_match": "\\u007f"}, {"tool": "mcp__tea__pour"}, {"tool": "mcp__tea__pour", "min": 0, "max": 0},
    {"tool": "Unknown", "input_match": "\"big\":12345678901234567000"}, {"tool": "Unknown", "input_match": "\"m\":-0[,}]"}, {"tool": "Unknown", "input_match": "\"m\":0[,}]"},
]
ORDERS = [
    {"before": "Read", "after": "Bash"}, {"before": "Bash", "after": "Read"}, {"before": "Read", "after": "Read"}, {"before": "Grep", "after": "Bash"}, {"before": "Read", "after": "Grep"},
    {"before": {"tool": "Read", "input_match": "seed"}, "after": {"tool": "Read", "input_match": "zzz"}}, {"before": {"tool": "Read", "input_match": "zzz"}, "after": {"tool": "Read", "input_match": "seed"}},
    {"before": "Skill", "after": "Bash"}, {"before": "Bash", "after": "Skill"}, {"before": {"tool": "Bash", "input_match": "echo"}, "after": "Agent"}, {"before": {"tool": "Bash", "input_match": "(?i)echo"}, "after": "Agent"},
    {"before": "Agent", "after": "Glob"}, {"before": "Glob", "after": "Agent"}, {"before": "Glob", "after": "Unknown"}, {"before": "Unknown", "after": "Glob"}, {"before": "Read", "after": {"tool": "Bash", "input_match": "fails"}},
]
OF_TRACE = [{"pattern": pattern, "target": "trace", **more} for pattern, more in [
    ("\"Write\"", {}), ("\"WebSearch\"", {}), ("CASE:calls", {}), ("seed", {}), ("\"type\":\"result\"", {}), ("\\n", {}), ("^\\{\"type\":\"system\"", {}), ("tool_use_error", {}), ("\\\\\"quoted\\\\\"", {}), ("All done", {}),
    ("permission", {"flags": "i"}), ("\"name\":\"Unknown\"", {"match": "count:1"}), ("\"name\":\"Unknown\"", {"match": "count:2"}), ("é", {}), ("\\\\u00e9", {}), ("zzz-never", {"match": "not_contains"}), ("I am the sub-agent", {}), ("\"is_error\":true", {}),
    ("\"subtype\":\"success\"", {}), ("tea:brew", {}),
]]
LLM = [{"criteria": criteria, **more} for criteria, more in [
    ("Is it tea?", {}), ("Please say no", {}), ("Please say passed", {}), ("Please say both", {}), ("Please say small", {}), ("Is it tea?", {"focus": "trace"}), ("Please say no", {"focus": "files"}), ("Is it tea?", {"focus": {"source": "file", "path": "zzz.txt"}}),
]]

MADE = {"made.txt": "line one\r\nline two\n", "dir/x.txt": "x", "dir/.h": "h", "dir/sub/y.json": '{"a": 1}', ".hidden": "h", "we ird.txt": "odd", "[x].txt": "x", "{a,b}.txt": "x",
        "é.txt": "é", "empty.txt": "", "bom.txt": "\ufeffbom", "a+b.txt": "x", "(p).txt": "x", "a.b": "x", "ran.sh": "echo ran", "$d.txt": "x", "^u.txt": "x", "ǅ.txt": "x", "😀.txt": "x", "～.txt": "x", "Zed.txt": "x"}


def made():
    return [tool("Write", file_path=path, content=content) for path, content in MADE.items()]


CASES = {
    "regex": {"script": [[text(TRICKY)]], "graders": graders("regex", regex, type="regex")},
    "blocks": {"script": [[text("before"), tool("Read", file_path="seed.txt")], [text("first block"), text("second block")]], "graders": graders("regex", lasts, type="regex")},
    "silent": {"script": [[text("before the call\n"), tool("Read", file_path="x")], [text("")]], "graders": graders("regex", lasts, type="regex")},
    "blank": {"script": [[text("first"), text("  \n")]], "graders": graders("regex", lasts, type="regex")},
    "wordless": {"script": [[tool("Read", file_path="x")], [text("")]], "graders": graders("regex", lasts + [{"pattern": "x", "match": "not_contains"}, {"pattern": "^$"}], type="regex")},
    "files": {
        "scaffold": True,
        # The sandbox of the real program may keep commands from writing, so the tools of the model write.
        "script": [[tool("Read", file_path="seed.txt")], [tool("Edit", file_path="seed.txt", old_string="seed", new_string="edited"), *made()], [text("Done.")]],
        "graders": graders("exists", file_rows, type="file_exists") + graders("of-files", OF_FILES, type="regex"),
    },
    "calls": {
        "scaffold": True,
        "script": [
            [text("I look."), tool("Read", file_path="seed.txt")], [tool("Skill", skill="tea:brew")], [tool("Read", file_path="zzz.txt")],
            [tool("Bash", command="echo \"quoted\" é\na\nb", description="d"), tool("Bash", command="fails-surely", description="d")],
            [tool("Agent", description="d", prompt="CASE:calls-sub", subagent_type="general-purpose", run_in_background=False)],
            [tool("Unknown", **{"n": 1, "f": 1.5, "e": 1e21, "z": None, "list": [1, 2, {}], "one": 1.0, "deep": {"10": "ten", "2": "two"}, "h": 1.0, "slash": "a/b", "tab": "a\tb\u2028\u0001\u007f", "big": 12345678901234567000, "m": -0.0})],
            [tool("mcp__tea__pour", cup=1), tool("WebFetch", url="http://127.0.0.1:9/", prompt="p")],
            [text("All done.")],
        ],
        "sub": [[tool("Glob", pattern="*.txt")], [text("I am the sub-agent")]],
        "graders": graders("calls", CALLS, type="tool_used") + graders("order", ORDERS, type="tool_order") + graders("trace", OF_TRACE, type="regex"),
    },
    "stopped": {
        "max_turns": 2, "script": [[text("one"), tool("Read", file_path="a")], [tool("Read", file_path="b")], [tool("Read", file_path="c")], [text("never")]],
        "graders": graders("regex", lasts + [{"pattern": "never", "match": "not_contains"}, {"pattern": "one"}], type="regex")
        + graders("calls", [{"tool": "Read", "min": 2}, {"tool": "Read", "min": 3}, {"tool": "Write", "min": 0, "max": 0}], type="tool_used") + graders("exists", [{"path": "x", "exists": False}], type="file_exists"),
    },
    "judged": {"script": [[text("Tea.")]], "graders": graders("llm", LLM, type="llm")},
    "as-files": {"as_files": True, "script": [[text(TRICKY)]], "graders": graders("regex", regex[:20], type="regex")},
}
