#!/usr/bin/env python3
"""Fails if a link of a built book, or of the documentation of crates, leads nowhere: to no file of it, or to no element with that id.
Usage: links.py DIRECTORY"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.links = set(), []
        # How deep it is in a list of what other crates implement for every type. Their texts have links into their own documentation.
        self.others = 0
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        if tag == "div" and (self.others or ("id", "blanket-implementations-list") in attributes):
            self.others += 1
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.ids.add(unquote(value))
            elif name in ("href", "src") and value and not self.others and tag != "script":
                self.links.append(value)

    def handle_endtag(self, tag):
        if tag == "div" and self.others:
            self.others -= 1


book = Path(sys.argv[1]).resolve()
# The error page names a base of its own; the others are rustdoc's, which wants a list of crates that stable cargo does not write.
without = ("404.html", "help.html", "settings.html")
pages = {path: Page(path) for path in sorted(book.rglob("*.html")) if path.name not in without}
wrong, links = [], 0
for path, page in pages.items():
    for link in page.links:
        url = urlsplit(link)
        if url.scheme in ("http", "https", "mailto", "data", "javascript") or url.netloc:
            continue
        links += 1
        target = (path.parent / unquote(url.path)).resolve() if url.path else path
        # The pages of sources get the ids of their lines from a script.
        fragment = "" if re.fullmatch(r"\d+(-\d+)?", url.fragment) else unquote(url.fragment)
        known = target.is_file() and target.is_relative_to(book)
        if not known or (fragment and target in pages and fragment not in pages[target].ids):
            wrong.append(f"{path.relative_to(book)}: {link}")
print(*wrong, f"{links} links of {len(pages)} pages, {len(wrong)} lead nowhere", sep="\n")
sys.exit(bool(wrong or not links))
