// Dark or light before the first paint: what was chosen last, or what the system prefers.
"use strict";
{
  const chosen = localStorage.getItem("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = chosen || (dark ? "dark" : "light");
}
