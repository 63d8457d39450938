"""Follow every internal link of the built site: the file must exist, and so must the anchor.

python docs/check_links.py docs/_build/html
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

THEME_PAGES = {"search.html", "genindex.html"}


class Page(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect ids, and what links, images and scripts point at."""
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def broken_links(root: Path) -> list[str]:
    """``page: link`` for every link that leads nowhere within the site."""
    paths = [path for path in sorted(root.rglob("*.html")) if "_static" not in path.parts]
    pages = {path.resolve(): Page(path) for path in paths}
    return [
        f"{path.relative_to(root.resolve())}: {link}"
        for path, page in pages.items()
        for link in page.links
        if not leads_somewhere(path, link, pages)
    ]


def leads_somewhere(path: Path, link: str, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True  # external links are not followed
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.exists():
        return False
    if not parts.fragment or target not in pages or target.name in THEME_PAGES:
        return True
    return unquote(parts.fragment) in pages[target].anchors


if __name__ == "__main__":
    broken = broken_links(Path(sys.argv[1]))
    print("\n".join(broken) or "all internal links lead somewhere")
    sys.exit(bool(broken))
