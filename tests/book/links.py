#!/usr/bin/env python3
"""Fails if a link of a built book leads nowhere: to no file of it, or to no element with that id. Usage: links.py BOOK"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


book = Path(sys.argv[1]).resolve()
# The error page names a base of its own.
pages = {path: Page(path) for path in sorted(book.rglob("*.html")) if path.name != "404.html"}
wrong, links = [], 0
for path, page in pages.items():
    for link in page.links:
        url = urlsplit(link)
        if url.scheme or url.netloc:
            continue
        links += 1
        target = (path.parent / unquote(url.path)).resolve() if url.path else path
        known = target.is_file() and target.is_relative_to(book)
        if not known or (url.fragment and target in pages and unquote(url.fragment) not in pages[target].ids):
            wrong.append(f"{path.relative_to(book)}: {link}")
print(*wrong, f"{links} links of {len(pages)} pages, {len(wrong)} lead nowhere", sep="\n")
sys.exit(bool(wrong or not links))
