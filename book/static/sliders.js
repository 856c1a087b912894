// Draws the controls of every .verite-sliders element and shows the figures that they ask for. No library, no request.
"use strict";

document.addEventListener("DOMContentLoaded", () => document.querySelectorAll(".verite-sliders").forEach(start));

function make(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

function start(root, number) {
  const { states, chance, colours } = JSON.parse(root.dataset.figures);
  const knobs = [...new Set(states.map((state) => state.knob))];
  const id = `sliders-${number}`;
  const knob = make("select", { id: `${id}-knob` }, ...knobs.map((name) => make("option", { textContent: name })));
  const slider = make("input", { type: "range", id: `${id}-value`, min: 0, step: 1, value: 0 });
  const shown = make("output", { htmlFor: slider.id });
  const balanced = make("input", { type: "checkbox", id: `${id}-balanced`, checked: true });
  const asymmetric = make("input", { type: "checkbox", id: `${id}-asymmetric` });
  const bars = {};
  const chart = make("div", { className: "verite-bars" });
  for (const [what, colour] of Object.entries(colours)) {
    const bar = make("span", { className: "verite-bar" });
    const range = make("span", { className: "verite-range" });
    const text = make("span", { className: "verite-bar-text" });
    const line = make("span", { className: "verite-chance" });
    bar.style.background = colour;
    line.style.left = `${chance}%`;
    chart.append(make("span", { className: "verite-bar-name", textContent: what }), make("span", { className: "verite-track" }, bar, range, line), text);
    bars[what] = { bar, range, text };
  }
  const verdict = make("p", { className: "verite-verdict" });
  verdict.setAttribute("aria-live", "polite");
  root.append(
    make(
      "fieldset",
      {},
      make("legend", { textContent: "Knobs" }),
      make("label", { htmlFor: knob.id, textContent: "Knob " }, knob),
      make("label", { htmlFor: slider.id }, "Value ", slider, " ", shown),
      make("label", { htmlFor: balanced.id }, balanced, " modality balancing"),
      make("label", { htmlFor: asymmetric.id }, asymmetric, " half of all events told by one modality only"),
    ),
    chart,
    verdict,
  );

  function update() {
    const own = states.filter((state) => state.knob === knob.value);
    const values = [...new Set(own.map((state) => state.value))];
    slider.max = values.length - 1;
    const value = values[Math.min(slider.value, values.length - 1)];
    // One knob is the share of asymmetric events itself.
    asymmetric.disabled = !own.some((state) => state.asymmetric);
    const state = own.find(
      (each) => each.value === value && each.balanced === balanced.checked && each.asymmetric === (asymmetric.checked && !asymmetric.disabled),
    );
    shown.textContent = value;
    slider.setAttribute("aria-valuetext", `${knob.value} ${value}`);
    for (const [what, [middle, low, high]] of Object.entries(state.accuracy)) {
      bars[what].bar.style.width = `${middle}%`;
      bars[what].range.style.left = `${low}%`;
      bars[what].range.style.width = `${high - low}%`;
      bars[what].text.textContent = `${middle.toFixed(1)} [${low.toFixed(1)}, ${high.toFixed(1)}]`;
    }
    const both = state.accuracy["image+text"][0];
    const ahead = ["text", "image"].filter((what) => state.accuracy[what][0] > both);
    verdict.textContent = ahead.length
      ? `${ahead.join(" and ")} alone: higher than image+text here.`
      : `image+text is higher than either modality alone here.`;
  }
  for (const control of [knob, slider, balanced, asymmetric]) control.addEventListener("input", update);
  update();
}
