// names that the theme and the gallery leave out, for those who use a screen reader or a keyboard
document.addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll("button.search-button-field")) {
    // all of its text, of which a phone shows nothing
    button.setAttribute("aria-label", button.textContent.replace(/\s+/g, " ").trim());
  }
  for (const summary of document.querySelectorAll(".bd-sidebar details > summary")) {
    const entry = summary.closest("li").querySelector("a").textContent.trim();
    summary.setAttribute("aria-label", `Pages below ${entry}`);
  }
  for (const link of document.querySelectorAll(".sphx-glr-thumbcontainer a")) {
    link.setAttribute("aria-label", link.textContent.trim());
  }
  for (const region of document.querySelectorAll(".bd-article table.table, .bd-article div.math")) {
    region.setAttribute("tabindex", "0"); // wide ones scroll
  }
});
