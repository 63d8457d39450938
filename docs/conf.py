"""Configuration of the site; `make docs` builds it into docs/_build/html."""

import re
import sys
from pathlib import Path

import sphinx_gallery.sorting
from docutils import nodes
from sphinx import addnodes

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import generated_pages  # noqa: E402

import consilience  # noqa: E402

project = "consilience"
author = "The consilience developers"
copyright = author
version = release = consilience.__version__
language = "en"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # the site needs no other host
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
templates_path = ["_templates"]
exclude_patterns = ["_build", "api/backreferences"]

suppress_warnings = ["config.cache"]  # sorting keys of the gallery cannot be pickled

generated_pages.write(HERE)
PUBLIC_TARGETS = generated_pages.public_targets()

autosummary_generate = True
autodoc_typehints = "none"
# scikit-learn's own, whose texts refer to its own site
autodoc_default_options = {
    "exclude-members": "get_metadata_routing, set_output, set_fit_request, set_score_request, "
    "set_partial_fit_request, set_predict_request, set_transform_request"
}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
# fit on each line, so that a wide equation scrolls on a phone instead of widening the page
mathjax3_config = {"chtml": {"displayAlign": "left"}}

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "backreferences_dir": "api/backreferences",
    "doc_module": ("consilience",),
    "filename_pattern": r"/plot_",
    "subsection_order": sphinx_gallery.sorting.ExplicitOrder(
        [
            f"../examples/{name}"
            for name in ("views", "methods", "inspection", "comparison", "scale")
        ]
    ),
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "min_reported_time": 1000,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "consilience"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["accessibility.js"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "consilience"},
    "icon_links": [
        {"name": "Source code", "url": generated_pages.REPOSITORY, "icon": "fa-brands fa-github"}
    ],
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "start": [], "which_method": [], "faq": []}


def escape_bars(app, what, name, obj, options, lines):
    """Bars around norms and absolute values are not substitutions of reStructuredText."""
    for i, line in enumerate(lines):
        parts = line.split("``")
        parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
        lines[i] = "``".join(parts)


def unlink_unpublished(app, docname, source):
    """Results appear when their suite has been run; until then, a link to them is plain text."""
    folder = (HERE / docname).parent

    def replace(match):
        target = (folder / match[2]).resolve()
        unpublished = target.parent == HERE / "results" and not target.exists()
        return match[1] if unpublished else match[0]

    source[0] = source[0].replace("](results)", "](results/index.md)")  # a folder, on the site
    source[0] = re.sub(r"\[([^\]\n]*)\]\(([\w./-]+\.md)(?:#[^)]*)?\)", replace, source[0])


LINKS_AND_TITLES = nodes.reference | addnodes.pending_xref | nodes.title


def link_public_names(app, doctree):
    """A public name in code font leads to its page, wherever prose or a table mentions it."""
    docname = app.env.docname
    if docname.startswith(("api/", "gallery/")):
        return
    for literal in list(doctree.findall(nodes.literal)):
        name = re.match(r"[\w.]+", literal.astext())
        target = PUBLIC_TARGETS.get(name[0].removeprefix("consilience.")) if name else None
        if target is None or isinstance(literal.parent, LINKS_AND_TITLES):
            continue
        xref = addnodes.pending_xref(
            "", reftype="obj", refdomain="py", reftarget=target, refdoc=docname, refwarn=True
        )
        literal.replace_self(xref)
        xref += literal


def setup(app):
    app.connect("doctree-read", link_public_names)
    app.connect("autodoc-process-docstring", escape_bars, priority=900)
    app.connect("source-read", unlink_unpublished)
