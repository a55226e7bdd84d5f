extension ReferencePage {
    static let style = """
        :root{color-scheme:light dark;--ground:#fbfbf9;--raised:#fff;--ink:#1c2024;--soft:#5b636b;--line:#dfe2e0;--mark:#2c6fbb}
        @media (prefers-color-scheme:dark){:root{--ground:#14171a;--raised:#1c2024;--ink:#e6e8ea;--soft:#9aa3ab;--line:#31373d;--mark:#7db2ec}}
        *{box-sizing:border-box}
        body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.5 system-ui,sans-serif;display:grid;grid-template-columns:15rem 1fr}
        header{grid-column:1/-1;position:sticky;top:0;z-index:1;display:flex;gap:1rem;align-items:center;flex-wrap:wrap;
        padding:.6rem 1.2rem;background:var(--raised);border-bottom:1px solid var(--line)}
        h1{margin:0;font-size:1.2rem}
        input{flex:1;min-width:12rem;max-width:32rem;font:inherit;color:inherit;background:var(--ground);border:1px solid var(--line);
        border-radius:.4rem;padding:.35rem .7rem}
        output,.count,.about,th{color:var(--soft)}
        nav{padding:1rem 1.2rem;position:sticky;top:3.4rem;align-self:start;max-height:calc(100vh - 3.4rem);overflow:auto}
        nav ul{list-style:none;margin:0;padding:0}
        main{padding:0 1.2rem 4rem;min-width:0}
        a{color:var(--mark);text-decoration:none}a:hover{text-decoration:underline}
        h2{font-size:1.15rem;margin:1.6rem 0 .4rem;scroll-margin-top:4rem}
        article{background:var(--raised);border:1px solid var(--line);border-radius:.5rem;padding:.6rem .9rem;margin:.7rem 0;
        scroll-margin-top:4rem;content-visibility:auto;contain-intrinsic-size:auto 12rem;overflow-x:auto}
        article:target{border-color:var(--mark)}
        h3{margin:0;font-size:1rem;font-weight:600}h3 code{font-weight:400;color:var(--soft)}
        .about{margin:0;font-size:.85rem}.answer{margin:.5rem 0 0;font-size:.9rem}
        code{font:.88em/1.4 ui-monospace,monospace}
        table{border-collapse:collapse;margin:.4rem 0 .2rem;font-size:.9rem}
        th{text-align:left;font-weight:500;font-size:.8rem}
        td,th{padding:.18rem 1rem .18rem 0;vertical-align:top;border-bottom:1px solid var(--line)}
        tr:last-child td{border-bottom:0}
        .depth1 td:first-child{padding-left:1.2rem}.depth2 td:first-child{padding-left:2.4rem}.depth3 td:first-child{padding-left:3.6rem}
        [hidden]{display:none}
        @media (max-width:48rem){body{grid-template-columns:1fr}nav{position:static;max-height:none}header{position:static}}
        """

    /// Hides entries that do not contain every word of the search, which the address stores.
    static let script = """
        const field = document.getElementById("search"), found = document.getElementById("found");
        const sections = [...document.querySelectorAll("main section")].map(section => ({
          section, articles: [...section.querySelectorAll("article")].map(article => ({article, text: article.textContent.toLowerCase()}))}));
        function filter() {
          const words = field.value.toLowerCase().split(/\\s+/).filter(word => word);
          let count = 0;
          for (const {section, articles} of sections) {
            let any = false;
            for (const {article, text} of articles) {
              const matches = words.every(word => text.includes(word));
              article.hidden = !matches;
              any ||= matches;
              if (matches && article.classList.contains("pdu")) count += 1;
            }
            section.hidden = !any;
          }
          found.textContent = count + " PDUs";
          const address = new URL(location);
          words.length ? address.searchParams.set("q", words.join(" ")) : address.searchParams.delete("q");
          try { history.replaceState(null, "", address) } catch {}
        }
        field.addEventListener("input", filter);
        document.addEventListener("keydown", event => {
          if (event.key === "/" && document.activeElement !== field) { event.preventDefault(); field.focus(); }
        });
        window.addEventListener("hashchange", () => {
          const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
          if (target && target.closest("[hidden]")) { field.value = ""; filter(); target.scrollIntoView(); }
        });
        field.value = new URL(location).searchParams.get("q") ?? "";
        if (field.value) filter();
        """
}
