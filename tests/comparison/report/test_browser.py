"""The page in a real browser, where one is installed."""

import re
import shutil
import subprocess

import pytest

from comparison.in_process import Store, problem_of, study
from consilience.comparison.report import build_page

BROWSER = next(
    (b for b in ("chromium", "chromium-browser", "google-chrome") if shutil.which(b)), None
)
WATCH = """<script>
const said = [];
addEventListener("error", e => said.push("error " + e.message), true);
addEventListener("securitypolicyviolation", e => said.push("refused " + e.blockedURI));
addEventListener("load", () => {
  const drawn = [...document.querySelectorAll("figure svg")].map(s => s.getBoundingClientRect())
    .filter(box => box.width > 100 && box.height > 50).length;
  const wide = document.documentElement.scrollWidth > innerWidth;
  const loaded = performance.getEntriesByType("resource").length;
  document.documentElement.setAttribute("data-found", [drawn, wide, loaded, ...said].join("|"));
});
</script>"""


@pytest.fixture(scope="module")
def page():
    with Store(":memory:") as store:
        names = ["rna", "<b>protein</b>", "$image$"]
        problem = problem_of(names, ["a", "b", "c"], n_each=8)
        run, result = study(problem, store, methods=["Concat", "MV-MV"])
        return build_page(run, result, store)


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
@pytest.mark.parametrize("width", [1200, 390])
def test_page_in_a_browser(tmp_path, page, width):
    # of the choices of a metric and of a confusion matrix, one each is shown
    figures = page.count("<svg") - page.count('class="choice"') + page.count('class="switch"')
    assert figures >= 8
    # as it is: nothing is said, nothing is asked for
    path = tmp_path / "report.html"
    path.write_text(page)
    log = browse(path, width, tmp_path, "--enable-logging=stderr", "--v=0")
    assert "CONSOLE" not in log.stderr
    # a watcher, which the page's own policy would refuse, counts what is drawn
    policy = re.search(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>", page).group()
    path.write_text(page.replace(policy, WATCH))
    result = re.search(r'data-found="([^"]*)"', browse(path, width, tmp_path, "--dump-dom").stdout)
    drawn, wide, loaded, *y_pred = result.group(1).split("|")
    assert (int(drawn), wide, int(loaded), y_pred) == (figures, "false", 0, [])


def browse(path, width, folder, *options):
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu"]
    command += [f"--window-size={width},1000", f"--user-data-dir={folder}/profile"]
    command += ["--virtual-time-budget=2000", *options]
    command += [] if "--dump-dom" in options else [f"--screenshot={folder}/page.png"]
    command.append(path.as_uri())
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
