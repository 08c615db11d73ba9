// Lets the threshold be moved. The page is complete without it, at the chosen threshold;
// numbers are worded as in wording.py, which the tests hold against each other.
"use strict";
(() => {
  const { curve, frame: [low, high], prior, threshold } = JSON.parse(
    document.getElementById("data").textContent
  );
  const slider = document.getElementById("slider");
  const reset = document.getElementById("reset");
  const theme = document.getElementById("theme");

  /** A rate at any distance, linear between grid points; NaN when the curve has none. */
  const at = (name, d) => {
    const rate = curve[name];
    if (!rate || rate[0] === null) return NaN;
    const k = Math.min(Math.floor(d * 100), 199);
    return rate[k] + (rate[k + 1] - rate[k]) * (d * 100 - k);
  };

  const digits = (rate) => {
    const margin = Math.min(rate, 1 - rate);
    return margin === 0 ? 1 : 1 + (margin < 0.01) + (margin < 0.001) + (margin < 0.0001);
  };
  const hundred = (rate, n) =>
    rate === 1 ? "100" : Math.min(100 * rate, 100 - 10 ** -n).toFixed(n);
  const percent = (rate) => (isNaN(rate) ? "unknown" : `${hundred(rate, digits(rate))}\u00a0%`);
  const interval = (a, b) => {
    if (isNaN(a) || isNaN(b)) return "none";
    const n = Math.max(digits(a), digits(b));
    return `${hundred(a, n)}\u2013${hundred(b, n)}\u00a0%`;
  };
  const strangers = (tnr) => {
    if (isNaN(tnr)) return "how many strangers get through is unknown";
    if (tnr === 1) return "no stranger gets through";
    if (tnr < 0.9) return `${percent(1 - tnr)} of the strangers get through`;
    const many = Number((1 / (1 - tnr)).toPrecision(2));
    return `about 1 in ${many.toLocaleString("en-US")} strangers gets through`;
  };
  const trueShare = (tpr, tnr) => {
    const same = prior === null ? NaN : prior * tpr;
    return same / (same + (1 - prior) * (1 - tnr));
  };

  /** Shows a distance in every chart and every number that follows the slider. */
  const show = (d) => {
    const tpr = at("tpr", d), tnr = at("tnr", d);
    const texts = {
      distance: d.toFixed(4),
      cosine: (1 - (d * d) / 2).toFixed(4),
      squared_l2: (d * d).toFixed(4),
      tpr: percent(tpr),
      tpr_interval: interval(at("tpr_low", d), at("tpr_high", d)),
      tnr: percent(tnr),
      tnr_interval: interval(at("tnr_low", d), at("tnr_high", d)),
      strangers: strangers(tnr),
      true_share: percent(trueShare(tpr, tnr)),
    };
    for (const element of document.querySelectorAll("[data-show]"))
      element.textContent = texts[element.dataset.show];
    const places = { "--at": (d - low) / (high - low), "--tpr-top": 1 - tpr, "--tnr-top": 1 - tnr };
    for (const [name, share] of Object.entries(places))
      document.body.style.setProperty(name, `${100 * (share || 0)}%`);
    slider.value = d;
    // Screen readers hear this on every move, so the numbers are no live region.
    slider.setAttribute(
      "aria-valuetext",
      `${texts.distance}, cosine ${texts.cosine}, TPR ${texts.tpr}, TNR ${texts.tnr}`
    );
    reset.hidden = d === threshold.distance;
  };

  slider.addEventListener("input", () => show(Number(slider.value)));
  reset.addEventListener("click", () => {
    show(threshold.distance);
    slider.focus(); // the button, now hidden, loses it
  });

  for (const plot of document.querySelectorAll("[data-drag]")) {
    const follow = (event) => {
      const box = plot.getBoundingClientRect();
      const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
      show(Math.round((low + share * (high - low)) * 1000) / 1000);
    };
    let start, dragging;
    plot.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      plot.setPointerCapture(event.pointerId);
      start = event;
      // A finger may be about to scroll: it drags once it goes sideways, or places by a tap.
      dragging = event.pointerType === "mouse";
      if (dragging) follow(event);
    });
    plot.addEventListener("pointermove", (event) => {
      if (!plot.hasPointerCapture(event.pointerId)) return;
      const [dx, dy] = [event.clientX - start.clientX, event.clientY - start.clientY];
      dragging ||= Math.abs(dx) > Math.abs(dy);
      if (dragging) follow(event);
    });
    plot.addEventListener("pointerup", (event) => {
      if (plot.hasPointerCapture(event.pointerId)) follow(event);
    });
  }

  for (const button of document.querySelectorAll("[data-distance]")) {
    button.disabled = false;
    button.addEventListener("click", () => {
      show(Number(button.dataset.distance));
      document.getElementById("rates").scrollIntoView({ block: "start" });
    });
  }

  const system = matchMedia("(prefers-color-scheme: dark)");
  let dark = null; // as the system has it, until the reader chooses
  const isDark = () => dark ?? system.matches;
  const label = () => (theme.textContent = isDark() ? "Light" : "Dark");
  theme.addEventListener("click", () => {
    dark = !isDark();
    document.documentElement.style.colorScheme = dark ? "dark" : "light";
    label();
  });
  system.addEventListener("change", label);
  label();

  for (const element of [theme, slider.parentElement]) element.hidden = false;
  document.body.classList.add("live");
  show(threshold.distance);
})();
