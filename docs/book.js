// Search in the whole text of the book. Doxygen's own search finds only names from their beginning,
// and every name of the C interface begins with "troika_".
"use strict";

(function () {
  const page = "book-search.html";

  // The box in the menu leads to the page of the search.
  function use_box() {
    if (typeof searchBox === "undefined") return;
    searchBox.OnSearchFieldChange = function (event) {
      const words = event.target.value.trim();
      if (event.key === "Enter" && words) window.location.href = page + "?q=" + encodeURIComponent(words);
    };
  }

  // Names of the reference, from the files of Doxygen's search, one after another: each of these
  // scripts sets the variable searchData.
  function load_names(done) {
    const names = [];
    const letters = typeof indexSectionsWithContent === "undefined" ? "" : indexSectionsWithContent[0];
    function load(number) {
      if (number >= letters.length) return done(names);
      const script = document.createElement("script");
      script.src = "search/all_" + number.toString(16) + ".js";
      script.onload = function () {
        for (const entry of searchData) {
          const [name, ...places] = entry[1];
          for (const place of places) {
            names.push({ name: name, url: place[0].replace("../", ""), scope: place[2] });
          }
        }
        load(number + 1);
      };
      script.onerror = function () { load(number + 1); };
      document.head.appendChild(script);
    }
    load(0);
  }

  function read_texts() {
    return Array.from(document.querySelectorAll("#book-texts > div")).map(function (part) {
      return { url: part.dataset.url, page: part.dataset.page, heading: part.dataset.heading, text: part.textContent };
    });
  }

  function score_of(text, words) {
    const title = (text.page + " " + text.heading).toLowerCase(), body = text.text.toLowerCase();
    let score = 0;
    for (const word of words) {
      const in_title = title.includes(word), count = body.split(word).length - 1;
      if (!in_title && count === 0) return 0;
      score += (in_title ? 20 : 0) + Math.min(count, 8);
    }
    return score;
  }

  function element(name, text, css) {
    const made = document.createElement(name);
    if (text) made.textContent = text;
    if (css) made.className = css;
    return made;
  }

  function link(text, url) {
    const made = element("a", text);
    made.href = url;
    return made;
  }

  // Some words around the first word that was found, which is marked.
  function excerpt(text, words) {
    const lower = text.toLowerCase();
    const at = Math.max(0, Math.min(...words.map(function (w) { const i = lower.indexOf(w); return i < 0 ? text.length : i; })));
    const begin = at >= text.length ? 0 : Math.max(0, at - 80);
    const made = element("div");
    const shown = text.slice(begin, begin + 240);
    const pattern = new RegExp("(" + words.map(function (w) { return w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"); }).join("|") + ")", "gi");
    if (begin > 0) made.append("… ");
    shown.split(pattern).forEach(function (piece, i) { made.append(i % 2 ? element("mark", piece) : piece); });
    if (begin + 240 < text.length) made.append(" …");
    return made;
  }

  function show(query, names, texts, list, status) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    list.textContent = "";
    status.textContent = "";
    if (words.length === 0) return;
    const found_names = names.filter(function (entry) {
      const whole = (entry.name + " " + (entry.scope || "")).toLowerCase();
      return words.every(function (word) { return whole.includes(word); });
    }).sort(function (a, b) { return a.name.length - b.name.length; });
    const found_texts = texts.map(function (text) { return { text: text, score: score_of(text, words) }; })
      .filter(function (entry) { return entry.score > 0; }).sort(function (a, b) { return b.score - a.score; });
    status.textContent = "Found: " + found_names.length + " in the reference, " + found_texts.length + " in the pages";
    function add_name(entry) {
      const item = element("li"), name = element("code");
      name.append(link(entry.name, entry.url));
      item.append(name, " ", element("span", entry.scope || "", "where"));
      list.append(item);
    }
    found_names.slice(0, 5).forEach(add_name);
    for (const entry of found_texts.slice(0, 30)) {
      const item = element("li");
      item.append(link(entry.text.heading || entry.text.page, entry.text.url), " ");
      item.append(element("span", entry.text.heading ? entry.text.page : "", "where"), excerpt(entry.text.text, words));
      list.append(item);
    }
    found_names.slice(5, 60).forEach(add_name);
  }

  function run_page() {
    const field = document.getElementById("book-query");
    if (!field) return;
    const list = document.getElementById("book-results"), status = document.getElementById("book-status");
    const texts = read_texts();
    let names = [];
    function update() { show(field.value, names, texts, list, status); }
    field.value = new URLSearchParams(window.location.search).get("q") || "";
    field.addEventListener("input", update);
    update();
    load_names(function (loaded) { names = loaded; update(); status.dataset.ready = "1"; });
    field.focus();
  }

  window.addEventListener("load", function () { use_box(); run_page(); });
})();
